"""Accepting, cancelling, re-running and disqualifying submissions."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import User
from competitions.catalog.models import Phase, Task
from competitions.catalog.questions import Answers
from competitions.compute.images import is_image
from competitions.environments.choice import (
    NO_ENVIRONMENT,
    NOTHING_NAMED,
    Environment,
    NamedEnvironment,
    environment_choose,
)
from competitions.environments.models import EnvironmentFile
from competitions.environments.refusals import FILE_IN_USE
from competitions.factsheets.services import fact_sheet_questions, read_fact_sheet
from competitions.resources.models import StoredFile, Upload
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadExpired, UploadIncomplete, upload_finish
from competitions.submissions import refusals
from competitions.submissions.agents import A_PERSON, Sender, require_welcome
from competitions.submissions.annotations import NO_ANNOTATIONS, Annotations
from competitions.submissions.datasets import require_place
from competitions.submissions.file_checks.kinds import choose_kind, zip_names
from competitions.submissions.file_checks.preflight import file_contract, look
from competitions.submissions.models import FactSheetRevision, Submission
from competitions.submissions.notices import submission_standing_notify, team_standing_notify
from competitions.submissions.quota import (
    allowances,
    require_scoring_errors_left,
    require_smoke_runs_left,
    require_team_storage,
)
from competitions.submissions.signals import standing_changed, submission_accepted
from competitions.submissions.states import LIVE, Kind, State
from competitions.teams.models import Membership, Team
from competitions.teams.services import require_in_contest, require_registration, require_team
from core.background.allowance import require_allowance
from core.background.rows import asker_key
from core.refusals import Refusal
from workers.protocol.texts import printable

RELATIONS: Final = frozenset(field.name for field in Submission._meta.get_fields() if field.is_relation)


@dataclass(frozen=True, kw_only=True)
class NewSubmission:
    """A new submission of one upload, as the form and the API describe it.

    `fact_sheet` maps the keys of the phase's questions to answers. With `tasks` it runs on those of the phase's alone, and stands on
    no board. With `is_smoke` it runs on the phase's public mini split alone: it costs no quota, and nothing is asked of it. `environment`
    names the weights and the image that code runs with, `annotations` are its tags, commit and link. The same idempotency key gives the
    same submission again.

    `sender` says if an agent submits for the user.

    `kind` is `certain` as a program states it; one that a person has `chosen` is refused where the file looks like another that the
    phase accepts; and in place of an `open` one, the file says it.
    """

    user: User
    phase: Phase
    upload: Upload
    kind: Kind
    description: str = ""
    idempotency_key: str = ""
    fact_sheet: object = None
    tasks: Collection[Task] = ()
    is_smoke: bool = False
    environment: NamedEnvironment = NOTHING_NAMED
    kind_is: Literal["certain", "chosen", "open"] = "certain"
    sender: Sender = A_PERSON
    annotations: Annotations = NO_ANNOTATIONS


@dataclass(frozen=True)
class _Checked:
    """A new submission whose sender, phase and answers are right, before the team's lock."""

    new: NewSubmission
    team: Team
    received_at: datetime
    now: datetime
    key: str
    answers: Answers


