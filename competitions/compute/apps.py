from django.apps import AppConfig


class ComputeConfig(AppConfig):
    name = "competitions.compute"
    verbose_name = "Compute"
