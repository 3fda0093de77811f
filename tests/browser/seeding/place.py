"""A competition of the browser tests: people, phases, tasks, pages and submissions."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.catalog.models import Competition, Phase, Task
    from competitions.compute.models import Queue
    from competitions.submissions.models import Submission
    from competitions.teams.models import Team

PASSWORD = "a long sentence for signing in 7"
ROWS = 40
COLUMNS = [("mae", "MAE", "eV", "asc"), ("rmse", "RMSE", "eV", "asc"), ("hits", "Within 0.1 eV", "", "desc")]
LONG_TEAM = "The Exceedingly Thorough Institute of Molecular Orbital Gaps"
LONG_FILE = "code_with_a_name_that_says_everything_about_the_experiment_of_tuesday_seed_17_lr_3e-4_v12_final_final.zip"
SCORER = Path(__file__).with_name("scoring_program.py")
METADATA = "command: python3 $program/main.py\n"
OVERVIEW = """# Predict the HOMO-LUMO gap

The gap decides how a molecule takes up light. Predict it **from the structure alone**.

| Split | Molecules | Scores |
| --- | ---: | --- |
| test-dev | 40 | at once |
| test-challenge | 40 | sealed until the reveal |

![How the error falls with the number of training molecules](learning-curve.png)

## Evaluation

