"""Simulated teams: files sent in over the last weeks, and scored like all others."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from django.db import transaction

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.resources.uploads import upload_whole
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import FINAL, Kind
from competitions.teams.models import Team
from config.demo.accounts import join
from config.demo.baselines import POLL_S
from examples.baselines import SimulatedFile


def teams_create(competition: Competition, files: list[SimulatedFile], *, folder: Path, now: datetime) -> int:
    """Make the teams and send in their files, each at its own time; return the number of submissions.

    A second call finds what the first made.
    """
    phases = {phase.slug: phase for phase in competition.phases.all()}
    by_team = groupby(sorted(files, key=lambda file: (file.team, -file.days_ago)), key=lambda file: file.team)
    for name, sent in by_team:
        own = list(sent)
        with transaction.atomic():
            user = _member(competition, name, joined_at=now - timedelta(days=own[0].days_ago, minutes=5))
        for number, file in enumerate(own):
            _submit(user, phases[file.phase], folder / file.path, number, now - timedelta(days=file.days_ago))
    return len(files)


def _member(competition: Competition, team_name: str, *, joined_at: datetime) -> User:
    """The team's only member, who cannot sign in."""
    team = Team.objects.filter(competition=competition, name=team_name).select_related("captain").first()
    if team is not None:
        return team.captain
    username = team_name.lower().replace(" ", "-")
    user = User.objects.create_user(username=username, email=f"{username}@podium.example", password=None)
    join(user=user, competition=competition, team_name=team_name, now=joined_at)
    return user


def _submit(user: User, phase: Phase, path: Path, number: int, sent_at: datetime) -> None:
    key = f"demo-simulated-{number}"
    if Submission.objects.filter(submitted_by=user, idempotency_key=key).exists():
        return
    content = path.read_bytes()
    upload = upload_whole(user=user, file_name=path.name, size_bytes=len(content), chunks=[content], now=sent_at)
    submission_create(
        NewSubmission(
            user=user,
            phase=phase,
            upload=upload,
            kind=Kind.PREDICTION,
            idempotency_key=key,
            description="Made by a program, to show a leaderboard in use.",
        ),
        now=sent_at,
    )


def wait_until_scored(competition: Competition, *, check: Callable[[], None]) -> None:
    """Wait until the simulated teams' submissions have ended."""
    waiting = Submission.objects.filter(phase__competition=competition, idempotency_key__startswith="demo-simulated-")
    while waiting.exclude(status__in=FINAL).exists():
        check()
        time.sleep(POLL_S)
