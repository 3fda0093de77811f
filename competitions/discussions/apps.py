from datetime import timedelta

from django.apps import AppConfig


class DiscussionsConfig(AppConfig):
    name = "competitions.discussions"
    verbose_name = "Discussions"

    def ready(self) -> None:
        from competitions.catalog.texts.announcements import announcement_published, announcement_withdrawn
        from competitions.discussions.announcing import announcement_discuss, announcement_hide
        from competitions.discussions.following import NOTICE
        from competitions.discussions.images import IMAGE, images_expire
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(NOTICE)
        jobs.register(IMAGE)
        announcement_published.connect(announcement_discuss, dispatch_uid="discussions.announcement_discuss")
        announcement_withdrawn.connect(announcement_hide, dispatch_uid="discussions.announcement_hide")
        reconciler_step("post_images_expired", images_expire, every=timedelta(hours=1))
