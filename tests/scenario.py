"""Small worlds: competitions with phases, tasks and boards, people in teams, and submissions.

Everything is made through the services, as the site makes it; only what no service makes is written directly.
"""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from django.utils.text import slugify

from accounts.models import User
from competitions.catalog.models import Column, Competition, CompetitionOrganizer, Leaderboard, Phase, Task
from competitions.catalog.services import rules_publish
from competitions.compute.models import ClusterJob, ComputeWorker, Queue, issue_token
from competitions.resources.models import Resource, Upload
from competitions.resources.storage import store_bytes
from competitions.resources.uploads import upload_whole
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.leases.interrupts import runs_follow_job
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind, State
from competitions.teams.models import Membership, Team
from competitions.teams.services import register, team_create
from tests.answers import read_result
from tests.background import check_files

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
ROWS = 40
FORMAT = {"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": ROWS}
FILE_NAME = "y_pred_pcqm4m-v2_test-dev.npz"
_numbers = itertools.count(1)


def zip_bytes(files: Mapping[str, str | bytes]) -> bytes:
    """A zip with these members, the same bytes whenever it is made."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = 0o600 << 16
            archive.writestr(member, content)
    return packed.getvalue()


def prediction_bytes(rows: int = ROWS, value: float = 1.0, **overrides: Any) -> bytes:
    """An official prediction file; `overrides` are further or other arrays by key."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **(overrides or {"y_pred": np.full(rows, value, dtype=np.float32)}))
    return packed.getvalue()


CODE = {"metadata.yaml": "command: python $program/predict.py\n", "predict.py": "print('hello')\n"}


def person(name: str = "", **fields: Any) -> User:
    """An active account with a unique name."""
    username = name or f"person{next(_numbers)}"
    return User.objects.create_user(username=username, email=f"{username}@example.org", password="x", **fields)


def resource(owner: User, kind: Resource.Kind, content: bytes) -> Resource:
    return Resource.objects.create(
        owner=owner, kind=kind, name=kind.label, file=store_bytes(content), file_name="file.zip"
    )


@dataclass
class Scenario:
    """A published competition with a public and a sealed phase, and one team."""

    organizer: User
    queue: Queue
    token: str
    competition: Competition
    phases: dict[str, Phase]
    now: datetime = NOON
    teams: list[Team] = field(default_factory=list)

    @property
    def phase(self) -> Phase:
        return self.phases["test-dev"]

    @property
    def sealed(self) -> Phase:
        return self.phases["test-challenge"]

    @property
    def team(self) -> Team:
        return self.teams[0]

    def member(self, team: Team | None = None) -> User:
        return Membership.objects.filter(team=team or self.team).select_related("user").earliest("joined_at").user

    def join(self, name: str = "", *, user: User | None = None, is_baseline: bool = False) -> Team:
        """A new person with a team of their own."""
        who = user or person()
        register(user=who, competition=self.competition, rules_version=1, now=self.now)
        team = team_create(
            user=who, competition=self.competition, name=name or f"Team {who}", now=self.now, is_baseline=is_baseline
        )
        self.teams.append(team)
        return team

    def upload(
        self, content: bytes, name: str = FILE_NAME, *, user: User | None = None, at: datetime | None = None
    ) -> Upload:
        return upload_whole(
            user=user or self.member(), file_name=name, size_bytes=len(content), chunks=[content], now=at or self.now
        )

    def submit(
        self,
        *,
        team: Team | None = None,
        phase: Phase | None = None,
        kind: Kind = Kind.PREDICTION,
        content: bytes | None = None,
        name: str = "",
        at: datetime | None = None,
        key: str = "",
    ) -> Submission:
        """Upload and submit as the team's first member, and have the file checked."""
        moment, where = at or self.now, phase or self.phase
        user = self.member(team)
        if kind == Kind.CODE:
            content, name = content or zip_bytes(CODE), name or "code.zip"
        else:
            content, name = content or prediction_bytes(), name or FILE_NAME.replace("test-dev", where.slug)
        upload = self.upload(content, name, user=user, at=moment)
        submission = submission_create(
            NewSubmission(user=user, phase=where, upload=upload, kind=kind, idempotency_key=key), now=moment
        )
        check_files(at=moment)
        submission.refresh_from_db()
        return submission

    def worker(self, name: str = "", *, gpus: int = 0) -> ComputeWorker:
        """A worker that has registered."""
        return ComputeWorker.objects.create(
            queue=self.queue,
            name=name or f"worker{next(_numbers)}",
            instance="i",
            version="1",
            host={"gpus": [{"uuid": f"GPU-{number}"} for number in range(gpus)]},
            registered_at=self.now,
            last_seen_at=self.now,
        )

    def claim(self, worker: ComputeWorker | None = None, *, free_gpus: int = 0, at: datetime | None = None) -> Run:
        """Lease the next run; there must be one, if its file is right."""
        check_files(at=at or self.now)
        run = dispatch.run_claim(worker=worker or self.worker(), free_gpus=free_gpus, now=at or self.now)
        assert run is not None, "nothing was handed out"
        return run

    def claim_nothing(self) -> bool:
        """True if nothing waits for a worker now."""
        return dispatch.run_claim(worker=self.worker(), free_gpus=0, now=self.now) is None

    def score(self, submission: Submission, value: float, *, worker: ComputeWorker | None = None) -> Submission:
        """Take a submission's only run through to its score."""
        return self.answer(submission, {"outcome": "finished", "scores": {"mae": value}}, worker=worker)

    def answer(
        self, submission: Submission, body: dict[str, Any], *, worker: ComputeWorker | None = None
    ) -> Submission:
        """Claim until it is this submission's turn, and answer with this body of `complete`."""
        run = self.claim(worker, at=max(self.now, submission.created_at))
        assert run.submission_id == submission.pk, "another submission was first in the queue"
        reports.run_complete(
            **lease(run), result=read_result(body, columns=sorted({"mae", *body.get("scores", {})})), now=self.now
        )
        submission.refresh_from_db()
        return submission


