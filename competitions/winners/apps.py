from django.apps import AppConfig


class WinnersConfig(AppConfig):
    name = "competitions.winners"
    verbose_name = "Winners' lane"

    def ready(self) -> None:
        from competitions.submissions.signals import standing_changed
        from competitions.teams.merging import teams_merged
        from competitions.winners.merging import places_follow_merge
        from competitions.winners.services import places_follow_decision
        from competitions.winners.verification import compare_finished
        from core.reconciler import reconciler_step

        teams_merged.connect(places_follow_merge, dispatch_uid="winners.places_follow_merge")
        standing_changed.connect(places_follow_decision, dispatch_uid="winners.places_follow_decision")
        reconciler_step("winners_compared", compare_finished)
