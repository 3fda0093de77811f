from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "competitions.submissions"
    verbose_name = "Submissions"

    def ready(self) -> None:
        from competitions.submissions import impact  # noqa: F401  # adds its checks
