"""A real worker runs a winner's code again on sealed input, and compares it with the submission."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scoring
from competitions.catalog.models import Check, Column, Leaderboard, Phase, Task
from competitions.catalog.services import phase_reveal, rules_publish
from competitions.resources.models import Resource, Upload
from competitions.resources.uploads import upload_whole
from competitions.runs.models import Run
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.submissions.states import State as RunState
from competitions.teams.models import Membership
from competitions.teams.services import register
from competitions.winners import refusals, services
from competitions.winners.models import Lane, Place, State
from competitions.winners.verification import verification_start
from core.reconciler import reconcile
from scoring import reference
from scoring.formats.submissions import official_filename
from tests.background import run_background
from tests.integration.workers.harness import zipped
from tests.integration.workers.site import METADATA, SmallSite, ended
from tests.integration.workers.test_worker_and_site import Start, site, start_worker

__all__ = ["site", "start_worker"]  # fixtures

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runtime_image")]

DATASET, SPLIT = "lsc-pcqm4mv2", "test-challenge"
FILE_NAME = official_filename(DATASET, SPLIT)
INPUT = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype=np.float32)
ROWS = len(INPUT)
OFF = 1 / 1024  # a power of two, so that no digit is lost in single precision
CODE = f"""
import numpy as np
x = np.loadtxt("/app/input_data/x.txt", dtype=np.float32)
np.savez("/app/output/{FILE_NAME}", y_pred=x / 2 + 1)
"""


SPELLED = [f"{value:.2f}" for value in INPUT]  # the same numbers, written otherwise
UNSEEN = np.array([20, 30, 40, 50], dtype=np.float32)
ROUNDED = [round(float(value), 4) for value in INPUT / 2 + 1]
LOOKS_UP_TEXTS = f"""
import numpy as np
known = {dict(zip([f"{value:g}" for value in INPUT], ROUNDED, strict=True))}
y = [known.get(line.strip(), 0.0) for line in open("/app/input_data/x.txt")]
np.savez("/app/output/{FILE_NAME}", y_pred=np.array(y, dtype=np.float32))
"""


def submitted() -> bytes:
    """The official file: what `CODE` makes, but for one row."""
    values = INPUT / 2 + 1  # float32, as the format asks
    values[3] += OFF
    buffer = io.BytesIO()
    np.savez(buffer, y_pred=values)
    return buffer.getvalue()


class WinnersSite:
    """A sealed phase in the official format on the small site, with one team that takes part."""

    def __init__(self, site: SmallSite, folder: Path) -> None:
        self.site = site
        self._set_task(folder)
        Phase.objects.filter(pk=site.phase.pk).update(
            visibility=Phase.Visibility.SEALED, prediction_format={"dataset": DATASET, "split": SPLIT, "rows": ROWS}
        )
        Column.objects.update(key="mae", sorting=Column.Sorting.ASC)
        self.lane = Lane.objects.create(
            leaderboard=Leaderboard.objects.get(), tolerance=2 * OFF / ROWS, min_equal_share=0.8, score_tolerance=1e-3
        )
        now = datetime.now(UTC)
        rules_publish(competition=site.competition, text="Fair play.", now=now)
        register(user=site.user, competition=site.competition, rules_version=1, now=now)
        Membership.objects.create(team=site.team, user=site.user, competition=site.competition, joined_at=now)

    def _set_task(self, folder: Path) -> None:
        reference.write(folder / "reference", DATASET, {SPLIT: {"y_true": np.zeros(ROWS, dtype=np.float32)}})
        program = Path(scoring.__file__).parent / "programs" / DATASET
        task, kinds = self.site.task, Resource.Kind
        task.scoring_program = self.site.resource(kinds.SCORING_PROGRAM, folder_files(program))
        task.reference_data = self.site.resource(kinds.REFERENCE_DATA, folder_files(folder / "reference"))
        task.input_data = self.site.resource(kinds.INPUT_DATA, {"x.txt": "\n".join(f"{value:g}" for value in INPUT)})
        task.save()

    def add_checks(self, folder: Path) -> None:
        """Three checks of the task: rows in reverse order, numbers written differently, other numbers."""
        plain = [f"{value:g}" for value in INPUT]
        backwards = "\n".join(map(str, reversed(range(ROWS))))
        self._check(folder, Check.PERMUTED, plain[::-1], {"rows.csv": backwards}, tolerance=0.0)
        self._check(folder, Check.PERTURBED, SPELLED, {}, tolerance=0.0)
        self._check(folder, Check.HELD_OUT, [f"{value:g}" for value in UNSEEN], {}, tolerance=0.5)

    def _check(
        self, folder: Path, kind: Check, lines: list[str], extra: dict[str, str | bytes], *, tolerance: float
    ) -> None:
        values = np.array(lines, dtype=np.float32)
        labels = np.zeros(ROWS) if len(lines) == ROWS else values / 2 + 1
        reference.write(folder / kind, DATASET, {SPLIT: {"y_true": labels}})
        plain, kinds = self.site.task, Resource.Kind
        Task.objects.create(
            competition=plain.competition,
            name=kind.label,
            checks=plain,
            check_kind=kind,
            check_tolerance=tolerance,
            scoring_program=plain.scoring_program,
            input_data=self.site.resource(kinds.INPUT_DATA, {"x.txt": "\n".join(lines)}),
            reference_data=self.site.resource(kinds.REFERENCE_DATA, folder_files(folder / kind) | extra),
        )

    @property
    def phase(self) -> Phase:
        """As the database has it now."""
        return Phase.objects.get(pk=self.site.phase.pk)

    def upload(self, content: bytes, name: str) -> Upload:
        """A finished upload of the team's captain."""
        now = datetime.now(UTC)
        return upload_whole(user=self.site.user, file_name=name, size_bytes=len(content), chunks=[content], now=now)

    def ranked(self) -> Submission:
        """The team's predictions, scored by the worker."""
        upload = self.upload(submitted(), FILE_NAME)
        submission = submission_create(
            NewSubmission(user=self.site.user, phase=self.phase, upload=upload, kind=Kind.PREDICTION),
            now=datetime.now(UTC),
        )
        run_background()
        assert [(run.state, run.detail) for run in ended(list(submission.runs.all()))] == [(RunState.FINISHED, "")]
        return submission

    def handed_in(self, source: str) -> Place:
        """The phase closed and revealed, the team invited, and all that it hands in."""
        now = datetime.now(UTC)
        Phase.objects.update(closes_at=now, upload_grace_minutes=0)
        phase_reveal(phase=self.phase, now=now)
        (place,) = services.invite_next(lane=Lane.objects.get(), actor="test", now=now)
        who: dict[str, Any] = {"key": place.key, "by": self.site.user, "now": now}
        files: dict[str, str | bytes] = {"main.py": source, "metadata.yaml": METADATA, "predictions.bin": submitted()}
        bundle = self.upload(zipped(files), "code.zip")
        services.code_hand_in(
            **who, repository_url="https://example.org/team/code", commit="0123abcd" * 5, upload=bundle
        )
        services.report_hand_in(**who, report_url="https://example.org/report.pdf")
        return services.hardware_hand_in(**who, hardware="2 cores of a laptop")

    def verified(self, source: str) -> Place:
        """The verification run of this code, taken to its end by the worker, and compared."""
        place = self.handed_in(source)
        place = verification_start(key=place.key, by=self.site.user, now=datetime.now(UTC))
        assert place.verification is not None
        run_background()
        submissions = [place.verification_id, place.check_run_id]
        ended(list(Run.objects.filter(submission__in=[number for number in submissions if number])))
        assert reconcile(now=datetime.now(UTC))["winners_compared"] == 1
        return Place.objects.get(pk=place.pk)


