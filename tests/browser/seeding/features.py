"""Rows for single pages: a busy board, verdicts, series, questions, merges, webhooks, details."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.browser.seeding.place import LOG_LINE, LONG_FILE, LONG_TEAM, STAGE, Place, person

if TYPE_CHECKING:
    from accounts.models import User
    from competitions.compute.models import Queue


def busy_board(place: Place) -> None:
    """Teams with scores, a baseline among them, ties and a long name."""
    teams = [
        ("ada", "Ada Berg", "Aromatics"),
        ("ben", "", "Band Gap Busters"),
        ("cleo", "", LONG_TEAM),
        ("dan", "", "Dan"),
        ("eva", "", "Éva és a többiek"),
        ("robot", "", "Baselines"),
    ]
    for number, (name, full_name, team) in enumerate(teams):
        user = person(name, full_name)
        place.join(user, team, is_baseline=name == "robot")
        for step in range(3) if name in ("ada", "ben", "eva") else (2,):  # of the others the best alone
            sent = place.submit(user, hours_ago=70 - 12 * step - number, note="another seed" if step else "")
            place.score(sent, [0.9, 0.5, 0.31][step] + (0.04 * number if number > 1 else 0))
    from accounts.models import User

    ada = User.objects.get(username="ada")
    place.score(place.submit(ada, "test-challenge"), 0.123456)
    public_profile(ada)
    brought(place, ada)


def join_for_uploads(place: Place) -> None:
    """People whose files are looked at and stored: no worker serves the queue."""
    from accounts.models import User

    for user in User.objects.filter(username__in=("ben", "cleo", "dan")):
        place.join(user, f"{user.username} uploads")


def public_profile(user: User) -> None:
    """A profile that shows everything there is."""
    from accounts.models import Profile

    about = "Computational chemist. Message passing, calibrated uncertainty, and long hikes.\nTeaches in winter."
    links = {"orcid": "0000-0002-1825-0097", "github": "ada-berg", "website": "https://ada.example.org/research"}
    lists = {"shows_competitions": True, "shows_ranks": True, "shows_teams": True}
    Profile.objects.create(user=user, is_public=True, name="Ada Berg", about=about, **links, **lists)


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
        {
            "kind": "weights",
            "name": "gap-model",
            "version": 1,
            "state": "removed",
            "detail": "Removed by ada.",
            "sha256": "a" * 64,
        },
        {
            "kind": "weights",
            "name": "gap-model",
            "version": 2,
            "state": "ready",
            "file": store_bytes(b"weights"),
            "sha256": "b" * 64,
        },
        {
            "kind": "image",
            "name": "gap-torch",
            "version": 1,
            "state": "refused",
            "code": "wrong_platform",
            "detail": refused,
        },
        {
            "kind": "image",
            "name": "gap-torch",
            "version": 2,
            "state": "ready",
            "file": store_bytes(b"image"),
            "sha256": "c" * 64,
            "facts": facts,
        },
        {"kind": "image", "name": "gap-torch", "version": 3, "state": "checking"},
    ]
    for number, row in enumerate(rows):
        EnvironmentFile.objects.create(
            team=Team.objects.get(competition=place.competition, memberships__user=user),
            file_name="file",
            uploaded_by=user,
            size_bytes=1_900_000_000 if row["kind"] == "image" else 190_000,
            created_at=place.now,
            last_used_at=place.now - timedelta(hours=number),
            **row,
        )


def verdicts(place: Place) -> None:
    """One team with a submission in every state, on a queue whose only worker has fallen silent."""
    from competitions.runs.models import RunLog, RunUsage
    from competitions.runs.services import submission_cancel
    from competitions.submissions.services import submission_disqualify

    fred = person("fred")
    place.join(fred, LONG_TEAM)
    failed: dict[str, Any] = {"outcome": "failed", "stages": [STAGE | {"name": "ingestion", "wall_s": 30.2}]}
    late = place.answer(
        place.submit(fred, hours_ago=30, code="while True: pass", name=LONG_FILE),
        reason="time_limit",
        detail="The program ran for 30.2 s; the limit is 30 s.",
        **failed,
    )
    lines = "\n".join(LOG_LINE.format(epoch, 1 / (epoch + 1), 1.1 / (epoch + 1)) for epoch in range(400))
    RunLog.objects.create(run=late.runs.get(), attempt=1, stream="ingestion", seq=0, text=lines)
    line = {
        "at_s": list(range(1, 31)),
        "cpu_cores": [0.2 + 0.7 * (second % 5 > 1) for second in range(30)],
        "memory_bytes": [2**20 * (200 + 30 * second) for second in range(30)],
        "gpu_share": [0.1 * (second % 9) for second in range(30)],
        "gpu_memory_bytes": [2**30 * min(second, 12) for second in range(30)],
    }
    RunUsage.objects.create(run=late.runs.get(), attempt=1, stage="ingestion", line=line)
    place.answer(
        place.submit(fred, hours_ago=28),
        reason="output_invalid",
        detail="The array 'y_pred' has NaN at row 17; every prediction must be a finite number.",
        **failed,
    )
    place.answer(place.submit(fred, hours_ago=26), reason="scoring_error", detail="scores.json is missing.", **failed)
    submission_cancel(submission=place.submit(fred, hours_ago=20), actor="user:fred", now=place.now)
    place.score(place.submit(fred, hours_ago=18), 0.42)
    out = place.score(place.submit(fred, hours_ago=16), 0.01)
    submission_disqualify(submission=out, reason="Trained on the test molecules, see the forum.", now=place.now)
    place.submit(fred, hours_ago=3, note="waits for the cluster")


def series(*places: Place) -> None:
    """Competitions as tracks of one series."""
    from competitions.catalog.models import Series

    series = Series.objects.create(
        slug="graphs",
        title="Large graphs challenge",
        subtitle="Two tracks, one summer",
        description="Each track has its own data and leaderboard. **One person has one team in each.**",
    )
    for place in places:
        place.competition.series = series
        place.competition.save()


def questions(place: Place) -> None:
    """Ask one question of each kind at registration."""
    from competitions.teams.models import RegistrationQuestion

    registration_questions: list[tuple[str, str, str, list[str], bool]] = [
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
    for index, (key, title, kind, choices, is_required) in enumerate(registration_questions):
        RegistrationQuestion.objects.create(
            competition=place.competition,
            key=key,
            title=title,
            kind=kind,
            choices=choices,
            index=index,
            is_required=is_required,
            help_text="As on your publications." if key == "name" else "",
        )


def merges(place: Place) -> None:
    """A proposal that waits for Dan, and one that Ben's team made."""
    from competitions.teams.merging import merge_propose
    from competitions.teams.models import Team

    teams = Team.objects.filter(competition=place.competition)
    ben = teams.get(name="Band Gap Busters")
    merge_propose(team=ben, by=ben.captain, other_name="Dan", now=place.now)


