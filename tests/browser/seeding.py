"""Fills an empty site with what the browser tests visit: `python -m tests.browser.seeding FOLDER`, with the site's environment.

Runs as a process of its own, before the servers: the tests themselves never touch the database.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django
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
        from competitions.submissions.services import submission_create
        from competitions.submissions.states import Kind
        from tests.background import run_background
        from tests.scenario import zip_of

        at = self.now - timedelta(hours=hours_ago)
        content = zip_of({"metadata.yaml": METADATA, "main.py": code}) if code else prediction(phase)
        name = name or ("code.zip" if code else f"y_pred_pcqm4m-v2_{phase}.npz")
        upload = upload_whole(user=user, file_name=name, size_bytes=len(content), chunks=[content], now=at)
        kind = Kind.CODE if code else Kind.PREDICTION
        made = submission_create(
            user=user, phase=self.phases[phase], upload=upload, kind=kind, now=at, description=note
        )
        run_background(at=at)
        made.refresh_from_db()
        return made

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
            run_id=str(run.pk), attempt=run.attempt, lease_id=str(run.lease_id),
            result=read_result(body, columns=[key for key, *_ in COLUMNS]), now=at + timedelta(seconds=40),
        )  # fmt: skip
        submission.refresh_from_db()
        return submission

    def score(self, submission: Submission, mae: float) -> Submission:
        scores = {"mae": mae, "rmse": mae * 1.3, "hits": max(0.0, 0.9 - mae)}
        return self.answer(submission, outcome="finished", scores=scores, stages=[STAGE])


STAGE = {
    "name": "scoring", "wall_s": 1.4, "cpu_s": 0.9, "memory_peak_bytes": 61_000_000, "output_bytes": 120,
    "image_digest": "sha256:" + "ab" * 32, "exit_code": 0,
}  # fmt: skip


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

    made = Competition.objects.create(slug=slug, title=title, queue=queue, **({"is_published": True} | fields))
    CompetitionOrganizer.objects.create(competition=made, user=organizer)
    rules_publish(
        competition=made, text="# Rules\n\nOne account for each person. Be fair.", now=now - timedelta(days=40)
    )
    return Place(organizer, queue, made, now)


def phases(place: Place, **fields: Any) -> None:
    """test-dev, public, and test-challenge, sealed; each with a task and a board of three columns."""
    for index, (split, visibility) in enumerate([("test-dev", "public"), ("test-challenge", "sealed")]):
        place.phases[split] = phase(place, split, visibility, index, fields)


def phase(place: Place, split: str, visibility: str, index: int, fields: dict[str, Any]) -> Phase:
    from competitions.catalog.models import MIB, Column, Leaderboard, Phase

    defaults = {
        "name": split, "accepts_code": True, "prediction_format": {"dataset": "lsc-pcqm4mv2", "split": split, "rows": ROWS},
        "opens_at": place.now - timedelta(days=30), "closes_at": place.now + timedelta(days=30), "time_limit_s": 30,
        "memory_bytes": 256 * MIB, "output_bytes": 16 * MIB, "output_files": 100, "pids": 64,
        "max_submissions_per_day": 20,
    }  # fmt: skip
    made = Phase.objects.create(
        competition=place.competition, slug=split, visibility=visibility, index=index, **(defaults | fields)
    )
    made.tasks.add(task(place, split))
    board = Leaderboard.objects.create(phase=made)
    for number, (key, title, unit, sorting) in enumerate(COLUMNS):
        Column.objects.create(
            leaderboard=board, key=key, title=title, unit=unit, sorting=sorting, index=number, is_primary=not number
        )
    return made


def task(place: Place, split: str) -> Task:
    from competitions.catalog.models import Task
    from competitions.resources.models import Resource
    from tests.scenario import resource, zip_of

    program = zip_of({"metadata.yaml": METADATA, "main.py": SCORER.read_text()})
    kinds = Resource.Kind
    return Task.objects.create(
        competition=place.competition,
        name=split,
        scoring_program=resource(place.organizer, kinds.SCORING_PROGRAM, program),
        reference_data=resource(place.organizer, kinds.REFERENCE_DATA, zip_of({"y.npz": npz(y_true=labels(split))})),
        input_data=resource(place.organizer, kinds.INPUT_DATA, zip_of({"smiles.csv": "smiles\n" + "C\n" * ROWS})),
    )


def pages(place: Place) -> None:
    """Texts, an announcement, and files to download."""
    from competitions.catalog.models import Announcement, Page, PageImage
    from competitions.catalog.tags import tags_set
    from competitions.resources.models import Resource
    from competitions.resources.storage import store_bytes
    from tests.images import png_of
    from tests.scenario import resource, zip_of

    place.competition.logo = store_bytes(png_of(320, 80))
    place.competition.save()
    tags_set(competition=place.competition, names=["graphs", "quantum chemistry"])
    PageImage.objects.create(
        competition=place.competition, name="learning-curve.png", file=store_bytes(png_of(900, 300))
    )
    Page.objects.create(competition=place.competition, title="Overview", body=OVERVIEW)
    Page.objects.create(
        competition=place.competition, tab="data", title="Data", body="`smiles.csv` holds one SMILES for each molecule."
    )
    Page.objects.create(
        competition=place.competition, tab="own", slug="frequent-questions", title="Frequent questions",
        body="May I use other data?\n\nYes, if everybody can get it[^1].\n\n[^1]: See the rules.",
    )  # fmt: skip
    Announcement.objects.create(
        competition=place.competition, title="Validation data corrected", published_at=place.now - timedelta(hours=5),
        body="Download `data.zip` again; **scores do not change**.",
    )  # fmt: skip
    data = resource(place.organizer, Resource.Kind.PUBLIC_DATA, zip_of({"train.csv": "smiles,gap\nC,9.1\n"}))
    kit = resource(place.organizer, Resource.Kind.STARTING_KIT, zip_of({"README.md": "Start here."}))
    for one, name in ((data, "data.zip"), (kit, "starting-kit.zip")):
        one.file_name = name
        one.save()
    for made in place.phases.values():
        made.public_data, made.starting_kit = data, kit
        made.save()


def busy_board(place: Place) -> None:
    """Teams with scores, a baseline among them, ties and a long name."""
    teams = [
        ("ada", "Ada Berg", "Aromatics"), ("ben", "", "Band Gap Busters"), ("cleo", "", LONG_TEAM), ("dan", "", "Dan"),
        ("eva", "", "Éva és a többiek"), ("robot", "", "Baselines"),
    ]  # fmt: skip
    for number, (name, full_name, team) in enumerate(teams):
        user = person(name, full_name)
        place.join(user, team, is_baseline=name == "robot")
        for step in range(3):
            sent = place.submit(user, hours_ago=70 - 12 * step - number, note="another seed" if step else "")
            place.score(sent, [0.9, 0.5, 0.31][step] + (0.04 * number if number > 1 else 0))
    from accounts.models import User

    ada = User.objects.get(username="ada")
    place.score(place.submit(ada, "test-challenge"), 0.123456)
    brought(place, ada)


def brought(place: Place, user: User) -> None:
    """Weights and images of a team, in every state; the phase takes all of it."""
    from competitions.catalog.models import Phase
    from competitions.environments.models import EnvironmentFile
    from competitions.resources.storage import store_bytes
    from competitions.teams.models import Team

    Phase.objects.filter(competition=place.competition).update(own_weights=True, own_images=True, own_requirements=True)
    facts = {"platform": "linux/amd64", "layers": 8}
    refused = "The image is for linux/arm64; the compute workers run linux/amd64. Build it with `docker build --platform linux/amd64`."
    rows: list[dict[str, Any]] = [
        {"kind": "weights", "name": "gap-model", "version": 1, "state": "removed", "detail": "Removed by ada.", "sha256": "a" * 64},
        {"kind": "weights", "name": "gap-model", "version": 2, "state": "ready", "file": store_bytes(b"weights"), "sha256": "b" * 64},
        {"kind": "image", "name": "gap-torch", "version": 1, "state": "refused", "code": "wrong_platform", "detail": refused},
        {"kind": "image", "name": "gap-torch", "version": 2, "state": "ready", "file": store_bytes(b"image"), "sha256": "c" * 64,
         "facts": facts},
        {"kind": "image", "name": "gap-torch", "version": 3, "state": "checking"},
    ]  # fmt: skip
    for number, row in enumerate(rows):
        EnvironmentFile.objects.create(
            team=Team.objects.get(competition=place.competition, memberships__user=user), file_name="file", uploaded_by=user,
            size_bytes=1_900_000_000 if row["kind"] == "image" else 190_000, created_at=place.now,
            last_used_at=place.now - timedelta(hours=number), **row,
        )  # fmt: skip


def verdicts(place: Place) -> None:
    """One team with a submission in every state, on a queue whose only worker has fallen silent."""
    from competitions.runs.models import RunLog, RunUsage
    from competitions.runs.services import submission_cancel
    from competitions.submissions.services import submission_disqualify

    fred = person("fred")
    place.join(fred, LONG_TEAM)
    failed: dict[str, Any] = {"outcome": "failed", "stages": [STAGE | {"name": "ingestion", "wall_s": 30.2}]}
    late = place.answer(
        place.submit(fred, hours_ago=30, code="while True: pass", name=LONG_FILE), reason="time_limit",
        detail="The program ran for 30.2 s; the limit is 30 s.", **failed,
    )  # fmt: skip
    lines = "\n".join(LOG_LINE.format(epoch, 1 / (epoch + 1), 1.1 / (epoch + 1)) for epoch in range(400))
    RunLog.objects.create(run=late.runs.get(), attempt=1, stream="ingestion", seq=0, text=lines)
    line = {
        "at_s": list(range(1, 31)), "cpu_cores": [0.2 + 0.7 * (second % 5 > 1) for second in range(30)],
        "memory_bytes": [2**20 * (200 + 30 * second) for second in range(30)],
        "gpu_share": [0.1 * (second % 9) for second in range(30)], "gpu_memory_bytes": [2**30 * min(second, 12) for second in range(30)],
    }  # fmt: skip
    RunUsage.objects.create(run=late.runs.get(), attempt=1, stage="ingestion", line=line)
    place.answer(
        place.submit(fred, hours_ago=28), reason="output_invalid",
        detail="The array 'y_pred' has NaN at row 17; every prediction must be a finite number.", **failed,
    )  # fmt: skip
    place.answer(place.submit(fred, hours_ago=26), reason="scoring_error", detail="scores.json is missing.", **failed)
    submission_cancel(submission=place.submit(fred, hours_ago=20), actor="user:fred", now=place.now)
    place.score(place.submit(fred, hours_ago=18), 0.42)
    out = place.score(place.submit(fred, hours_ago=16), 0.01)
    submission_disqualify(submission=out, reason="Trained on the test molecules, see the forum.", now=place.now)
    place.submit(fred, hours_ago=3, note="waits for the cluster")


def series(*places: Place) -> None:
    """Competitions as tracks of one series."""
    from competitions.catalog.models import Series

    made = Series.objects.create(
        slug="graphs", title="Large graphs challenge", subtitle="Two tracks, one summer",
        description="Each track has its own data and leaderboard. **One person has one team in each.**",
    )  # fmt: skip
    for place in places:
        place.competition.series = made
        place.competition.save()


def questions(place: Place) -> None:
    """What the organizer asks at registration, one question of each kind."""
    from competitions.teams.models import RegistrationQuestion

    asked: list[tuple[str, str, str, list[str], bool]] = [
        ("name", "Real name", "text", [], True),
        ("field", "Where do you work?", "select", ["University", "Company", "Nowhere in particular"], True),
        ("page", "Web page of your group", "url", [], False),
        (
            "honour",
            "I will not label the test molecules by other means, and nobody of my team will",
            "checkbox",
            [],
            True,
        ),
    ]
    for index, (key, title, kind, choices, is_required) in enumerate(asked):
        RegistrationQuestion.objects.create(
            competition=place.competition, key=key, title=title, kind=kind, choices=choices, index=index, is_required=is_required,
            help_text="As on your publications." if key == "name" else "",
        )  # fmt: skip


def merges(place: Place) -> None:
    """A proposal that waits for Dan, and one that Ben's team made."""
    from competitions.teams.merging import merge_propose
    from competitions.teams.models import Team

    teams = Team.objects.filter(competition=place.competition)
    ben = teams.get(name="Band Gap Busters")
    merge_propose(team=ben, by=ben.captain, other_name="Dan", now=place.now)


