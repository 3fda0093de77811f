from django.apps import AppConfig


class CodabenchApiConfig(AppConfig):
    name = "competitions.codabench_api"
