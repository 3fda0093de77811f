from django.apps import AppConfig


class WinnersConfig(AppConfig):
    name = "competitions.winners"
    verbose_name = "Winners' lane"

    def ready(self) -> None:
        from competitions.runs.reconciler import reconcile_step
        from competitions.teams.merging import teams_merged
        from competitions.winners.merging import places_follow_merge
        from competitions.winners.verification import compare_finished

        teams_merged.connect(places_follow_merge, dispatch_uid="winners.places_follow_merge")
        reconcile_step("winners_compared", compare_finished)
