from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "competitions.catalog"
    verbose_name = "Competitions"

    def ready(self) -> None:
        from competitions.catalog.announcements import announce_due
        from core.reconciler import reconciler_step

        reconciler_step("announcements_published", announce_due)
