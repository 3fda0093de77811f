from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "competitions.catalog"
    verbose_name = "Competitions"

    def ready(self) -> None:
        from competitions.catalog.changes import boards, competitions, phases, tasks  # noqa: F401  # they add their checks
        from competitions.catalog.publishing import publish_due
        from competitions.catalog.queue_rights import refuse_new_owner
        from competitions.catalog.texts.announcements import announce_due
        from competitions.catalog.texts.images import IMAGE
        from competitions.compute.models import queue_owner_changing
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(IMAGE)
        queue_owner_changing.connect(refuse_new_owner)
        reconciler_step("announcements_published", announce_due)
        reconciler_step("competitions_published", publish_due)
