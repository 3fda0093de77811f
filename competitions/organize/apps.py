from datetime import timedelta

from django.apps import AppConfig


class OrganizeConfig(AppConfig):
    name = "competitions.organize"

    def ready(self) -> None:
        from django.db.models.signals import post_delete

        from competitions.catalog.models import CompetitionOrganizer
        from competitions.catalog.publishing import competition_publishing
        from competitions.organize.building.jobs import BUILD, draft_end
        from competitions.organize.drafts import RECOGNITION
        from competitions.organize.hosts import host_forget
        from competitions.organize.inviting import invitations_follow_organizer
        from competitions.organize.solutions import SOLUTION
        from competitions.organize.workspace.days import count_days
        from competitions.organize.workspace.mails import ORGANIZERS_MAIL
        from competitions.people.deleting import account_ending
        from core.background import jobs
        from core.reconciler import reconciler_step

        account_ending.connect(host_forget, dispatch_uid="organize.host_forget")
        competition_publishing.connect(draft_end, dispatch_uid="organize.draft_end")
        post_delete.connect(
            invitations_follow_organizer,
            sender=CompetitionOrganizer,
            dispatch_uid="organize.invitations_follow_organizer",
        )
        jobs.register(RECOGNITION)
        jobs.register(BUILD)
        jobs.register(ORGANIZERS_MAIL)
        jobs.register(SOLUTION)
        reconciler_step("days_counted", count_days, every=timedelta(minutes=1))
