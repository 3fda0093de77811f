from datetime import timedelta

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "competitions.people"
    verbose_name = "Data of people"

    def ready(self) -> None:
        from competitions.people.deleting import deletions_perform
        from competitions.people.exports import EXPORT, remove_old_exports
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(EXPORT)
        reconciler_step("accounts_deleted", deletions_perform, every=timedelta(minutes=10))
        reconciler_step("data_exports_removed", remove_old_exports, every=timedelta(minutes=10))
