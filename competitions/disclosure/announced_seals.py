"""Seals that everybody knows of. Nothing here looks at a score."""

from django.db.models import Q

from competitions.catalog.models import Competition, Leaderboard, Phase


def has_announced_seal(competition: Competition) -> bool:
    """True while a phase or a board that is not hidden says to everybody that its scores are sealed."""
    boards = Leaderboard.objects.filter(
        phase__competition=competition, visibility=Leaderboard.Visibility.SEALED, is_hidden=False
    )
    announced = Q(visibility=Phase.Visibility.SEALED) | Q(pk__in=boards.values("phase"))
    return Phase.objects.filter(announced, competition=competition, revealed_at=None).exists()
