from datetime import timedelta

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "competitions.submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        from competitions.catalog.changes.change import definition_changed
        from competitions.catalog.models import Phase
        from competitions.environments.services import environment_file_removing
        from competitions.submissions import impact  # noqa: F401  # adds its checks
        from competitions.submissions.notices import deadlines_notify, phase_end_notify, submitter_notify
        from competitions.submissions.services import refuse_in_use
        from competitions.submissions.signals import submission_settled
        from core.reconciler import reconciler_step

        environment_file_removing.connect(refuse_in_use, dispatch_uid="submissions.refuse_in_use")
        definition_changed.connect(phase_end_notify, sender=Phase, dispatch_uid="submissions.phase_end_notify")
        submission_settled.connect(submitter_notify, dispatch_uid="submissions.submitter_notify")
        reconciler_step("deadlines_notified", deadlines_notify, every=timedelta(minutes=1))