def submission_create(new: NewSubmission, *, now: datetime) -> Submission:
    """Accept one upload for a phase, as its user's team.

    Raises the `Refusal` that says why not: registration, team, `AGENTS_NOT_TAKEN`, `AGENT_NOT_DECLARED`,
    `PHASE_NOT_OPEN`, `PhaseClosed`, `KindNotAccepted`, `WhichKind`,
    `LooksLikeAnotherKind`,
    `FactSheetInvalid`, `InvalidFile`, `NoSmokeRun`, `SMOKE_TASK_HIDDEN`, `TOO_MANY_SMOKE_RUNS`,
    `QuotaUsed`, `TooManyRefusedFiles`, `TOO_MANY_SCORING_ERRORS`, `TEAM_STORAGE_USED`,
    `IDEMPOTENCY_KEY_REUSED`. Then nothing is written, charged or queued, and the upload is still there.
    """
    phase, upload, key = new.phase, new.upload, printable(new.idempotency_key)
    require_registration(user=new.user, competition=phase.competition)
    require_welcome(new.sender, phase)
    team = require_team(user=new.user, competition=phase.competition)
    if (earlier_submission := _made_before(team, phase, upload, key)) is not None:
        return earlier_submission
    stored = _stored_file(upload, now)
    received_at = counts_from(user=new.user, team=team, phase=phase, upload=upload, now=now)
    _require_open(phase, upload, received_at, now)
    if not phase.as_on_codabench and new.kind not in phase.accepted_kinds:
        raise refusals.KindNotAccepted(phase, new.kind)
    questions = [] if new.is_smoke else fact_sheet_questions(phase)
    answers = read_fact_sheet(questions, new.fact_sheet if questions and new.fact_sheet is not None else {})
    checked = _Checked(new, team, received_at, now, key, answers)
    try:
        _require_image(phase, now)
        _require_runs_left(checked)  # before the file is read: the cheap answer first
        require_allowance(asker=asker_key("team", team.pk), now=now)
        require_scoring_errors_left(team=team, now=now)
        with local_copy(stored) as path:
            kind = new.kind if new.kind_is == "certain" else _file_kind(new, path)
            look(file_contract(phase=phase, kind=kind, file_name=upload.file_name), path)
        return _accept(replace(checked, new=replace(new, kind=kind)))
    except Refusal:  # where the same was sent several times at once, one of them may have taken the last place
        if (earlier_submission := _made_before(team, phase, upload, key)) is not None:
            return earlier_submission
        raise


def _file_kind(new: NewSubmission, path: Path) -> Kind:
    """The kind of a file that nobody is certain of. Raises `WhichKind` or `LooksLikeAnotherKind`."""
    file_name = new.upload.file_name
    chosen = new.kind if new.kind_is == "chosen" else None
    return choose_kind(new.phase, partial(zip_names, path, file_name), file_name, chosen=chosen)


def _stored_file(upload: Upload, now: datetime) -> StoredFile:
    """The file that was uploaded to be submitted, stored."""
    if upload.expires_at <= now:  # or somebody could upload many before the deadline and choose after the reveal
        raise UploadExpired
    if upload.is_environment:
        raise refusals.UPLOADED_FOR_ENVIRONMENT()
    stored = upload_finish(upload).file
    if stored is None:
        raise UploadIncomplete(upload)
    return stored


@transaction.atomic
def _accept(checked: _Checked) -> Submission:
    """The part under the team's lock: one team's submissions take turns, so the last slot is given once."""
    new, team, phase, upload = checked.new, checked.team, checked.new.phase, checked.new.upload
    # Without a join: PostgreSQL reads a row anew when its lock was waited for, but not what was joined to it.
    locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if locked.merged_into is not None:
        raise refusals.TEAM_MERGED(team=locked.merged_into)
    require_in_contest(locked)
    if (earlier_submission := _made_before(team, phase, upload, checked.key)) is not None:
        return earlier_submission
    _require_runs_left(checked)
    assert upload.file is not None, "looked at before"
    require_team_storage(team=team, file=upload.file)
    if new.kind == Kind.DATASET:
        require_place(team=team, phase=phase)
    environment = _environment(locked, checked)
    every = phase.tasks_for(new.kind)
    tasks = [task for task in every if not new.tasks or task in new.tasks]
    if not tasks:
        raise refusals.NOTHING_TO_RUN(phase=phase)
    submission = _create_submission(checked, environment, is_task_rerun=len(tasks) < len(every))
    _require_no_reveal_meanwhile(submission, checked.now)
    submission_accepted.send(sender=Submission, submission=submission, tasks=tasks, now=checked.now)
    return submission


def _create_submission(checked: _Checked, environment: Environment, *, is_task_rerun: bool) -> Submission:
    """Create the submission, and the first revision of its fact sheet."""
    new, now = checked.new, checked.now
    phase, upload = new.phase, new.upload
    submission = Submission(
        phase=phase,
        team=checked.team,
        submitted_by=new.user,
        kind=new.kind,
        file=upload.file,
        file_name=upload.file_name,
        description=printable(new.description)[:500],
        received_at=checked.received_at,
        created_at=now,
        idempotency_key=checked.key,
        fact_sheet=checked.answers,
        status=State.CHECKING,
        is_task_rerun=is_task_rerun,
        is_smoke=new.is_smoke,
        is_charged=not new.is_smoke,
        is_late=phase.takes_late(checked.received_at) or _is_revealed(phase, now),
        weights=environment.weights,
        image=environment.image,
        image_reference=environment.image_reference,
        agent_model=new.sender.agent.model if new.sender.agent else "",
        agent_harness=new.sender.agent.harness if new.sender.agent else "",
    )
    submission.annotate(new.annotations.tags, commit=new.annotations.commit, link=new.annotations.link)
    submission.clean_fields(exclude=RELATIONS)  # names the field that is too long; that those rows are there is known
    submission.save(force_insert=True)
    if checked.answers:
        FactSheetRevision.objects.create(
            submission=submission, answers=checked.answers, changed_by=new.user, changed_at=now
        )
    return submission


