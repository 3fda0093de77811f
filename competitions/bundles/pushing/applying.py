"""Change a competition to what a bundle says; a rehearsal for the difference runs the same code."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError, RestrictedError

from accounts.models import User
from competitions.bundles.importing.creation import Maker
from competitions.bundles.importing.importer import Progress, forget_parts, new_bytes, schema_refusal, stored_parts
from competitions.bundles.importing.rows import Part, References
from competitions.bundles.pushing.document import LiveDocument
from competitions.bundles.pushing.review import BreaksContest, Change, differences, require_standing, rules_broken
from competitions.bundles.refusals import COMPETITION_GONE
from competitions.bundles.unpacking import sample_fault
from competitions.catalog.changes.boards import watch_board
from competitions.catalog.changes.change import change_impact, changed_values, editable_values
from competitions.catalog.models import Competition, Leaderboard, Phase, Task
from competitions.catalog.organizers import organizes, require_host
from competitions.catalog.services import current_rules
from competitions.factsheets.models import Question, questions_changed
from competitions.resources.versions import require_room
from competitions.submissions.models import Submission
from competitions.teams.models import Registration
from files.bundles.archive import BundleFiles
from files.bundles.faults import Report, invalid
from files.bundles.reader import BundleReader
from files.bundles.samples import read_samples
from files.bundles.schema import TASK_FILES
from files.text import quantity


@dataclass
class PushResult:
    """The effect of a push; `version` and `result` are the competition's versions before and after it."""

    slug: str
    version: str
    result: str
    changes: list[Change]
    impact: list[str]
    report: Report
    competition: Competition


class _Rehearsed(Exception):
    """Takes everything back that a rehearsal wrote."""


@dataclass(frozen=True)
class Push:
    """A folder that was read, with its files stored, for one competition or for a new one."""

    reader: BundleReader
    references: References
    parts: Mapping[str, Part]
    owner: User

    @property
    def live(self) -> Competition | None:
        return self.references.live

    def rehearse(self, now: datetime) -> PushResult:
        """The effect that `apply` would have; nothing is changed. Raises as it does."""
        result: PushResult | None = None
        try:
            with transaction.atomic():
                result = self._write(now, is_rehearsal=True)
                raise _Rehearsed
        except _Rehearsed:
            assert result is not None, "written before it was taken back"
            return result

    def apply(self, now: datetime, record: Callable[[PushResult], None]) -> PushResult:
        """Make or change the competition; `record` runs inside the transaction, and may undo it by raising.

        Raises `InvalidBundle`, `BreaksContest` or `Refusal`.
        """
        with transaction.atomic():
            result = self._write(now, is_rehearsal=False)
            record(result)
        return result

    def _write(self, now: datetime, *, is_rehearsal: bool) -> PushResult:
        live, owner = self.live, self.owner
        if live is None:
            return self._create(now)
        _lock(live, owner)
        before, broken, phases = LiveDocument(live, owner), rules_broken(live), _phases(live)
        rules, settings, boards = current_rules(live), copy(live), _boards(live)
        require_standing(live, self.reader.valid_spec())
        changed = self._maker_run(now)
        if newly_broken := rules_broken(changed) - broken:
            raise BreaksContest(sorted(newly_broken))
        after = LiveDocument(changed, owner)
        changes = differences(before.values, after.values)
        impact = [
            *change_impact(settings, changed_values(settings, editable_values(changed)), now),
            *_impact(phases, _phases(changed), now),
            *_impact_of_boards(boards, changed, now),
            *_impact_of_files(changed, changes),
        ]
        if current_rules(changed) != rules and (count := Registration.objects.filter(competition=changed).count()):
            impact.append(
                f"The rules get a new version. Everybody who registered accepts it again; that is {count} so far."
            )
        if not is_rehearsal and any("fact_sheet" in change["path"] for change in changes):
            questions_changed.send(sender=Question, competition=changed)  # boards show other answers
        return PushResult(changed.slug, before.version, after.version, changes, impact, self.reader.report, changed)

    def _create(self, now: datetime) -> PushResult:
        competition = self._maker_run(now)
        document = LiveDocument(competition, self.owner)
        changes = differences({}, document.values)
        return PushResult(competition.slug, "", document.version, changes, [], self.reader.report, competition)

    def _maker_run(self, now: datetime) -> Competition:
        try:
            competition = Maker(self.reader, self.references, self.owner, self.parts).competition(now)
        except ValidationError as error:
            raise schema_refusal(self.reader, error) from error
        except (ProtectedError, RestrictedError) as error:
            rows = error.protected_objects if isinstance(error, ProtectedError) else error.restricted_objects
            names = sorted({str(row) for row in rows})[:5]
            raise BreaksContest([f"What the folder leaves out is still in use, by {', '.join(names)}."]) from error
        return Competition.objects.select_related("queue").get(pk=competition.pk)


