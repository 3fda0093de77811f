from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People"

    def ready(self) -> None:
        from allauth.account.signals import password_changed, password_reset, password_set
        from allauth.mfa.signals import authenticator_added

        from accounts.models import sign_in_tokens_revoke
        from accounts.outbox import MAIL
        from core.background import jobs

        for signal in (password_changed, password_reset, password_set, authenticator_added):
            signal.connect(sign_in_tokens_revoke)
        jobs.register(MAIL)
