"""The contest of molecules: code on raw SMILES, sealed scores, a winner's code verified."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from competitions.bundles.importing.importer import bundle_import
from competitions.catalog.models import Phase
from competitions.catalog.services import phase_reveal
from competitions.disclosure.outputs import REPLICATES
from competitions.leaderboards.models import EntryUncertainty
from competitions.resources.storage import local_copy
from competitions.resources.uploads import upload_whole
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.submissions.states import State as RunState
from competitions.teams.models import Membership, Team
from competitions.teams.services import register
from competitions.winners import services
from competitions.winners.models import Lane, Place
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from examples.ogb_lsc import TRACKS
from examples.tracks.baselines import ANSWERS, track_baselines
from examples.tracks.bundle import build_track
from tests.background import run_background
from tests.integration.workers.site import SmallSite, ended
from tests.integration.workers.test_worker_and_site import Start, site, start_worker
from tests.soak import in_soak

__all__ = ["site", "start_worker"]  # fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]

MOLECULES = next(track for track in TRACKS if track.program == "lsc-pcqm4mv2")


class Contest:
    """The track on the small site's queue, with a team whose code is the starting kit's."""

    def __init__(self, site: SmallSite, folder: Path) -> None:
        self.site, self.folder = site, folder
        bundle = build_track(folder / "bundle", MOLECULES, now=datetime.now(UTC))
        baselines = track_baselines(bundle, MOLECULES, folder / "files")
        (code,) = [baseline for baseline in baselines if baseline.kind == "code"]
        (file,) = [
            baseline for baseline in baselines if (baseline.kind, baseline.phase) == ("prediction", "test-challenge")
        ]
        self.code, self.predictions = (folder / "files" / baseline.filename for baseline in (code, file))
        User.objects.filter(pk=site.user.pk).update(is_staff=True)
        site.user.refresh_from_db()
        self.competition = bundle_import(
            source=bundle, owner=site.user, queue=site.queue, now=datetime.now(UTC)
        ).competition
        self.phase = self.competition.phases.get(slug="test-challenge")
        self.team = Team.objects.create(competition=self.competition, name="Molecules", captain=site.user)
        Membership.objects.create(
            team=self.team, user=site.user, competition=self.competition, joined_at=datetime.now(UTC)
        )
        answers = {
            question.key: True if question.kind == "checkbox" else "as the kit" for question in MOLECULES.registration
        }
        register(user=site.user, competition=self.competition, rules_version=1, now=datetime.now(UTC), answers=answers)
        self.lane = Lane.objects.create(leaderboard=self.phase.leaderboard)

    def upload(self, path: Path) -> Any:
        content = path.read_bytes()
        return upload_whole(
            user=self.site.user, file_name=path.name, size_bytes=len(content), chunks=[content], now=datetime.now(UTC)
        )

    def submitted(self, path: Path, kind: Kind) -> Submission:
        """This file, sent to the sealed phase and checked."""
        submission = submission_create(
            NewSubmission(
                user=self.site.user,
                phase=self.phase,
                upload=self.upload(path),
                kind=kind,
                fact_sheet={question.key: ANSWERS[question.kind] for question in MOLECULES.fact_sheet},
            ),
            now=datetime.now(UTC),
        )
        run_background()
        return submission

    def ranked(self) -> Run:
        """The run of the starting kit's code, on raw SMILES."""
        submission = self.submitted(self.code, Kind.CODE)
        (smoke,) = ended(list(submission.runs.all()))
        assert (smoke.is_smoke, smoke.state, smoke.detail) == (True, RunState.FINISHED, "")
        (run,) = ended(list(submission.runs.filter(is_smoke=False)))
        assert (run.state, run.detail) == (RunState.FINISHED, "")
        return run

    def copying(self) -> Path:
        """A zip that copies the predictions which are ranked: those that the starting kit's code made at home."""
        (run,) = ended(list(self.submitted(self.predictions, Kind.PREDICTION).runs.all()))
        assert (run.state, run.detail) == (RunState.FINISHED, "")
        path = self.folder / "copies.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(self.predictions, "predictions.bin")
            command = f"command: cp $program/predictions.bin $output/{self.predictions.name}\n"
            archive.writestr("metadata.yaml", command)
        return path

    def verified(self, code: Path) -> Place:
        """The phase closed and revealed, this zip handed in, run with its checks, and compared."""
        now = datetime.now(UTC)
        Phase.objects.filter(pk=self.phase.pk).update(closes_at=now, upload_grace_minutes=0)
        phase_reveal(phase=Phase.objects.get(pk=self.phase.pk), now=now)
        (place,) = services.invite_next(lane=Lane.objects.get(), actor="test", now=now)
        who: dict[str, Any] = {"key": place.key, "by": self.site.user, "now": now}
        services.code_hand_in(
            **who, repository_url="https://example.org/team/code", commit="0123abcd" * 5, upload=self.upload(code)
        )
        services.report_hand_in(**who, report_url="https://example.org/report.pdf")
        services.hardware_hand_in(**who, hardware="2 cores of a laptop")
        place = verification_start(key=place.key, by=self.site.user, now=now)
        run_background()
        ended(list(Run.objects.filter(submission__in=[place.verification, place.check_run])), 180)
        assert reconcile(now=datetime.now(UTC))["winners_compared"] == 1
        return Place.objects.get(pk=place.pk)


def assert_intervals_came_apart_from_the_output(run: Run) -> None:
    """The replicates came in a file of their own, and the board has an interval."""
    names = set(RunOutput.objects.filter(run__submission=run.submission).values_list("name", flat=True))
    assert REPLICATES in names
    with local_copy(RunOutput.objects.get(run=run, name="scoring.zip").file) as path, zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) == {"scores.json"}
    row = EntryUncertainty.objects.get(entry__score__submission=run.submission)
    assert row.low < run.scores["mae"] < row.high
    assert (
        RunOutput.objects.filter(run__submission=run.submission, name=REPLICATES).count() == 1
    )  # none of the smoke run


@pytest.fixture
def contest(site: SmallSite, tmp_path: Path) -> Contest:
    return Contest(site, tmp_path)


def test_code_that_predicts_from_raw_smiles_passes_every_check(contest: Contest, start_worker: Start) -> None:
    start_worker()
    run = contest.ranked()
    run_background()
    assert_intervals_came_apart_from_the_output(run)
    comparison = contest.verified(contest.code).comparison
    assert comparison["is_within"], comparison["faults"]
    assert {check["kind"] for check in comparison["checks"]} == {"rows permuted", "input perturbed", "held-out part"}
    assert all(0 < check["wall_s"] < check["limit_s"] == 300 for check in comparison["checks"])
    assert comparison["code"]["constants"] > 0


@in_soak  # told from files in test_winner_cheats.py, and a table of known answers on real parts in test_winners_verification.py
def test_a_zip_that_copies_the_predictions_is_told_by_every_check(contest: Contest, start_worker: Start) -> None:
    start_worker()
    comparison = contest.verified(contest.copying()).comparison
    assert comparison["equal_share"] == 1.0  # on the plain input it makes what was submitted, of course
    assert not comparison["is_within"]
    assert {check["kind"] for check in comparison["checks"] if check["faults"]} >= {"rows permuted", "held-out part"}