WEBHOOK = UUID("11111111-2222-4333-8444-666666666666")


def webhooks(place: Place) -> None:
    """Add two webhooks of Ada's team: one turned off after failures, one on. The organizers have none."""
    from competitions.teams.models import Team
    from competitions.webhooks.models import Webhook, WebhookMessage

    team = Team.objects.get(competition=place.competition, memberships__user__username="ada")
    common = {"competition": place.competition, "team": team, "created_at": place.now}
    Webhook.objects.create(url="https://chat.example.org/hooks/podium", kinds=["run", "announcement"], **common)
    long_url = f"https://ci.example.org/{'a-path-of-some-length/' * 8}?token=9f86d081884c7d659a2feaa0c55ad015"
    off = Webhook.objects.create(key=WEBHOOK, url=long_url, stopped_at=place.now, **common)
    times = {"webhook": off, "due_at": place.now, "created_at": place.now, "settled_at": place.now}
    for number, (state, tries, answer) in enumerate(
        [
            ("delivered", 1, "HTTP 204"),
            ("delivered", 3, "HTTP 200"),
            ("failed", 8, "ci.example.org did not answer in time."),
        ]
    ):
        body = {"type": "run", "timestamp": "", "data": {"subject": f"Submission #{number + 1} has been scored"}}
        WebhookMessage.objects.create(state=state, tries=tries, answer=answer, event=f"e{number}", body=body, **times)


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


