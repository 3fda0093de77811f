from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "competitions.catalog"
    verbose_name = "Competitions"

    def ready(self) -> None:
        from competitions.catalog.texts.announcements import announce_due
        from competitions.catalog.texts.images import IMAGE
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(IMAGE)
        reconciler_step("announcements_published", announce_due)
