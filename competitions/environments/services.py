"""Uploading, listing and removing a team's weights and images; they follow a merge of teams."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

import structlog
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Max, QuerySet, Sum
from django.dispatch import Signal

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.environments import refusals
from competitions.environments.models import FILE_NAME, EnvironmentFile
from competitions.resources.models import Upload
from competitions.resources.uploads import UploadExpired, UploadIncomplete
from competitions.teams.models import Team
from competitions.teams.refusals import NO_TEAM
from competitions.teams.services import (
    find_team,
    locked_team,
    require_admitted,
    require_member,
    require_registration,
    require_team,
)
from core.background import jobs
from core.background.allowance import require_allowance
from core.background.rows import asker_key
from core.refusals import Refusal

log = structlog.get_logger(__name__)
JOB: Final = "environment_file"
MAX_FILES: Final = 200  # of one team, those that are checked included
TAKES_ROOM: Final = (EnvironmentFile.State.CHECKING, EnvironmentFile.State.READY)
REMOVED_AT_ONCE: Final = 100
# Sent with `file`, inside the transaction that removes it, under its team's lock. A receiver that raises a `Refusal` keeps it.
environment_file_removing = Signal()


@dataclass(frozen=True)
class TeamRoom:
    """Bytes that files of a team take, and may take."""

    used_bytes: int
    limit_bytes: int


def kinds_accepted(phases: Sequence[Phase]) -> list[EnvironmentFile.Kind]:
    """Kinds of files that any of these phases takes."""
    accepted = {name for phase in phases for name in phase.own_environment}
    return [kind for kind in EnvironmentFile.Kind if kind in accepted]


def environment_room(team_id: int) -> TeamRoom:
    """The space that a team's files take; a file that is being checked counts with its announced size."""
    files = EnvironmentFile.objects.filter(team=team_id, state__in=TAKES_ROOM)
    return TeamRoom(files.aggregate(total=Sum("size_bytes"))["total"] or 0, settings.TEAM_ENVIRONMENT_BYTES)


def own_environment_files(user: User) -> QuerySet[EnvironmentFile]:
    """Files of the person's own teams. Organizers see only their names and digests, in receipts."""
    return EnvironmentFile.objects.filter(team__memberships__user=user)


def team_files(*, user: User, competition: Competition, kind: EnvironmentFile.Kind) -> QuerySet[EnvironmentFile]:
    """The files of this kind of the person's team. Raises `NO_TEAM`."""
    team = find_team(user, competition)
    if team is None:
        raise NO_TEAM(competition=competition)
    return EnvironmentFile.objects.filter(team=team, kind=kind).select_related("uploaded_by")


@transaction.atomic
def environment_file_add(
    *, user: User, competition: Competition, kind: EnvironmentFile.Kind, name: str, upload: Upload, now: datetime
) -> EnvironmentFile:
    """Take a finished upload as the next version of a name; a background task stores and checks it.

    Raises the `Refusal` that says why not; then the upload is still there. The same upload gives the same file again, to one team.
    """
    require_registration(user=user, competition=competition)
    team = locked_team(require_team(user=user, competition=competition))
    require_member(team, user)  # else a file that comes with a merge stays behind
    earlier_file = EnvironmentFile.objects.filter(upload=upload).first()
    if earlier_file is not None and earlier_file.team_id != team.pk:
        raise refusals.UPLOAD_USED(competition=earlier_file.team.competition)
    if earlier_file is not None:
        return earlier_file
    _require_upload(upload, now)
    if kind not in kinds_accepted(list(competition.phases.all())):
        raise refusals.NO_PHASE_ACCEPTS(noun=refusals.NOUNS[kind])
    _require_name(name)
    _require_room(team, competition, kind, upload.size_bytes)
    require_allowance(asker=asker_key("team", team.pk), now=now)
    newest = EnvironmentFile.objects.filter(team=team, kind=kind, name=name).aggregate(newest=Max("version"))["newest"]
    file = EnvironmentFile(
        team=team,
        kind=kind,
        name=name,
        version=(newest or 0) + 1,
        upload=upload,
        file_name=upload.file_name,
        size_bytes=upload.size_bytes,
        uploaded_by=user,
        created_at=now,
        last_used_at=now,
    )
    file.full_clean()
    file.save(force_insert=True)
    jobs.send_after_commit(JOB, file.pk)
    return file


