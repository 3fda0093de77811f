"""The number of teams in a competition, kept in its row: every page of it shows the number."""

from django.db import transaction

from competitions.catalog.models import Competition
from competitions.teams.models import Team


@transaction.atomic
def count_teams(competition: Competition) -> None:
    """Count the teams anew, without baselines and merged teams.

    Call it in the transaction that changed them, behind its locks.
    """
    rows = Competition.objects.select_for_update(no_key=True)  # else two at once miss each other's team
    counted = Team.objects.filter(competition=rows.get(pk=competition.pk), merged_into=None, is_baseline=False)
    competition.team_count = counted.count()
    competition.save(update_fields=["team_count"])
