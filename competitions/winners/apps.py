from django.apps import AppConfig


class WinnersConfig(AppConfig):
    name = "competitions.winners"
    verbose_name = "Winners' lane"

    def ready(self) -> None:
        from competitions.submissions.reconciler import reconcile_step
        from competitions.winners.verification import compare_finished

        reconcile_step("winners_compared", compare_finished)