WEBHOOK = UUID("11111111-2222-4333-8444-666666666666")


def webhooks(place: Place) -> None:
    """Ada's team has one that was turned off after its failures, and one that is on; the organizers have none."""
    from competitions.teams.models import Team
    from competitions.webhooks.models import Webhook, WebhookMessage

    team = Team.objects.get(competition=place.competition, memberships__user__username="ada")
    common = {"competition": place.competition, "team": team, "created_at": place.now}
    Webhook.objects.create(url="https://chat.example.org/hooks/podium", kinds=["run", "announcement"], **common)
    long_url = f"https://ci.example.org/{'a-path-of-some-length/' * 8}?token=9f86d081884c7d659a2feaa0c55ad015"
    off = Webhook.objects.create(key=WEBHOOK, url=long_url, stopped_at=place.now, **common)
    told = {"webhook": off, "due_at": place.now, "created_at": place.now, "settled_at": place.now}
    for number, (state, tries, answer) in enumerate(
        [
            ("delivered", 1, "HTTP 204"),
            ("delivered", 3, "HTTP 200"),
            ("failed", 8, "ci.example.org did not answer in time."),
        ]
    ):
        body = {"type": "run", "timestamp": "", "data": {"subject": f"Submission #{number + 1} is finished"}}
        WebhookMessage.objects.create(state=state, tries=tries, answer=answer, event=f"e{number}", body=body, **told)


