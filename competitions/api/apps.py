from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "competitions.api"
