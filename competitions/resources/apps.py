from datetime import timedelta

from django.apps import AppConfig


class ResourcesConfig(AppConfig):
    name = "competitions.resources"
    verbose_name = "Files"

    def ready(self) -> None:
        from competitions.resources.orphans import adopt_rowless, remove_unneeded
        from competitions.resources.uploads import remove_expired_uploads
        from core.reconciler import reconciler_step

        reconciler_step("uploads_removed", remove_expired_uploads)
        # Looking through all pointers takes a while on a large site.
        reconciler_step("files_removed", remove_unneeded, every=timedelta(hours=1))
        # Lists the whole store; a crash between an object and its row is rare.
        reconciler_step("objects_adopted", adopt_rowless, every=timedelta(days=1))