Mean absolute error in eV, `mean(|y - y_hat|)`. See the [rules](https://example.org/rules).

```python
np.savez_compressed("y_pred_pcqm4m-v2_test-dev.npz", y_pred=predictions.astype("float32"))
```
"""
LOG_LINE = "epoch {0:4d}  train {1:.4f}  valid {2:.4f}  " + "gradient norms " + "0.1234 " * 12


def labels(split: str) -> np.ndarray[Any, Any]:
    """The hidden targets: what the tests' predictions are made from."""
    return np.random.default_rng(len(split)).uniform(2, 8, ROWS)


def npz(**arrays: Any) -> bytes:
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    return packed.getvalue()


@dataclass
class Place:
    """A competition with its tasks, and how to have things happen in it at a given time."""

    organizer: User
    queue: Queue
    competition: Competition
    now: datetime
    phases: dict[str, Phase] = field(default_factory=dict)

    def join(self, user: User, team: str, *, is_baseline: bool = False) -> Team:
        from competitions.teams.services import register, team_create

        register(user=user, competition=self.competition, rules_version=1, now=self.now)
        return team_create(user=user, competition=self.competition, name=team, now=self.now, is_baseline=is_baseline)

    def submit(
        self,
        user: User,
        phase: str = "test-dev",
        *,
        hours_ago: float = 1,
        name: str = "",
        code: str = "",
        note: str = "",
    ) -> Submission:
        """Upload and submit as that person, so many hours ago."""
        from competitions.resources.uploads import upload_whole
        from competitions.submissions.services import NewSubmission, submission_create
        from competitions.submissions.states import Kind
        from tests.background import run_background
        from tests.scenario import zip_bytes

        at = self.now - timedelta(hours=hours_ago)
        content = zip_bytes({"metadata.yaml": METADATA, "main.py": code}) if code else prediction(phase)
        name = name or ("code.zip" if code else f"y_pred_pcqm4m-v2_{phase}.npz")
        upload = upload_whole(user=user, file_name=name, size_bytes=len(content), chunks=[content], now=at)
        kind = Kind.CODE if code else Kind.PREDICTION
        submission = submission_create(
            NewSubmission(user=user, phase=self.phases[phase], upload=upload, kind=kind, description=note), now=at
        )
        run_background(at=at)
        submission.refresh_from_db()
        return submission

    def answer(self, submission: Submission, *, after_s: float = 20, **body: Any) -> Submission:
        """Let a worker take the submission, so long after it came, and answer with this."""
        from competitions.compute.models import ComputeWorker
        from competitions.runs import dispatch
        from competitions.runs.leases import reports
        from competitions.runs.models import Run
        from tests.answers import read_result

        at = submission.created_at + timedelta(seconds=after_s)
        worker, _ = ComputeWorker.objects.get_or_create(
            queue=self.queue,
            name="node-7",
            defaults={"instance": "i", "version": "1", "registered_at": at, "last_seen_at": at},
        )
        run = dispatch.run_claim(worker=worker, free_gpus=0, now=at)
        assert isinstance(run, Run), "nothing was handed out"
        assert run.submission_id == submission.pk, "another submission was first in the queue"
        reports.run_complete(
            run_id=str(run.pk),
            attempt=run.attempt,
            lease_id=str(run.lease_id),
            result=read_result(body, columns=[key for key, *_ in COLUMNS]),
            now=at + timedelta(seconds=40),
        )
        submission.refresh_from_db()
        return submission

    def score(self, submission: Submission, mae: float) -> Submission:
        scores = {"mae": mae, "rmse": mae * 1.3, "hits": max(0.0, 0.9 - mae)}
        return self.answer(submission, outcome="finished", scores=scores, stages=[STAGE])


STAGE = {
    "name": "scoring",
    "wall_s": 1.4,
    "cpu_s": 0.9,
    "memory_peak_bytes": 61_000_000,
    "output_bytes": 120,
    "image_digest": "sha256:" + "ab" * 32,
    "exit_code": 0,
}


def prediction(split: str, error: float = 0.25) -> bytes:
    """An official prediction file whose MAE is `error`."""
    return npz(y_pred=(labels(split) + error).astype(np.float32))


def person(name: str, full_name: str = "", **fields: Any) -> User:
    """A confirmed account."""
    from allauth.account.models import EmailAddress

    from accounts.models import User

    first, _, last = full_name.partition(" ")
    user = User.objects.create_user(
        username=name, email=f"{name}@example.org", password=PASSWORD, first_name=first, last_name=last, **fields
    )
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


def competition(slug: str, title: str, organizer: User, queue: Queue, now: datetime, **fields: Any) -> Place:
    from competitions.catalog.models import Competition, CompetitionOrganizer
    from competitions.catalog.services import rules_publish

    competition = Competition.objects.create(slug=slug, title=title, queue=queue, **({"is_published": True} | fields))
    CompetitionOrganizer.objects.create(competition=competition, user=organizer)
    rules_publish(
        competition=competition, text="# Rules\n\nOne account for each person. Be fair.", now=now - timedelta(days=40)
    )
    return Place(organizer, queue, competition, now)


def phases(place: Place, **fields: Any) -> None:
    """test-dev, public, and test-challenge, sealed; each with a task and a board of three columns."""
    for index, (split, visibility) in enumerate([("test-dev", "public"), ("test-challenge", "sealed")]):
        place.phases[split] = phase(place, split, visibility, index, fields)


def phase(place: Place, split: str, visibility: str, index: int, fields: dict[str, Any]) -> Phase:
    from competitions.catalog.models import MIB, Column, Leaderboard, Phase

    defaults = {
        "name": split,
        "accepts_code": True,
        "prediction_format": {"dataset": "lsc-pcqm4mv2", "split": split, "rows": ROWS},
        "opens_at": place.now - timedelta(days=30),
        "closes_at": place.now + timedelta(days=30),
        "time_limit_s": 30,
        "memory_bytes": 256 * MIB,
        "output_bytes": 16 * MIB,
        "output_files": 100,
        "pids": 64,
        "max_submissions_per_day": 20,
    }
    phase = Phase.objects.create(
        competition=place.competition, slug=split, visibility=visibility, index=index, **(defaults | fields)
    )
    phase.tasks.add(task(place, split))
    board = Leaderboard.objects.create(phase=phase)
    for number, (key, title, unit, sorting) in enumerate(COLUMNS):
        Column.objects.create(
            leaderboard=board, key=key, title=title, unit=unit, sorting=sorting, index=number, is_primary=not number
        )
    return phase


def task(place: Place, split: str) -> Task:
    from competitions.catalog.models import Task
    from competitions.resources.models import Resource
    from tests.scenario import resource, zip_bytes

    program = zip_bytes({"metadata.yaml": METADATA, "main.py": SCORER.read_text()})
    kinds = Resource.Kind
    return Task.objects.create(
        competition=place.competition,
        name=split,
        scoring_program=resource(place.organizer, kinds.SCORING_PROGRAM, program),
        reference_data=resource(place.organizer, kinds.REFERENCE_DATA, zip_bytes({"y.npz": npz(y_true=labels(split))})),
        input_data=resource(place.organizer, kinds.INPUT_DATA, zip_bytes({"smiles.csv": "smiles\n" + "C\n" * ROWS})),
    )


def pages(place: Place) -> None:
    """Texts, an announcement, and files to download."""
    from competitions.catalog.models import Announcement, Page, PageImage
    from competitions.catalog.services import tags_set
    from competitions.resources.models import Resource
    from competitions.resources.storage import store_bytes
    from tests.images import png_bytes
    from tests.scenario import resource, zip_bytes

    place.competition.logo = store_bytes(png_bytes(320, 80))
    place.competition.save()
    tags_set(competition=place.competition, names=["graphs", "quantum chemistry"])
    PageImage.objects.create(
        competition=place.competition, name="learning-curve.png", file=store_bytes(png_bytes(900, 300))
    )
    Page.objects.create(competition=place.competition, title="Overview", body=OVERVIEW)
    Page.objects.create(
        competition=place.competition, tab="data", title="Data", body="`smiles.csv` holds one SMILES for each molecule."
    )
    Page.objects.create(
        competition=place.competition,
        tab="own",
        slug="frequent-questions",
        title="Frequent questions",
        body="May I use other data?\n\nYes, if everybody can get it[^1].\n\n[^1]: See the rules.",
    )
    Announcement.objects.create(
        competition=place.competition,
        title="Validation data corrected",
        published_at=place.now - timedelta(hours=5),
        body="Download `data.zip` again; **scores do not change**.",
    )
    data = resource(place.organizer, Resource.Kind.PUBLIC_DATA, zip_bytes({"train.csv": "smiles,gap\nC,9.1\n"}))
    kit = resource(place.organizer, Resource.Kind.STARTING_KIT, zip_bytes({"README.md": "Start here."}))
    for download, name in ((data, "data.zip"), (kit, "starting-kit.zip")):
        download.file_name = name
        download.save()
    for phase in place.phases.values():
        phase.public_data, phase.starting_kit = data, kit
        phase.save()
