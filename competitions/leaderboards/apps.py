from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "competitions.leaderboards"
    verbose_name = "Leaderboards"

    def ready(self) -> None:
        from competitions.factsheets.models import questions_changed
        from competitions.leaderboards import readiness  # noqa: F401  # adds its checks
        from competitions.leaderboards.merging import boards_follow_merge
        from competitions.leaderboards.services import board_follow, boards_follow_questions, boards_follow_team
        from competitions.submissions.moves import submission_settled
        from competitions.teams.merging import teams_merged
        from competitions.teams.services import team_changed

        submission_settled.connect(board_follow, dispatch_uid="leaderboards.board_follow")
        questions_changed.connect(boards_follow_questions, dispatch_uid="leaderboards.boards_follow_questions")
        team_changed.connect(boards_follow_team, dispatch_uid="leaderboards.boards_follow_team")
        teams_merged.connect(boards_follow_merge, dispatch_uid="leaderboards.boards_follow_merge")
