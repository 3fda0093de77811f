from django.apps import AppConfig


class BundlesConfig(AppConfig):
    name = "competitions.bundles"

    def ready(self) -> None:
        from competitions.background import jobs
        from competitions.bundles.imports import IMPORT
        from competitions.resources.orphans import orphans_step
        from competitions.submissions.reconciler import reconcile_step

        jobs.register(IMPORT)
        reconcile_step("files_removed", orphans_step)