def _require_upload(upload: Upload, now: datetime) -> None:
    if upload.expires_at <= now:
        raise UploadExpired
    if upload.received_bytes < upload.size_bytes:
        raise UploadIncomplete(upload)


def _require_name(name: str) -> None:
    try:
        FILE_NAME(name)
    except ValidationError as error:
        raise refusals.NAME_INVALID(name=name[:80]) from error


def require_size(competition: Competition, kind: EnvironmentFile.Kind, size_bytes: int) -> None:
    """Raise `FILE_TOO_LARGE` for a file that no team may upload here."""
    limit = settings.ENVIRONMENT_FILE_MAX_BYTES
    if kind == EnvironmentFile.Kind.IMAGE:
        limit = min(limit, competition.queue.max_image_bytes)
    if size_bytes > limit:
        raise refusals.FILE_TOO_LARGE(noun=refusals.NOUNS[kind], size_bytes=size_bytes, limit_bytes=limit)


def _require_room(team: Team, competition: Competition, kind: EnvironmentFile.Kind, size_bytes: int) -> None:
    require_size(competition, kind, size_bytes)
    room = environment_room(team.pk)
    if room.used_bytes + size_bytes > room.limit_bytes:
        raise refusals.ROOM_USED(used=room.used_bytes, limit=room.limit_bytes, size_bytes=size_bytes)
    if EnvironmentFile.objects.filter(team=team, state__in=TAKES_ROOM).count() >= MAX_FILES:
        raise refusals.TOO_MANY_FILES(limit=MAX_FILES)


@transaction.atomic
def environment_file_remove(*, file: EnvironmentFile, note: str) -> None:
    """Remove a file, but not its name and digest. Raises `NOT_REMOVABLE`, or why it is still needed."""
    # A submission that names it takes its turn before or after.
    Team.objects.select_for_update(no_key=True).get(pk=file.team_id)
    locked = EnvironmentFile.objects.select_for_update().get(pk=file.pk)
    if locked.state == EnvironmentFile.State.REMOVED:
        raise refusals.NOT_REMOVABLE(file=file)
    environment_file_removing.send(EnvironmentFile, file=locked)
    locked.state, locked.file, locked.detail, locked.claimed_until = EnvironmentFile.State.REMOVED, None, note, None
    locked.save(update_fields=["state", "file", "detail", "claimed_until"])


def own_environment_file_remove(*, file: EnvironmentFile, by: User) -> None:
    """Remove a file of one's team. Raises as `environment_file_remove`, or why the person is not admitted."""
    require_admitted(user=by, competition=file.team.competition)
    environment_file_remove(file=file, note=f"Removed by {by}.")


def remove_unused(*, now: datetime) -> int:
    """For the reconciler: remove files that no submission has named for long; returns how many."""
    before = now - timedelta(days=settings.ENVIRONMENT_FILES_KEPT_DAYS)
    old = EnvironmentFile.objects.filter(state=EnvironmentFile.State.READY, last_used_at__lt=before)
    # Those that something still needs may be any number: they do not use up the turns of the others.
    removed = filter(None, (_remove_unused_file(file) for file in list(old.order_by("last_used_at"))))
    return sum(islice(removed, REMOVED_AT_ONCE))


def _remove_unused_file(file: EnvironmentFile) -> bool:
    try:
        environment_file_remove(
            file=file, note=f"Removed after {settings.ENVIRONMENT_FILES_KEPT_DAYS} days without use."
        )
    except Refusal as refusal:  # a run still waits for it
        log.info("environment_file_kept", file=file.pk, code=refusal.code)
        return False
    return True


def files_follow_merge(sender: type[Team], team: Team, absorbed: Team, **kwargs: Any) -> None:
    """Receiver of `teams_merged`, under both locks: versions of a shared name follow the team's own."""
    newest = dict(_versions(team))
    for key, _ in list(_versions(absorbed)):
        moving = EnvironmentFile.objects.filter(team=absorbed, kind=key[0], name=key[1])
        moving.update(team=team, asker=asker_key("team", team.pk), version=F("version") + newest.get(key, 0))


def _versions(team: Team) -> list[tuple[tuple[str, str], int]]:
    rows = EnvironmentFile.objects.filter(team=team).order_by().values_list("kind", "name").annotate(Max("version"))
    return [((kind, name), newest) for kind, name, newest in rows]
