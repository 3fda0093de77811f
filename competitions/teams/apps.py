from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "competitions.teams"
    verbose_name = "Teams"
