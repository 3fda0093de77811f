from datetime import timedelta

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "competitions.webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from competitions.notifications.services import notice_sent, notice_withdrawn
        from competitions.webhooks.delivering import DELIVERY
        from competitions.webhooks.services import event_drop, messages_expire, notice_forward
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(DELIVERY)
        notice_sent.connect(notice_forward, dispatch_uid="webhooks.notice_forward")
        notice_withdrawn.connect(event_drop, dispatch_uid="webhooks.event_drop")
        reconciler_step("webhook_messages_expired", messages_expire, every=timedelta(hours=1))
