from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    name = "competitions.submissions"
    verbose_name = "Submissions"