WINNER = UUID("11111111-2222-4333-8444-555555555555")


def finals(place: Place) -> None:
    """A public phase with a private part and a fact sheet, and a closed one that was committed to, revealed and verified."""
    from competitions.catalog.models import Column, Leaderboard
    from competitions.catalog.services import phase_reveal
    from competitions.factsheets.models import Question
    from competitions.leaderboards.sealing.commitments import board_commit
    from competitions.submissions.fact_sheets import fact_sheet_edit
    from competitions.winners.models import Lane
    from competitions.winners.models import Place as WinnersPlace
    from competitions.winners.services import code_hand_in, invite_next

    for index, (key, title, kind) in enumerate(
        [("method", "Method", "text"), ("params", "Parameters", "number"), ("code", "Code", "url")]
    ):
        Question.objects.create(
            competition=place.competition, key=key, title=title, kind=kind, index=index, is_public=True, is_on_board=True,
            help_text="The whole model, embeddings too." if key == "params" else "",
        )  # fmt: skip
    private = Leaderboard.objects.create(
        phase=place.phases["test-dev"],
        key="private",
        title="Private part",
        index=1,
        rule="selected",
        visibility="sealed",
    )
    Column.objects.create(leaderboard=private, key="rmse", title="RMSE", sorting="asc", is_primary=True)
    for number, (name, team) in enumerate(
        [("gina", "Graph Ghosts"), ("hugo", "Hartree"), ("ivan", LONG_TEAM), ("jana", "Joule")]
    ):
        user = person(name)
        place.join(user, team)
        for step in range(2):
            sent = place.score(place.submit(user, hours_ago=60 - 9 * step - number), 0.4 - 0.05 * step + 0.03 * number)
            facts = {
                "method": "Graph transformer",
                "params": 61_000_000 + number,
                "code": "https://example.org/team/code",
            }
            fact_sheet_edit(submission=sent, answers=facts, by=user, now=place.now)
        place.score(place.submit(user, "test-challenge", hours_ago=30 - number), 0.31 + 0.02 * ((number * 3) % 4))
    challenge = place.phases["test-challenge"]
    challenge.closes_at = place.now - timedelta(hours=2)
    challenge.save()
    board = Leaderboard.objects.get(phase=challenge)
    board_commit(board=board, now=place.now)
    phase_reveal(phase=challenge, now=place.now)
    lane = Lane.objects.create(leaderboard=board, top=2, tolerance=0.0001, instructions="The code must be **public**.")
    first, second = invite_next(lane=lane, actor="user:olga", now=place.now)
    WinnersPlace.objects.filter(pk=first.pk).update(key=WINNER)
    code_hand_in(
        key=second.key,
        by=second.team.captain,
        repository_url="https://example.org/team/code",
        commit="0a1b2c3d" * 5,
        now=place.now,
    )


