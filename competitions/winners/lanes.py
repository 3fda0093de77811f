"""The winners' lane of a board as its organizer sets it."""

from collections.abc import Iterator

from django.db import transaction

from competitions.leaderboards.services import board_touch
from competitions.winners.models import Lane


@transaction.atomic
def save_lane(lane: Lane) -> Lane:
    """Write a lane, new or changed; its board's page links to it. Raises `ValidationError` by field."""
    lane.full_clean()
    lane.save()
    board_touch(lane.leaderboard)
    return lane


def impact_of_lane(lane: Lane, changed: list[str]) -> Iterator[str]:
    """Sentences on what writing it does to teams that were invited."""
    invited = lane.places.count() if lane.pk else 0
    if not invited:
        return
    teams = f"{invited} team{' was' if invited == 1 else 's were'} invited"
    if "days" in changed:
        yield f"{teams}; their deadlines stay as they were told."
    if {"tolerance", "min_equal_share", "score_tolerance"} & set(changed):
        yield f"{teams}; their predictions are compared by the new tolerances from now on."
