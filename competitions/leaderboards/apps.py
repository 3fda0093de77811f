from datetime import timedelta

from django.apps import AppConfig


class LeaderboardsConfig(AppConfig):
    name = "competitions.leaderboards"
    verbose_name = "Leaderboards"

    def ready(self) -> None:
        from accounts.people.profiles import profile_switched
        from competitions.catalog.changes.change import definition_changed
        from competitions.catalog.models import Leaderboard, Phase
        from competitions.catalog.services import phase_revealed
        from competitions.factsheets.models import questions_changed
        from competitions.leaderboards.auto_migration import phases_migrate
        from competitions.leaderboards.growing import checks  # noqa: F401  # they add their checks
        from competitions.leaderboards.growing.joining import datasets_join
        from competitions.leaderboards.growing.missing_runs import (
            boards_fill,
            boards_follow_datasets,
            datasets_begin_to_count,
        )
        from competitions.leaderboards.impact import board_follow_change, boards_follow_agents
        from competitions.leaderboards.reading.daily_ranks import daily_ranks_note
        from competitions.leaderboards.reading.outcomes import results_told
        from competitions.leaderboards.rescoring.jobs import PROPOSAL, proposals_carry_on
        from competitions.leaderboards.sealing import (
            boards_follow_reveal,
            commit_closed_boards,
            reveal_planned,
            reveals_notify,
        )
        from competitions.leaderboards.services import (
            board_follow,
            boards_follow_decision,
            boards_follow_members,
            boards_follow_merge,
            boards_follow_person,
            boards_follow_questions,
            boards_follow_source,
            boards_follow_team,
        )
        from competitions.leaderboards.snapshots import SNAPSHOT
        from competitions.leaderboards.uncertainty.refreshing import UNCERTAINTY
        from competitions.notifications.models import Kind
        from competitions.notifications.services import notification_details
        from competitions.submissions.datasets import datasets_changed
        from competitions.submissions.signals import source_changed, standing_changed, submission_settled
        from competitions.teams.merging import teams_merged
        from competitions.teams.services import members_changed, team_changed
        from core.background import jobs
        from core.reconciler import reconciler_step

        notification_details(Kind.RUN, results_told)
        jobs.register(UNCERTAINTY)
        jobs.register(SNAPSHOT)
        jobs.register(PROPOSAL)
        reconciler_step("boards_committed", commit_closed_boards)
        reconciler_step("phases_revealed", reveal_planned)
        reconciler_step("submissions_migrated", phases_migrate)
        reconciler_step("reveals_told", reveals_notify)
        reconciler_step("datasets_joined", datasets_join)
        reconciler_step("boards_filled", boards_fill)
        reconciler_step("datasets_count", datasets_begin_to_count)
        reconciler_step("proposals_carried_on", proposals_carry_on)
        reconciler_step("daily_ranks_noted", daily_ranks_note, every=timedelta(minutes=5))
        definition_changed.connect(
            board_follow_change, sender=Leaderboard, dispatch_uid="leaderboards.board_follow_change"
        )
        definition_changed.connect(boards_follow_agents, sender=Phase, dispatch_uid="leaderboards.boards_follow_agents")
        datasets_changed.connect(boards_follow_datasets, dispatch_uid="leaderboards.boards_follow_datasets")
        phase_revealed.connect(boards_follow_reveal, dispatch_uid="leaderboards.boards_follow_reveal")
        submission_settled.connect(board_follow, dispatch_uid="leaderboards.board_follow")
        standing_changed.connect(boards_follow_decision, dispatch_uid="leaderboards.boards_follow_decision")
        source_changed.connect(boards_follow_source, dispatch_uid="leaderboards.boards_follow_source")
        questions_changed.connect(boards_follow_questions, dispatch_uid="leaderboards.boards_follow_questions")
        members_changed.connect(boards_follow_members, dispatch_uid="leaderboards.boards_follow_members")
        team_changed.connect(boards_follow_team, dispatch_uid="leaderboards.boards_follow_team")
        profile_switched.connect(boards_follow_person, dispatch_uid="leaderboards.boards_follow_person")
        teams_merged.connect(boards_follow_merge, dispatch_uid="leaderboards.boards_follow_merge")
