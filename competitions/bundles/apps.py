from django.apps import AppConfig


class BundlesConfig(AppConfig):
    name = "competitions.bundles"

    def ready(self) -> None:
        from competitions.bundles.imports import IMPORT
        from core.background import jobs

        jobs.register(IMPORT)
