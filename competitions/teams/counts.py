"""The number of teams in a competition, kept in its row: every page of it shows the number."""

from django.db import transaction

from competitions.catalog.models import Competition
from competitions.teams.models import Team


@transaction.atomic
def count_teams(competition: Competition) -> None:
    """Count the teams anew, without baselines and merged teams. Call in the transaction that changed them, behind its locks."""
    row = Competition.objects.select_for_update(no_key=True).get(
        pk=competition.pk
    )  # else two at once miss each other's
    competition.team_count = row.team_count = Team.objects.filter(
        competition=row, merged_into=None, is_baseline=False
    ).count()
    row.save(update_fields=["team_count"])
