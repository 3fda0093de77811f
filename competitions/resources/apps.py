from datetime import timedelta

from django.apps import AppConfig


class ResourcesConfig(AppConfig):
    name = "competitions.resources"
    verbose_name = "Files"

    def ready(self) -> None:
        from competitions.resources.orphans import adopt_rowless, remove_unneeded
        from competitions.resources.table_heads import ARCHIVE_HEAD, archives_ask
        from competitions.resources.uploads import remove_expired_uploads
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(ARCHIVE_HEAD)
        reconciler_step("archives_asked", archives_ask, every=timedelta(minutes=1))  # looks through all files
        reconciler_step("uploads_removed", remove_expired_uploads)
        # Looking through all pointers takes a while on a large site.
        reconciler_step("files_removed", remove_unneeded, every=timedelta(hours=1))
        # Lists the whole store; a crash between an object and its row is rare.
        reconciler_step("objects_adopted", adopt_rowless, every=timedelta(days=1))
