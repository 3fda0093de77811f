from typing import Any

from django.apps import AppConfig
from django.core.management import call_command
from django.db.models.signals import post_migrate


class CoreConfig(AppConfig):
    name = "core"
    verbose_name = "Core"

    def ready(self) -> None:
        from core.background import jobs
        from core.reconciler import reconciler_step

        reconciler_step("background_sent_again", jobs.resend)
        post_migrate.connect(_make_cache_table, sender=self)


def _make_cache_table(*, using: str, **_: Any) -> None:
    """The table of `CACHES["database"]`; Django makes it by a command of its own, not by migrations."""
    call_command("createcachetable", database=using, verbosity=0)