def folder_files(folder: Path) -> dict[str, str | bytes]:
    """Names and contents of a folder's files."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def winners(site: SmallSite, tmp_path: Path) -> WinnersSite:
    return WinnersSite(site, tmp_path)


def test_a_winners_code_is_run_on_the_sealed_input_compared_row_by_row_holds_all_checks_and_is_confirmed(
    winners: WinnersSite, start_worker: Start, tmp_path: Path
) -> None:
    start_worker()
    sent = winners.ranked()
    winners.add_checks(tmp_path)
    place = winners.verified(CODE)
    comparison = place.comparison
    assert comparison["is_within"], comparison["faults"]
    limit_s = winners.site.phase.time_limit_s
    assert (comparison["rows"], comparison["equal_share"], comparison["limit_s"]) == (ROWS, 7 / 8, limit_s)
    assert (comparison["mae"], comparison["largest"]) == (OFF / ROWS, OFF)
    assert comparison["score_difference"] == pytest.approx(-OFF / ROWS, rel=1e-3)
    assert place.verification is not None
    run = place.verification.runs.get()
    assert [stage["name"] for stage in run.receipt["stages"]] == ["ingestion", "scoring"]
    assert 0 < comparison["wall_s"] == run.meters["wall_s"] < limit_s
    permuted, perturbed, held_out = comparison["checks"]
    assert permuted["equal_share"] == perturbed["equal_share"] == 1.0
    assert permuted["unmoved_share"] < 1.0
    assert held_out["score"] == 0.0
    assert all(0 < check["wall_s"] < check["limit_s"] for check in comparison["checks"])
    services.place_confirm(key=place.key, actor="test", now=datetime.now(UTC))
    sent.refresh_from_db()
    assert (Place.objects.get().state, sent.verified_s) == (State.CONFIRMED, comparison["wall_s"])
    assert Leaderboard.objects.get().entry_count == 1


def test_a_winners_code_that_overruns_the_budget_fails_with_its_reason_and_the_measured_time(
    winners: WinnersSite, start_worker: Start
) -> None:
    Phase.objects.update(time_limit_s=2)
    start_worker()
    winners.ranked()
    place = winners.verified(f"{CODE}\nimport time; time.sleep(60)\n")
    comparison = place.comparison
    assert (place.state, comparison["is_within"], comparison["limit_s"]) == (State.COMPARED, False, 2)
    assert 2 <= comparison["wall_s"] < 60
    (fault,) = comparison["faults"]
    assert fault.startswith("the run failed, over the time limit: ")
    with pytest.raises(refusals.OutsideTolerance, match="over the time limit"):
        services.place_confirm(key=place.key, actor="test", now=datetime.now(UTC))
    services.place_fail(key=place.key, reason=fault, actor="test", now=datetime.now(UTC))
    assert (Place.objects.get().state, Place.objects.get().reason) == (State.FAILED, fault)


def test_code_that_looks_up_what_it_has_seen_is_told(winners: WinnersSite, start_worker: Start, tmp_path: Path) -> None:
    """The other ways to carry answers along are told from files; copies, in the walk through a contest."""
    start_worker()
    winners.ranked()
    winners.add_checks(tmp_path)
    place = winners.verified(LOOKS_UP_TEXTS)
    comparison = place.comparison
    assert comparison["equal_share"] >= 7 / 8  # what it made on the plain input alone would have passed
    told_by = {check["title"] for check in comparison["checks"] if check["faults"]}
    assert told_by == {"input perturbed", "held-out part"}
    with pytest.raises(refusals.OutsideTolerance):
        services.place_confirm(key=place.key, actor="test", now=datetime.now(UTC))