DETAILS = """<!doctype html><title>Errors</title><style>body { font: 16px sans-serif } td { padding: 4px 16px }</style>
<h1>Errors by size</h1><table><tr><td>small</td><td id="small"></td></tr><tr><td>large</td><td>0.41</td></tr></table>
<script>document.getElementById("small").textContent = "0.21"</script>"""


def detailed_results(place: Place, phase: str) -> None:
    """The page that a scoring program wrote, for every scored submission of the phase."""
    from competitions.resources.storage import store_bytes
    from competitions.runs.models import Run, RunOutput

    place.competition.enable_detailed_results = True
    place.competition.save()
    for run in Run.objects.filter(submission__phase=place.phases[phase]):
        file = store_bytes(DETAILS.encode())
        RunOutput.objects.create(run=run, attempt=run.attempt, name="detailed_results.html", file=file)


def fill(folder: Path, now: datetime) -> None:
    from competitions.catalog.models import CompetitionOrganizer
    from competitions.compute.models import ComputeWorker, Queue, queue_issue_token
    from tests.browser.crowd import crowd
    from tests.browser.growing_boards import growing_boards
    from tests.browser.smoke_runs import smoke_runs

    queue = Queue.objects.create(name="default", contact="Compute group, compute@example.org")
    cluster = Queue.objects.create(name="cluster", contact="Cluster team, room 4.12")
    organizer = person("olga", "Olga Maier", is_staff=True)
    person("rita", "Rita Root", is_staff=True, is_superuser=True)
    gap = competition(
        "gap", "HOMO-LUMO gap", organizer, queue, now, subtitle="From SMILES to electronvolts", host="Institute of Gaps",
        reward="5,000 euros and a talk at the workshop", contact_email="gaps@example.org",
    )  # fmt: skip
    phases(gap)
    pages(gap)
    busy_board(gap)
    ComputeWorker.objects.all().delete()  # the tests' own worker is the only one
    CompetitionOrganizer.objects.filter(competition=gap.competition).update(can_see_sealed=False)
    waiting = competition("cluster", "Cluster benchmark", organizer, cluster, now)
    phases(waiting)
    verdicts(waiting)
    series(gap, waiting)
    questions(waiting)
    merges(gap)
    webhooks(gap)
    last = competition("finals", "Finals", organizer, Queue.objects.create(name="finals"), now)
    phases(last)
    finals(last)
    detailed_results(last, "test-challenge")
    competition("quiet", "A quiet competition", organizer, queue, now)
    competition("draft", "Not out yet", organizer, queue, now, is_published=False)
    growing_boards(organizer, now)
    crowd(organizer, Queue.objects.create(name="crowd"), now)
    smoke_runs(organizer, now)
    for name in ("sam", "kim", "mia", "pia", "uwe", "quin"):  # without a team; each test signs in as its own
        person(name)
    (folder / "queue_token").write_text(queue_issue_token(queue))
    (folder / "queue_token").chmod(0o600)


def main() -> None:
    django.setup()
    from django.db import transaction

    with transaction.atomic():
        fill(Path(sys.argv[1]), datetime.now(UTC))


if __name__ == "__main__":
    main()
