"""The launcher's file, what follows from depth and jobs, and Slurm's words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from workers.agent.config import ConfigError
from workers.agent.site.client import SiteError, SiteUnreachable
from workers.cli import make_log_folder
from workers.launchers.config import JobKind, LauncherConfig, config_from_table, read_config
from workers.launchers.planning import AliveJob, JobPlan, Size, plan_jobs, share_classes
from workers.launchers.service import Launcher
from workers.launchers.slurm import (
    Slurm,
    SlurmAway,
    SlurmJob,
    SlurmRefused,
    is_away,
    job_script,
    policy_problem,
    setting_for,
    waiting_problem,
)
from workers.protocol.hosts import Isolation
from workers.protocol.launching import Depth, LauncherReport, QueueDepth, ResourceClass

MIB = 1 << 20


@pytest.fixture
def table(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "token").write_text("secret")
    return {
        "site": "https://podium.example.org",
        "token_file": str(tmp_path / "token"),
        "name": "lab",
        "worker": {"command": "/opt/podium/bin/podium-worker", "data_dir": "/local/podium"},
        "jobs": [{"name": "gpu", "queue": "default", "queue_token_file": "/home/podium/queue-token", "gpus": 1}],
    }


def kind(**fields: Any) -> JobKind:
    return JobKind(**({"name": "cpu", "queue": "default", "queue_token_file": "/t"} | fields))


def need(
    waiting: int = 1, *, gpus: int = 0, memory_mib: int = 1024, wall_s: int = 3600, held: int = 0
) -> ResourceClass:
    return ResourceClass(gpus=gpus, memory_bytes=memory_mib * MIB, wall_s=wall_s, waiting=waiting, held=held)


def test_code_for_gvisor_waits_for_a_kind_of_jobs_that_has_it() -> None:
    sandboxed = need().model_copy(update={"isolation": Isolation.SANDBOXED})
    depth = QueueDepth(queue="default", waiting=1, held=0, total=1, classes=(sandboxed,))
    shares, (problem,) = share_classes([kind()], depth)
    assert (shares, problem.setting) == ({"cpu": []}, "isolations")
    assert "need the isolation “sandboxed”" in problem.detail
    with_gvisor = kind(name="gvisor", isolations=("standard", "sandboxed"))
    shares, problems = share_classes([kind(), with_gvisor], depth)
    assert (shares, problems) == ({"cpu": [], "gvisor": [sandboxed]}, ())


def alive(number: int, **fields: Any) -> AliveJob:
    base: dict[str, Any] = {"is_pending": False, "is_busy": False, "seconds_left": 4000.0, "memory_mib": 2048}
    return AliveJob(id=str(100 + number), number=number, **(base | fields))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"site": "podium.example.org"}, "--site .* must be the site's address"),
        ({"name": "Lab; reboot"}, "'name' must be lower-case letters"),
        ({"jobs": []}, "'jobs' must be one table or more"),
        ({"pol_s": 3}, "'pol_s' is not a setting; there are allow_http, "),
        ({"poll_s": 0}, "'poll_s' must be a whole number from 1 to 3600, not 0"),
        ({"poll_s": True}, "'poll_s' must be a whole number"),
        ({"worker": {"command": "x", "data_dir": "relative"}}, "'worker.data_dir' must be a path from / on"),
        (
            {"worker": {"command": "x", "data_dir": "/x", "options": "--gpus"}},
            "'worker.options' must be a list of texts",
        ),
        ({"log_dir": "logs"}, "'log_dir' must be a path"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_what_would_be_right(
    table: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_table(table | change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "a b"}, r"'jobs\[0\].name' must be lower-case"),
        ({"queue": "Default"}, r"'jobs\[0\].queue' must be the name of a queue"),
        ({"partition": "gpu --wrap=reboot"}, r"'jobs\[0\].partition' must be a name as Slurm has it"),
        ({"account": "a\nb"}, r"'jobs\[0\].account' must be a text of one line"),
        ({"maximum": 5000}, r"'jobs\[0\].maximum' must be a whole number from 1 to 1000"),
        ({"minimum": 9}, r"'jobs\[0\].minimum' is 9, more than"),
        ({"min_time_min": 2000}, r"'jobs\[0\].min_time_min' is 2000"),
        ({"options": [3]}, r"'jobs\[0\].options' must be a list of texts"),
        ({"gpu": 1}, r"'jobs\[0\].gpu' is not a setting"),
        ({"queue_token_file": "token"}, r"'jobs\[0\].queue_token_file' must be a path"),
    ],
)
def test_a_mistake_in_a_kind_of_jobs_is_named_with_its_place(
    table: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    table["jobs"][0] |= change
    with pytest.raises(ConfigError, match=words):
        config_from_table(table)


def test_two_kinds_of_one_name_are_refused(table: dict[str, Any]) -> None:
    table["jobs"] *= 2
    with pytest.raises(ConfigError, match="gpu stands twice"):
        config_from_table(table)


def test_a_file_that_is_missing_or_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_config(str(tmp_path / "nothing"))
    (tmp_path / "file").write_text("site = ")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_config(str(tmp_path / "file"))
    (tmp_path / "file").write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(ConfigError, match="is not TOML: 'utf-8' codec can't decode byte 0xe9"):
        read_config(str(tmp_path / "file"))


def test_the_file_of_the_docs_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[3] / "docs" / "clusters.md").read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "token").write_text("secret")
    (tmp_path / "file").write_text(text.replace("/home/podium/launcher-token", str(tmp_path / "token")))
    config = read_config(str(tmp_path / "file"))
    assert [(each.name, each.gpus, each.maximum) for each in config.kinds] == [("gpu", 1, 4), ("cpu", 0, 8)]


@pytest.mark.parametrize(
    ("needs", "jobs", "expected"),
    [
        ([], [], JobPlan()),
        ([need(2)], [], JobPlan(((1, Size(66, 1024)), (2, Size(66, 1024))))),
        (
            [need(9)],
            [alive(1, is_busy=True)],
            JobPlan(tuple((n, Size(66, 1024)) for n in (2, 3, 4))),
        ),  # the maximum is 4
        ([need(1)], [alive(1)], JobPlan()),  # it is free, and fits
        ([need(1)], [alive(1, is_busy=True)], JobPlan(((2, Size(66, 1024)),))),
        ([need(1)], [alive(1, seconds_left=3599.0)], JobPlan(((2, Size(66, 1024)),))),
        ([need(1)], [alive(1, memory_mib=1023)], JobPlan(((2, Size(66, 1024)),))),
        ([need(1)], [alive(2, is_pending=True)], JobPlan()),
        ([], [alive(2, is_pending=True), alive(1)], JobPlan((), ("102",))),  # the runs are gone
        ([need(1), need(1, wall_s=36_000)], [alive(1)], JobPlan(((2, Size(606, 1024)),))),
        ([need(1, wall_s=60)], [], JobPlan(((1, Size(60, 1024)),))),  # no shorter than the minimum
    ],
)
def test_each_waiting_run_has_a_job_that_it_fits_into(
    needs: list[ResourceClass], jobs: list[AliveJob], expected: JobPlan
) -> None:
    assert plan_jobs(kind(), needs, jobs) == expected


def test_jobs_that_are_kept_can_take_anything_and_are_not_cancelled() -> None:
    staying = kind(minimum=2)
    largest = Size(staying.max_time_min, staying.max_memory_mib)
    assert plan_jobs(staying, [], []) == JobPlan(((1, largest), (2, largest)))
    assert plan_jobs(staying, [], [alive(1, is_pending=True), alive(2)]) == JobPlan()
    assert plan_jobs(staying, [need(1)], []) == JobPlan(((1, largest), (2, largest)))


def test_runs_go_to_the_kind_of_jobs_that_they_fit() -> None:
    kinds = [kind(name="gpu", gpus=1, max_memory_mib=65536), kind(name="cpu"), kind(name="long", max_time_min=10_000)]
    needs = (need(1, gpus=1), need(2), need(3, wall_s=200_000), need(4, memory_mib=32768), need(5, memory_mib=99_999))
    depth = QueueDepth(queue="default", waiting=15, held=0, total=15, classes=needs)
    shares, problems = share_classes(kinds, depth)
    waiting = {name: [each.waiting for each in share] for name, share in shares.items()}
    assert waiting == {"gpu": [1, 4], "cpu": [2], "long": [3]}
    assert [(each.kind, each.setting) for each in problems] == [("gpu", "max_memory_mib")]
    without = QueueDepth(queue="default", waiting=1, held=0, total=1, classes=(need(1, gpus=1),))
    assert share_classes(kinds[1:], without)[1][0].setting == "gpus"


@pytest.mark.parametrize(
    ("words", "setting"),
    [
        ("sbatch: error: invalid partition specified: nope", "partition"),
        ("User's group not permitted to use this partition", "partition"),
        ("Invalid account or account/partition combination specified", "account"),
        (
            "AssocMaxSubmitJobLimit Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
            "maximum",
        ),
        ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", "qos"),
        ("AssocGrpBillingMinutes", "account"),
        ("AssocGrpCPUMinutesLimit", "account"),
        ("Invalid qos specification", "qos"),
        ("QOSGrpGRES", "account"),
        ("Invalid generic resource (gres) specification", "gres"),
        ("Requested node configuration is not available", "gres"),
        ("Invalid feature specification", "constraint"),
        ("Requested time limit is invalid (missing or exceeds some limit)", "max_time_min"),
        ("PartitionTimeLimit", "max_time_min"),
        ("unrecognized option '--foo'", "options"),
        ("Unable to contact slurm controller (connect failure)", ""),
        ("something new", ""),
    ],
)
def test_slurms_words_lead_to_the_setting(words: str, setting: str) -> None:
    assert setting_for(words) == setting


def slurm_job(**fields: Any) -> SlurmJob:
    base: dict[str, Any] = {
        "id": "17",
        "state": "PENDING",
        "partition": "batch",
        "time_limit_s": 3960,
        "memory_mib": 2048,
        "gpus": 0,
        "submitted_at": 1.0,
        "started_at": None,
        "ends_at": None,
        "nodes": "",
        "kind": "cpu",
        "number": 1,
        "asked": Size(66, 1024),
        "reason": "Priority",
    }
    return SlurmJob(**(base | fields))


def test_what_the_clusters_policy_makes_of_a_job_is_a_problem() -> None:
    batch = kind(partition="batch")
    assert policy_problem(batch, slurm_job()) is None
    changes: list[tuple[dict[str, Any], str]] = [
        ({"partition": "other"}, "partition"),
        ({"time_limit_s": 120}, "max_time_min"),
        ({"memory_mib": 100}, "max_memory_mib"),
    ]
    for change, setting in changes:
        problem = policy_problem(batch, slurm_job(**change))
        assert problem is not None
        assert problem.setting == setting


@pytest.mark.parametrize(
    ("reason", "setting"),
    [
        ("Priority", None),
        ("Resources", None),
        ("ReqNodeNotAvail, UnavailableNodes:n", None),
        ("AssocGrpCPUMinutesLimit", "account"),
    ],
)
def test_a_job_that_waits_its_turn_is_no_problem(reason: str, setting: str | None) -> None:
    problem = waiting_problem(kind(), slurm_job(reason=reason))
    assert (problem and problem.setting) == setting


def test_no_value_of_the_file_is_read_by_the_shell_but_as_a_word(table: dict[str, Any]) -> None:
    table["worker"]["options"] = ["--runtime", "$(reboot)"]
    table["worker"]["data_dir"] = "/local/it's here"
    config = config_from_table(table)
    script = job_script(config, config.kinds[0], 1, Size(60, 1024))
    assert "'$(reboot)'" in script
    assert "'/local/it'\"'\"'s here'" in script
    assert "--until-idle 60" in script


class Cluster(Slurm):
    """Slurm without Slurm: jobs as they are given, refusals as they are told."""

    def __init__(self, config: LauncherConfig) -> None:
        super().__init__(config)
        self.known: list[SlurmJob] = []
        self.submitted: list[int] = []
        self.cancelled: list[str] = []
        self.refusal: Exception | None = None
        self.is_down = False

    def source(self) -> str:
        return "podium@lab"

    def jobs(self) -> tuple[SlurmJob, ...]:
        if self.is_down:
            raise SlurmAway("squeue: Unable to contact slurm controller")
        return tuple(self.known)

    def submit(self, kind: JobKind, number: int, size: Size) -> str:
        if self.refusal is not None:
            raise self.refusal
        self.submitted.append(number)
        return str(number)

    def cancel(self, jobs: Sequence[str]) -> None:
        self.cancelled += jobs


class Site:
    """A site that says what waits, and keeps reports."""

    def __init__(self, *needs: ResourceClass, **fields: Any) -> None:
        waiting = sum(each.waiting for each in needs)
        base: dict[str, Any] = {"queue": "default", "waiting": waiting, "held": 0, "total": waiting, "classes": needs}
        self.answer = Depth(queues=(QueueDepth(**(base | fields)),))
        self.reports: list[LauncherReport] = []
        self.error: Exception | None = None

    def depth(self) -> Depth:
        return self.answer

    def report(self, message: LauncherReport) -> None:
        if self.error is not None:
            raise self.error
        self.reports.append(message)


@pytest.fixture
def parts(table: dict[str, Any]) -> tuple[LauncherConfig, Cluster]:
    table["jobs"][0] |= {"name": "cpu", "gpus": 0}
    config = config_from_table(table)
    return config, Cluster(config)


def new_launcher(parts: tuple[LauncherConfig, Cluster], site: Site, now: float = 10_000.0) -> Launcher:
    return Launcher(parts[0], site, parts[1], clock=lambda: now)  # type: ignore[arg-type]  # as a site


def test_one_look_says_what_waits_and_fails_where_something_keeps_jobs_from_starting(
    parts: tuple[LauncherConfig, Cluster],
) -> None:
    with capture_logs() as lines:
        assert new_launcher(parts, Site(need(2))).once()
    assert lines[-1]["detail"] == "default: 2 runs wait"
    parts[1].refusal = SlurmRefused("invalid partition specified: nope")
    assert not new_launcher(parts, Site(need(2))).once()
    parts[1].is_down = True
    assert not new_launcher(parts, Site(need(2))).once()


def test_the_folder_for_logs_is_made_or_the_setting_named(tmp_path: Path) -> None:
    make_log_folder(tmp_path / "logs" / "podium")
    make_log_folder(tmp_path / "logs" / "podium")
    assert (tmp_path / "logs" / "podium").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="'log_dir' must be a folder"):
        make_log_folder(tmp_path / "file" / "logs")


def test_a_site_that_refuses_the_report_gets_no_jobs(parts: tuple[LauncherConfig, Cluster]) -> None:
    site = Site(need(1))
    for error in (
        SiteError(409, "launcher_in_use", "another"),
        SiteError(401, "unauthorized", "x"),
        SiteUnreachable("away"),
    ):
        site.error = error
        new_launcher(parts, site).round()
    assert parts[1].submitted == []


def test_a_cluster_that_is_away_is_told_and_nothing_is_said_to_have_ended(
    parts: tuple[LauncherConfig, Cluster],
) -> None:
    site = Site(need(1))
    parts[1].is_down = True
    new_launcher(parts, site).round()
    (report,) = site.reports
    assert not report.is_complete
    assert "Slurm does not answer" in report.problems[0].detail


def test_a_report_names_the_kinds_of_the_file(parts: tuple[LauncherConfig, Cluster]) -> None:
    site = Site()
    new_launcher(parts, site).round()
    assert site.reports[0].kinds == ("cpu",)


def test_of_two_jobs_with_one_number_the_later_is_cancelled(parts: tuple[LauncherConfig, Cluster]) -> None:
    parts[1].known = [
        slurm_job(id="9", state="RUNNING"),
        slurm_job(id="10", reason="Dependency"),
        slurm_job(id="11", number=2),
    ]
    new_launcher(parts, Site(need(2))).round()
    assert (parts[1].submitted, parts[1].cancelled) == ([], ["10"])


def test_a_job_in_the_clusters_queue_keeps_its_place_until_no_run_has_needed_it_for_a_while(
    parts: tuple[LauncherConfig, Cluster],
) -> None:
    parts[1].known = [slurm_job(id="9", reason="Resources")]
    idle, waiting = Site().answer, Site(need(1)).answer
    site = Site()
    launcher = new_launcher(parts, site)
    cancelled: list[tuple[float, list[str]]] = []
    # A worker claims the run ahead, hands it back after 10 seconds, and at last runs it.
    for now, answer in ((0.0, idle), (5.0, idle), (10.0, waiting), (20.0, idle), (49.0, idle), (50.0, idle)):
        site.answer = answer
        launcher.clock = partial(float, now)
        launcher.round()
        cancelled.append((now, list(parts[1].cancelled)))
    assert cancelled[-2:] == [(49.0, []), (50.0, ["9"])]


def test_a_node_that_fails_holds_up_no_other_job(parts: tuple[LauncherConfig, Cluster]) -> None:
    parts[1].known = [slurm_job(id="5", state="NODE_FAIL", nodes="node0", started_at=9_980.0, ends_at=9_990.0)]
    new_launcher(parts, Site(need(1))).round()
    assert parts[1].submitted == [1]


def test_a_refusal_pauses_its_kind_and_is_told_in_the_next_report(parts: tuple[LauncherConfig, Cluster]) -> None:
    site, (_, cluster) = Site(need(3)), parts
    cluster.refusal = SlurmRefused("invalid partition specified: nope")
    launcher = new_launcher(parts, site)
    launcher.round()
    cluster.refusal = None
    launcher.round()
    assert cluster.submitted == [], "it pauses"
    assert [problem.setting for problem in site.reports[-1].problems] == ["partition"]


def test_jobs_that_fail_as_soon_as_they_begin_are_started_ever_more_seldom(
    parts: tuple[LauncherConfig, Cluster],
) -> None:
    failed = {"state": "FAILED", "nodes": "node0"}
    parts[1].known = [
        slurm_job(id=str(number), started_at=9_900.0 + number, ends_at=9_903.0 + number, **failed)
        for number in range(1, 4)
    ]
    site = Site(need(1))
    new_launcher(parts, site, now=10_000.0).round()  # 120 seconds after the third
    assert parts[1].submitted == []
    new_launcher(parts, site, now=10_027.0).round()
    assert parts[1].submitted == [1]


def test_jobs_that_end_without_a_run_are_started_ever_more_seldom(parts: tuple[LauncherConfig, Cluster]) -> None:
    parts[1].known = [slurm_job(id="5", state="COMPLETED", nodes="node0", started_at=9_000.0, ends_at=9_990.0)]
    site = Site(need(1), fruitless_jobs=3)
    launcher = new_launcher(parts, site)
    launcher.round()
    launcher.round()
    assert parts[1].submitted == []
    assert "the last 3 jobs ended without one" in site.reports[-1].problems[0].detail
    new_launcher(parts, site, now=10_030.0).round()
    assert parts[1].submitted == [1]


def test_a_job_whose_worker_is_silent_is_not_waited_for(parts: tuple[LauncherConfig, Cluster]) -> None:
    parts[1].known = [slurm_job(state="RUNNING", started_at=9_000.0, ends_at=99_000.0)]
    new_launcher(parts, Site(need(1))).round()
    assert parts[1].submitted == []
    new_launcher(parts, Site(need(1), silent_jobs=("17",))).round()
    assert parts[1].submitted == [2]


def test_words_about_slurm_as_a_whole_are_no_refusal_of_one_job() -> None:
    assert is_away("sbatch: error: Unable to contact slurm controller (connect failure)")
    assert not is_away("sbatch: invalid partition specified: nope")