def slices(place: Place, phase: str) -> None:
    """Scores by slice of every scored submission of the phase, which its teams may read."""
    from competitions.catalog.models import Phase
    from competitions.disclosure.outputs import SLICES
    from competitions.resources.storage import store_bytes
    from competitions.runs.models import Run, RunOutput

    Phase.objects.filter(pk=place.phases[phase].pk).update(shows_slices="at_once")
    remark = (
        "No slices of ndcg by town: 3 of 12 groups have items in several slices; give all items of a group one value."
    )
    for run in Run.objects.filter(submission__phase=place.phases[phase]):
        by_key = {
            key: {"heavy atoms": _rows(score, range(9, 15)), "ring": _rows(score, ["no", "yes"])}
            for key, score in run.scores.items()
        }
        content = {"format": 1, "scores": by_key, "remarks": [remark]}
        RunOutput.objects.create(
            run=run, attempt=run.attempt, name=SLICES, file=store_bytes(json.dumps(content).encode())
        )


def _rows(score: float, values: Iterable[object]) -> list[dict[str, object]]:
    """Slices about the score, the last one too small for an interval."""
    rows: list[dict[str, object]] = [
        {
            "value": f"{value}",
            "items": 9000 >> 2 * place,
            "score": score * (1 + place / 9),
            "low": score * (0.97 + place / 12),
            "high": score * (1.04 + place / 7),
        }
        for place, value in enumerate(values)
    ]
    return [*rows, {"value": "other (7 values)", "items": 4, "score": score * 1.9}]


def launcher(queue: Queue, now: datetime) -> None:
    """A launcher of a cluster with jobs that run, and something to fix."""
    from competitions.compute.models import ClusterJob, Launcher

    row = Launcher.objects.create(name="lab", last_seen_at=now, source="podium@lab", version="0.1.0")
    row.queues.add(queue)
    words = "Slurm does not take a job: invalid partition specified: gpu-long Batch job submission failed: Invalid partition name specified"
    row.problems = [{"queue": queue.name, "kind": "gpu", "setting": "partition", "detail": words}]
    row.save()
    for number in range(3):
        ClusterJob.objects.create(
            launcher=row,
            queue=queue,
            job=f"481{number}",
            kind="gpu",
            state=ClusterJob.State.RUNNING,
            nodes=f"node{number}",
            gpus=1,
            submitted_at=now - timedelta(hours=2),
            started_at=now - timedelta(hours=1, minutes=number),
            reported_at=now,
        )
    usage(queue, now)


def usage(queue: Queue, now: datetime) -> None:
    """GPU hours of a month that is nearly used up, with a job that was preempted."""
    from competitions.compute.models import ClusterJob
    from competitions.runs.models import GpuHours, Run, SlotUse

    competition = queue.competitions.get()
    GpuHours.objects.create(queue=queue, competition=competition, hours=40)
    runs = Run.objects.filter(queue=queue).select_related("submission").order_by("queued_at")
    for number, run in enumerate(runs):
        ended_at = now - timedelta(minutes=number)
        SlotUse.objects.create(
            run=run,
            queue=queue,
            competition=competition,
            phase_id=run.submission.phase_id,
            team_id=run.team_id,
            job="4809",
            gpus=1,
            waits_since=ended_at - timedelta(hours=4, minutes=7 * number),
            started_at=ended_at - timedelta(hours=4),
            ended_at=ended_at,
        )
    ClusterJob.objects.create(
        launcher=queue.launchers.get(),
        queue=queue,
        job="4809",
        state=ClusterJob.State.ENDED,
        end_reason=ClusterJob.End.PREEMPTED,
        gpus=1,
        submitted_at=now - timedelta(hours=60),
        started_at=now - timedelta(hours=50),
        ended_at=now,
        reported_at=now,
    )


def annotated_rows(place: Place) -> None:
    """Tags, commit and link of two submissions that stand on the first board."""
    from competitions.leaderboards.models import Entry
    from competitions.submissions.annotations import annotations_edit, read_annotations

    rows = Entry.objects.filter(leaderboard__phase=place.phases["test-dev"], is_baseline=False)
    for number, row in enumerate(rows.select_related("score__submission", "team__captain")[:2]):
        link = f"https://github.com/{'late-models/gin-virtual' if number else 'example/gap'}"
        known = read_annotations(tags=["gin", "virtual-node", "lr:0.001"], commit="3f2a9c1d", link=link)
        annotations_edit(submission=row.score.submission, annotations=known, by=row.team.captain)
