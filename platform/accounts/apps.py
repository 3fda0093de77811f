from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from allauth.account.signals import password_changed, password_reset, password_set

        from accounts.models import sign_in_tokens_revoke
        from accounts.outbox import MAIL
        from core.background import jobs

        for is_new_password in (password_changed, password_reset, password_set):
            is_new_password.connect(sign_in_tokens_revoke)
        jobs.register(MAIL)
