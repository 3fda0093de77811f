from django.apps import AppConfig


class RobotsConfig(AppConfig):
    name = "competitions.robots"
