"""The number of teams in a competition, without baselines and teams that were merged into others."""

from typing import Any, Final

from django.core.cache import cache
from django.db.models import Case, Count, IntegerField, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from competitions.teams.models import Team

LARGE: Final = 1_000  # teams; nobody minds if such a number is a few too low
LARGE_KEPT_SECONDS: Final = 60


def team_count() -> Case:
    """The number of teams as an annotation of competitions; up to a minute old from `LARGE` on.

    Every page of a competition shows it, and counting a hundred thousand rows takes longer than the rest of the page.
    """
    large = cache.get_or_set("large-team-counts", _large_counts, LARGE_KEPT_SECONDS) or {}
    counted = _counts(Team.objects.filter(competition=OuterRef("pk"))).values("number")
    return Case(
        *(When(pk=competition, then=Value(number)) for competition, number in large.items()),
        default=Coalesce(Subquery(counted), 0),
        output_field=IntegerField(),
    )


def _large_counts() -> dict[int, int]:
    """By the competition's id, where there are `LARGE` or more."""
    counts: Any = _counts(Team.objects.all())
    return dict(counts.filter(number__gte=LARGE).values_list("competition", "number"))


def _counts(teams: QuerySet[Team]) -> QuerySet[Any, Any]:
    counted = teams.filter(merged_into=None, is_baseline=False).order_by()
    return counted.values("competition").annotate(number=Count("pk"))
