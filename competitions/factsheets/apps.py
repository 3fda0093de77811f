from django.apps import AppConfig


class FactsheetsConfig(AppConfig):
    name = "competitions.factsheets"
    verbose_name = "Fact sheets"