def _environment(team: Team, checked: _Checked) -> Environment:
    """The environment that the code runs in; predictions and datasets run with nothing of the team's."""
    new = checked.new
    if new.environment == NOTHING_NAMED:
        return NO_ENVIRONMENT
    if new.kind != Kind.CODE and not new.phase.as_on_codabench:
        raise refusals.ENVIRONMENT_WITHOUT_CODE(kind=new.kind)
    return environment_choose(team=team, phase=new.phase, named=new.environment, now=checked.now)


def _made_before(team: Team, phase: Phase, upload: Upload, idempotency_key: str) -> Submission | None:
    """The submission made with this key; raises `IDEMPOTENCY_KEY_REUSED` when it was for something else."""
    if not idempotency_key:
        return None
    submission = Submission.objects.filter(team=team, idempotency_key=idempotency_key).first()
    if submission is not None and (submission.phase_id != phase.pk or submission.file_id != upload.file_id):
        raise refusals.IDEMPOTENCY_KEY_REUSED()
    return submission


def counts_from(*, user: User, team: Team, phase: Phase, upload: Upload, now: datetime) -> datetime:
    """The instant that a submission made now counts from: deadline, quota, freeze and ties go by it.

    That is when its upload began, so that a slow line costs nobody a deadline, but no earlier than the phase's grace before
    now, nor than the person joined the team: an upload that was only announced, or kept back, gains nothing by it.
    """
    joined_at = Membership.objects.values_list("joined_at", flat=True).get(team=team, user=user)
    return max(upload.began_at, now - phase.upload_grace, min(joined_at, now))


def _require_open(phase: Phase, upload: Upload, received_at: datetime, now: datetime) -> None:
    if received_at < phase.opens_at and not phase.competition.is_trial:
        raise refusals.PHASE_NOT_OPEN(phase=phase, opens_at=phase.opens_at)
    if phase.accepts_late and phase.closes_at is not None and phase.closes_at <= now:
        return
    if not phase.is_open(received_at):
        raise refusals.PhaseClosed(phase, began_at=upload.began_at, now=now)
    if _is_revealed(phase, now):
        raise refusals.REVEALED_MEANWHILE(phase=phase)


def _is_revealed(phase: Phase, now: datetime) -> bool:
    """True when the phase has closed and its sealed scores are known: what comes now may rest on them."""
    is_closed = phase.closes_at is not None and phase.closes_at <= now
    return is_closed and phase.revealed_at is not None


def _require_no_reveal_meanwhile(submission: Submission, now: datetime) -> None:
    """Read a phase that has closed again, under its lock: of a submission and a reveal, one waits."""
    locked = Phase.objects.select_for_update(no_key=True).only("closes_at", "revealed_at")
    closed = locked.filter(pk=submission.phase_id, closes_at__lte=now).first()
    if closed is not None and not submission.is_late and _is_revealed(closed, now):
        raise refusals.REVEALED_MEANWHILE(phase=closed)


def _require_image(phase: Phase, now: datetime) -> None:
    """Raise `IMAGE_MISSING` for an image that no worker has."""
    queue, image = phase.competition.queue, phase.image_name
    if is_image(image) and not queue.pulls(image) and queue.lacks_image(image, now):
        raise refusals.IMAGE_MISSING(phase=phase)


def _require_runs_left(checked: _Checked) -> None:
    """Raise the refusal if the team has no runs left; a smoke run alone costs no quota."""
    new, phase = checked.new, checked.new.phase
    if new.is_smoke and (new.kind != Kind.CODE or not phase.has_smoke_run):
        raise refusals.NoSmokeRun(phase)
    if new.kind == Kind.CODE and phase.smoke_task is not None and phase.smoke_task.hidden_part(phase.competition):
        raise refusals.SMOKE_TASK_HIDDEN(phase=phase)
    if new.is_smoke:
        require_smoke_runs_left(team=checked.team, now=checked.now)
    else:
        _require_quota(checked.team, phase, checked.received_at)