@contextmanager
def push_read(folder: Path, *, owner: User, now: datetime, progress: Progress, known_bytes: int = 0) -> Iterator[Push]:
    """Read the folder and store its files; `known_bytes` of them take no room. Raises `InvalidBundle`.

    Where the block raises, what was stored for it is forgotten.
    """
    progress("Reading")
    reader = BundleReader(BundleFiles(folder))
    live = _named(reader, owner)
    if live is None:
        require_host(owner)
    references = References(reader, owner=owner, queue=None, live=live)
    references.look_up()
    read_samples(reader, sample_fault)
    reader.valid_spec()
    require_room(owner, max(0, new_bytes(reader.files) - known_bytes))
    with tempfile.TemporaryDirectory() as scratch:
        parts = stored_parts(reader, references, Path(scratch), progress)
    progress("Comparing")
    try:
        yield Push(reader, references, parts, owner)
    except BaseException:
        forget_parts(parts, now)
        raise


def _named(reader: BundleReader, owner: User) -> Competition | None:
    """The competition at the folder's address; None if it is new. Raises `InvalidBundle` for no address."""
    slug = reader.spec.podium.slug if reader.spec else None
    if reader.spec is not None and not slug:
        raise invalid(
            "a push finds its competition by its address; write it as `podium: {slug: my-competition}`",
            path="podium.slug",
        )
    return Competition.objects.managed_by(owner).select_related("queue").filter(slug=slug or "").first()


def _lock(competition: Competition, owner: User) -> None:
    """Lock the competition, its phases and its boards, in the order of docs/architecture.md.

    The competition was read before its files were stored, so it is read again. Raises `COMPETITION_GONE` where its owner may not
    change it any more.
    """
    list(Competition.objects.select_for_update(of=("self",), no_key=True).filter(pk=competition.pk))
    if not organizes(owner, competition.pk):
        raise COMPETITION_GONE()
    competition.refresh_from_db()
    list(Phase.objects.select_for_update(of=("self",), no_key=True).filter(competition=competition).order_by("pk"))
    boards = Leaderboard.objects.select_for_update(of=("self",), no_key=True).filter(phase__competition=competition)
    list(boards.order_by("pk"))


def _phases(competition: Competition) -> dict[int, tuple[Phase, set[int]]]:
    """The phases as they are, with the numbers of their tasks."""
    phases = competition.phases.select_related("competition").prefetch_related("tasks")
    return {phase.pk: (phase, {task.pk for task in phase.tasks.all()}) for phase in phases}


def _impact(
    before: Mapping[int, tuple[Phase, set[int]]], after: Mapping[int, tuple[Phase, set[int]]], now: datetime
) -> Iterator[str]:
    """Sentences that the site's forms show for the same changes."""
    for pk, (phase, tasks) in before.items():
        if pk not in after:
            continue
        changed, new_tasks = after[pk]
        changes: dict[str, object] = changed_values(phase, editable_values(changed))
        if tasks != new_tasks:
            changes["tasks"] = new_tasks
        yield from (f"{phase.name}: {sentence}" for sentence in change_impact(phase, changes, now))


def _boards(competition: Competition) -> dict[int, Callable[[Leaderboard, datetime], list[str]]]:
    """For each board, the object that will say what the push does to its rows."""
    boards = Leaderboard.objects.filter(phase__competition=competition).select_related("phase__competition")
    return {board.pk: watch_board(board) for board in boards}


def _impact_of_boards(
    before: Mapping[int, Callable[[Leaderboard, datetime], list[str]]], competition: Competition, now: datetime
) -> Iterator[str]:
    """Sentences that the form of each board would say of the same changes."""
    boards = Leaderboard.objects.filter(pk__in=before, phase__competition=competition)
    for board in boards.select_related("phase__competition").order_by("phase__index", "index", "pk"):
        named = f"{board.phase.name}, {board.title}"
        yield from (f"{named}: {sentence}" for sentence in before[board.pk](board, now))


def _impact_of_files(competition: Competition, changes: list[Change]) -> Iterator[str]:
    """Scores that come from programs or data which the push replaces."""
    for task in Task.objects.filter(phases__competition=competition).distinct():
        files = [f"tasks.{task.name}.{name}" for name in TASK_FILES]
        count = Submission.objects.filter(runs__task=task).distinct().count()
        if count and any(change["path"] in files for change in changes):
            submissions = f"{quantity(count, 'submission')} ran with the former files"
            yield f"{task.name}: {submissions}. Their scores stay; run them again to compare them with new ones."
