from datetime import timedelta

from django.apps import AppConfig


class ResourcesConfig(AppConfig):
    name = "competitions.resources"
    verbose_name = "Files"

    def ready(self) -> None:
        from competitions.resources.orphans import remove_unneeded
        from competitions.resources.uploads import remove_expired_uploads
        from core.reconciler import reconciler_step

        reconciler_step("uploads_removed", remove_expired_uploads)
        # Looking through all pointers takes a while on a large site.
        reconciler_step("files_removed", remove_unneeded, every=timedelta(hours=1))
