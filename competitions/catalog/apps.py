from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "competitions.catalog"
    verbose_name = "Competitions"

    def ready(self) -> None:
        from competitions.catalog.images import IMAGE
        from core.background import jobs

        jobs.register(IMAGE)
