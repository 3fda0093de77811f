from datetime import timedelta

from django.apps import AppConfig


class EnvironmentsConfig(AppConfig):
    name = "competitions.environments"
    verbose_name = "Environments of teams"

    def ready(self) -> None:
        from competitions.environments.checks import CHECK
        from competitions.environments.services import files_follow_merge, remove_unused
        from competitions.teams.merging import teams_merged
        from core.background import jobs
        from core.reconciler import reconciler_step

        jobs.register(CHECK)
        reconciler_step("environment_files_removed", remove_unused, every=timedelta(hours=1))
        teams_merged.connect(files_follow_merge, dispatch_uid="environments.files_follow_merge")
