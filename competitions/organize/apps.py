from django.apps import AppConfig


class OrganizeConfig(AppConfig):
    name = "competitions.organize"

    def ready(self) -> None:
        from competitions.organize.building.jobs import BUILD
        from competitions.organize.files import RECOGNITION
        from core.background import jobs

        jobs.register(RECOGNITION)
        jobs.register(BUILD)
