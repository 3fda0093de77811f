from datetime import timedelta

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "competitions.webhooks"
    verbose_name = "Webhooks"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from competitions.catalog.models import CompetitionOrganizer
        from competitions.notifications.services import notice_sent, notice_withdrawn
        from competitions.teams.merging import teams_merged
        from competitions.teams.models import Membership
        from competitions.teams.services import registration_decided
        from competitions.webhooks.delivering import DELIVERY
        from competitions.webhooks.services import (
            event_drop,
            messages_expire,
            notice_forward,
            webhooks_follow_denial,
            webhooks_follow_member,
            webhooks_follow_merge,
            webhooks_follow_organizer,
        )
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(DELIVERY)
        notice_sent.connect(notice_forward, dispatch_uid="webhooks.notice_forward")
        notice_withdrawn.connect(event_drop, dispatch_uid="webhooks.event_drop")
        teams_merged.connect(webhooks_follow_merge, dispatch_uid="webhooks.webhooks_follow_merge")
        post_delete.connect(
            webhooks_follow_organizer, sender=CompetitionOrganizer, dispatch_uid="webhooks.webhooks_follow_organizer"
        )
        post_delete.connect(webhooks_follow_member, sender=Membership, dispatch_uid="webhooks.webhooks_follow_member")
        registration_decided.connect(webhooks_follow_denial, dispatch_uid="webhooks.webhooks_follow_denial")
        reconciler_step("webhook_messages_expired", messages_expire, every=timedelta(hours=1))