def lease(run: Run) -> dict[str, Any]:
    """The lease that a worker's token names."""
    return {"run_id": str(run.pk), "attempt": run.attempt, "lease_id": str(run.lease_id)}


def preempt(run: Run, *, at: datetime) -> None:
    """Have the cluster end the job of the run's worker, for another job."""
    assert run.worker is not None, "it is held"
    ComputeWorker.objects.filter(pk=run.worker.pk).update(job="17")
    runs_follow_job(job=ClusterJob(queue=run.queue, job="17", end_reason=ClusterJob.End.PREEMPTED), now=at)


def scenario(*, now: datetime = NOON, **phase_fields: Any) -> Scenario:
    """A competition that everybody can join, open for 30 days around `now`, with one team in it."""
    number = next(_numbers)
    organizer = person(f"organizer{number}", is_staff=True)
    queue = Queue.objects.create(name=f"queue-{number}")
    token = issue_token(queue)
    competition = Competition.objects.create(
        slug=f"gap-{number}", title=f"Gap {number}", queue=queue, is_published=True, max_team_size=3
    )
    CompetitionOrganizer.objects.create(competition=competition, user=organizer)
    rules_publish(competition=competition, text="Be fair.", now=now - timedelta(days=40))
    site = Scenario(organizer=organizer, queue=queue, token=token, competition=competition, phases={}, now=now)
    for index, (slug, visibility) in enumerate([("test-dev", "public"), ("test-challenge", "sealed")]):
        site.phases[slug] = _phase(site, slug, visibility, index, phase_fields)
    site.join()
    return site


def _phase(site: Scenario, slug: str, visibility: str, index: int, fields: dict[str, Any]) -> Phase:
    kinds = Resource.Kind
    task = Task.objects.create(
        competition=site.competition,
        name=f"Task {slug}",
        scoring_program=resource(
            site.organizer, kinds.SCORING_PROGRAM, zip_bytes({"metadata.yaml": "command: python score.py"})
        ),
        reference_data=resource(
            site.organizer, kinds.REFERENCE_DATA, zip_bytes({"labels.txt": f"hidden labels of {slug}"})
        ),
        input_data=resource(site.organizer, kinds.INPUT_DATA, zip_bytes({"smiles.csv": "smiles\nC\n"})),
    )
    defaults: dict[str, Any] = {
        "name": slug,
        "index": index,
        "visibility": visibility,
        "accepts_code": True,
        "prediction_format": FORMAT | {"split": slug},
        "opens_at": site.now - timedelta(days=30),
        "closes_at": site.now + timedelta(days=30),
    }
    phase = Phase.objects.create(competition=site.competition, slug=slugify(slug), **(defaults | fields))
    phase.tasks.add(task)
    board = Leaderboard.objects.create(phase=phase)
    Column.objects.create(
        leaderboard=board, key="mae", title="MAE", unit="eV", sorting="asc", precision=4, is_primary=True
    )
    return phase


def statuses(submissions: list[Submission]) -> list[State]:
    return [State(Submission.objects.get(pk=submission.pk).status) for submission in submissions]
