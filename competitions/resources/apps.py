from django.apps import AppConfig


class ResourcesConfig(AppConfig):
    name = "competitions.resources"
    verbose_name = "Files"
