from datetime import timedelta

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "competitions.teams"
    verbose_name = "Teams"

    def ready(self) -> None:
        from competitions.catalog.texts.announcements import announcement_published, announcement_withdrawn
        from competitions.notifications.models import Kind
        from competitions.notifications.services import notification_details
        from competitions.teams.notices import announcement_forget, announcement_notify, announcements_told
        from competitions.teams.services import teams_recount
        from core.reconciler import reconciler_step

        notification_details(Kind.ANNOUNCEMENT, announcements_told)
        announcement_published.connect(announcement_notify, dispatch_uid="teams.announcement_notify")
        announcement_withdrawn.connect(announcement_forget, dispatch_uid="teams.announcement_forget")
        reconciler_step("teams_counted", teams_recount, every=timedelta(minutes=1))
