"""The weights and images of two teams that merge."""

from typing import Any

from django.db.models import F, Max

from competitions.environments.models import EnvironmentFile
from competitions.teams.models import Team
from core.background.rows import asker_key


def files_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`: move files; the absorbed team's versions of a shared name follow.

    Both teams' locks are held.
    """
    newest = dict(_versions(team))
    for key, _ in list(_versions(absorbed)):
        moving = EnvironmentFile.objects.filter(team=absorbed, kind=key[0], name=key[1])
        moving.update(team=team, asker=asker_key("team", team.pk), version=F("version") + newest.get(key, 0))


def _versions(team: Team) -> list[tuple[tuple[str, str], int]]:
    rows = EnvironmentFile.objects.filter(team=team).order_by().values_list("kind", "name").annotate(Max("version"))
    return [((kind, name), newest) for kind, name, newest in rows]
