"""Places in winners' lanes of two teams that merge."""

from typing import Any

from competitions.teams.models import Team
from competitions.winners.models import Place


def places_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: pass the absorbed team's invitation to the other team.

    If both were invited to one lane, the absorbed team's place stays as it is: a team has one, and organizers end the
    other.
    """
    taken = Place.objects.filter(team=team).values("lane")
    moving = Place.objects.select_for_update(of=("self",)).filter(team=absorbed).exclude(lane__in=taken).order_by("pk")
    Place.objects.filter(pk__in=list(moving.values_list("pk", flat=True))).update(team=team)
