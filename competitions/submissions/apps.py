from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "competitions.submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        from competitions.background import jobs
        from competitions.submissions import impact  # noqa: F401  # adds its checks
        from competitions.submissions.checks import CHECK
        from competitions.submissions.merging import submissions_follow_merge
        from competitions.submissions.reconciler import reconcile_step
        from competitions.submissions.retention import retention_step
        from competitions.teams.merging import teams_merged

        jobs.register(CHECK)
        reconcile_step("background_sent_again", jobs.resend)
        reconcile_step("old_removed", retention_step)
        teams_merged.connect(submissions_follow_merge, dispatch_uid="submissions.submissions_follow_merge")
