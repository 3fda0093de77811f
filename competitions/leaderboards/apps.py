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
        from competitions.leaderboards import auto_migration, impact, sealing, services, snapshots
        from competitions.leaderboards.growing import checks, joining, missing_runs  # noqa: F401  # they add their checks
        from competitions.leaderboards.reading import daily_ranks, outcomes
        from competitions.leaderboards.rescoring import jobs as proposals
        from competitions.leaderboards.uncertainty import refreshing
        from competitions.notifications.models import Kind
        from competitions.notifications.services import notification_details
        from competitions.submissions.datasets import datasets_changed
        from competitions.submissions.signals import source_changed, standing_changed, submission_settled
        from competitions.teams.merging import teams_merged
        from competitions.teams.services import members_changed, team_changed
        from core.background import jobs
        from core.reconciler import reconciler_step

        notification_details(Kind.RUN, outcomes.results_told)
        jobs.register(refreshing.UNCERTAINTY)
        jobs.register(snapshots.SNAPSHOT)
        jobs.register(proposals.PROPOSAL)
        jobs.register(joining.JOINING)
        reconciler_step("boards_committed", sealing.commit_closed_boards)
        reconciler_step("phases_revealed", sealing.reveal_planned)
        reconciler_step("submissions_migrated", auto_migration.phases_migrate)
        reconciler_step("reveals_told", sealing.reveals_notify)
        reconciler_step("datasets_joined", joining.datasets_join)
        reconciler_step("boards_filled", missing_runs.boards_fill)
        reconciler_step("datasets_count", missing_runs.datasets_begin_to_count)
        reconciler_step("proposals_carried_on", proposals.proposals_carry_on)
        reconciler_step("daily_ranks_noted", daily_ranks.daily_ranks_note, every=timedelta(minutes=5))
        definition_changed.connect(
            impact.board_follow_change, sender=Leaderboard, dispatch_uid="leaderboards.board_follow_change"
        )
        definition_changed.connect(
            impact.boards_follow_agents, sender=Phase, dispatch_uid="leaderboards.boards_follow_agents"
        )
        datasets_changed.connect(
            missing_runs.boards_follow_datasets, dispatch_uid="leaderboards.boards_follow_datasets"
        )
        phase_revealed.connect(sealing.boards_follow_reveal, dispatch_uid="leaderboards.boards_follow_reveal")
        submission_settled.connect(services.board_follow, dispatch_uid="leaderboards.board_follow")
        standing_changed.connect(services.boards_follow_decision, dispatch_uid="leaderboards.boards_follow_decision")
        source_changed.connect(services.boards_follow_source, dispatch_uid="leaderboards.boards_follow_source")
        questions_changed.connect(services.boards_follow_questions, dispatch_uid="leaderboards.boards_follow_questions")
        members_changed.connect(services.boards_follow_members, dispatch_uid="leaderboards.boards_follow_members")
        team_changed.connect(services.boards_follow_team, dispatch_uid="leaderboards.boards_follow_team")
        profile_switched.connect(services.boards_follow_person, dispatch_uid="leaderboards.boards_follow_person")
        teams_merged.connect(services.boards_follow_merge, dispatch_uid="leaderboards.boards_follow_merge")
