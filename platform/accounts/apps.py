from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from accounts.outbox import MAIL
        from core.background import jobs

        jobs.register(MAIL)
