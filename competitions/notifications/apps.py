from datetime import timedelta

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "competitions.notifications"
    verbose_name = "Notifications"

    def ready(self) -> None:
        from competitions.notifications.mails import digests_mail, notifications_mail
        from competitions.notifications.services import notifications_expire
        from core.reconciler import reconciler_step

        reconciler_step("notifications_mailed", notifications_mail)
        reconciler_step("digests_mailed", digests_mail, every=timedelta(minutes=5))
        reconciler_step("notifications_expired", notifications_expire, every=timedelta(hours=1))
