from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "competitions.leaderboards"
    verbose_name = "Leaderboards"

    def ready(self) -> None:
        from competitions.leaderboards import readiness  # noqa: F401  # adds its checks
        from competitions.leaderboards.services import board_follow
        from competitions.submissions.moves import submission_settled

        submission_settled.connect(board_follow, dispatch_uid="leaderboards.board_follow")
