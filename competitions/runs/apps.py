from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "competitions.runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        from competitions.runs import impact  # noqa: F401  # adds its checks
        from competitions.runs.merging import submissions_follow_merge
        from competitions.runs.reconciler import reconcile_step
        from competitions.runs.retention import retention_step
        from competitions.runs.services import queue_accepted
        from competitions.submissions.signals import submission_accepted
        from competitions.teams.merging import teams_merged

        reconcile_step("old_removed", retention_step)
        submission_accepted.connect(queue_accepted, dispatch_uid="runs.queue_accepted")
        teams_merged.connect(submissions_follow_merge, dispatch_uid="runs.submissions_follow_merge")
