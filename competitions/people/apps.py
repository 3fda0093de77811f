from django.apps import AppConfig


class PeopleConfig(AppConfig):
    name = "competitions.people"
    verbose_name = "Data of people"
