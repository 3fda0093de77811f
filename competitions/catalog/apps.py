from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "competitions.catalog"
    verbose_name = "Competitions"
