from datetime import timedelta

from django.apps import AppConfig


class BundlesConfig(AppConfig):
    name = "competitions.bundles"

    def ready(self) -> None:
        from competitions.bundles.exports import EXPORT, remove_old_exports
        from competitions.bundles.imports import IMPORT
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(IMPORT)
        jobs.register(EXPORT)
        reconciler_step("exports_removed", remove_old_exports, every=timedelta(minutes=10))
