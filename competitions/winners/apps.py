from django.apps import AppConfig


class WinnersConfig(AppConfig):
    name = "competitions.winners"
    verbose_name = "Winners' lane"

    def ready(self) -> None:
        from competitions.environments.services import environment_file_removing
        from competitions.submissions.signals import standing_changed
        from competitions.teams.merging import teams_merged
        from competitions.winners.services import places_follow_decision, places_follow_merge, refuse_of_winner
        from competitions.winners.verification import compare_finished
        from core.reconciler import reconciler_step

        teams_merged.connect(places_follow_merge, dispatch_uid="winners.places_follow_merge")
        standing_changed.connect(places_follow_decision, dispatch_uid="winners.places_follow_decision")
        environment_file_removing.connect(refuse_of_winner, dispatch_uid="winners.refuse_of_winner")
        reconciler_step("winners_compared", compare_finished)
