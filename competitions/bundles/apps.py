from datetime import timedelta

from django.apps import AppConfig


class BundlesConfig(AppConfig):
    name = "competitions.bundles"

    def ready(self) -> None:
        from competitions.bundles.exports import EXPORT, remove_old_exports
        from competitions.bundles.imports import IMPORT
        from competitions.bundles.pushing.jobs import PUSH, forget_push_files
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(IMPORT)
        jobs.register(EXPORT)
        jobs.register(PUSH)
        reconciler_step("exports_removed", remove_old_exports, every=timedelta(minutes=10))
        reconciler_step("push_files_forgotten", forget_push_files, every=timedelta(hours=1))
