from django.apps import AppConfig


class BundlesConfig(AppConfig):
    name = "competitions.bundles"

    def ready(self) -> None:
        from competitions.resources.orphans import orphans_step
        from competitions.runs.reconciler import reconcile_step

        reconcile_step("files_removed", orphans_step)