def _require_quota(team: Team, phase: Phase, received_at: datetime) -> None:
    for allowance in allowances(team_id=team.pk, phase=phase, now=received_at):
        if not allowance.left:
            raise refusals.QuotaUsed(limit=allowance.limit, period=allowance.period, resets_at=allowance.resets_at)


@transaction.atomic
def submission_disqualify(*, submission: Submission, reason: str, now: datetime) -> bool:
    """Take a submission off the boards, with the public reason. False when it was off already."""
    if not _disqualify([submission.pk], f"Disqualified submission #{submission.pk}", reason, now):
        return False
    submission_standing_notify(submission=submission, reason=reason[:500])
    return True


@transaction.atomic
def team_disqualify(*, team: Team, reason: str, now: datetime) -> bool:
    """Take all of a team's submissions off the boards and accept no more. False if done already."""
    locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    if locked.disqualified_at is not None:
        return False
    Team.objects.filter(pk=team.pk).update(**_standing(now, reason, is_back=False))
    numbers = Submission.objects.filter(team=team).values_list("pk", flat=True)
    _disqualify(list(numbers), f"Disqualified the team {team.name}", reason, now)
    team_standing_notify(team=team, reason=reason[:500])
    return True


def _disqualify(numbers: list[int], what: str, reason: str, now: datetime) -> int:
    rows = Submission.objects.filter(pk__in=numbers, disqualified_at=None)
    return _standing_change(rows, f"{what}: {reason[:500]}", now, **_standing(now, reason, is_back=False))


def _standing(now: datetime, reason: str, *, is_back: bool) -> dict[str, object]:
    """The standing of a team or submission that is disqualified, or takes part again."""
    blank = {"disqualified_at": None, "disqualified_reason": "", "reinstated_at": None, "reinstated_reason": ""}
    kind = "reinstated" if is_back else "disqualified"
    return blank | {f"{kind}_at": now, f"{kind}_reason": reason[:500]}


def _standing_change(rows: QuerySet[Submission], reason: str, now: datetime, **changes: Any) -> int:
    """Change submissions of one team, locked by their numbers, and tell those that show them."""
    numbers = list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    Submission.objects.filter(pk__in=numbers).update(**changes)
    changed = Submission.objects.filter(pk__in=numbers).select_related("phase", "team").order_by("phase", "pk")
    if changed:
        standing_changed.send(sender=Submission, submissions=list(changed), reason=reason, now=now)
    return len(numbers)


@transaction.atomic
def submission_reinstate(*, submission: Submission, reason: str, now: datetime) -> bool:
    """Undo a disqualification, with the public reason. False if there was none.

    Raises `TEAM_DISQUALIFIED` if the team is.
    """
    require_in_contest(Team.objects.select_for_update(no_key=True).get(pk=submission.team_id))
    rows = Submission.objects.filter(pk=submission.pk, disqualified_at__isnull=False)
    what = f"Reinstated submission #{submission.pk}: {reason[:500]}"
    if not _standing_change(rows, what, now, **_standing(now, reason, is_back=True)):
        return False
    submission_standing_notify(submission=submission, reason=reason[:500], is_back=True)
    return True


@transaction.atomic
def team_reinstate(*, team: Team, reason: str, now: datetime) -> bool:
    """Undo a team's disqualification, with the public reason. False if there was none.

    Those of single submissions stay.
    """
    locked = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    at = locked.disqualified_at
    if at is None:
        return False
    Team.objects.filter(pk=team.pk).update(**_standing(now, reason, is_back=True))
    rows = Submission.objects.filter(team=team, disqualified_at=at)
    _standing_change(
        rows, f"Reinstated the team {team.name}: {reason[:500]}", now, **_standing(now, reason, is_back=True)
    )
    team_standing_notify(team=team, reason=reason[:500], is_back=True)
    return True


def refuse_in_use(sender: type[EnvironmentFile], file: EnvironmentFile, **kwargs: Any) -> None:
    """Receiver of `environment_file_removing`: refuse while a submission with the file has not ended.

    Raises `FILE_IN_USE`.
    """
    named = Submission.objects.filter(Q(weights=file) | Q(image=file), status__in=LIVE)
    number = named.order_by("pk").values_list("pk", flat=True).first()
    if number is not None:
        raise FILE_IN_USE(file=file, submission=number)
