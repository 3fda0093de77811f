from django.apps import AppConfig


class CoreConfig(AppConfig):
    name = "core"
    verbose_name = "Core"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from core.background import jobs
        from core.reconciler import reconciler_step

        reconciler_step("background_sent_again", jobs.resend)
