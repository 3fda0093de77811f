"""Slurm by its own commands: what `squeue` says of our jobs, submitting them, cancelling them.

Nothing that the site answers reaches a shell: names are checked, numbers are bounded, and no command goes through one. The job's
script is made of the launcher's file alone.
"""

import getpass
import math
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from workers.launchers.config import JobKind, LauncherConfig
from workers.launchers.planning import AliveJob, Size
from workers.protocol.launching import JobEnd, JobReport, JobState, Problem

COMMAND_TIMEOUT_S: Final = 60
FORMAT: Final = "%i|%T|%P|%l|%m|%b|%V|%S|%e|%N|%j|%k|%r"
FIELDS: Final = FORMAT.count("|") + 1
ENDS: Final = {
    "COMPLETED": JobEnd.COMPLETED,
    "CANCELLED": JobEnd.CANCELLED,
    "DEADLINE": JobEnd.TIMEOUT,
    "TIMEOUT": JobEnd.TIMEOUT,
    "PREEMPTED": JobEnd.PREEMPTED,
    "REVOKED": JobEnd.CANCELLED,
    "NODE_FAIL": JobEnd.NODE_FAIL,
    "BOOT_FAIL": JobEnd.NODE_FAIL,
    "OUT_OF_MEMORY": JobEnd.OUT_OF_MEMORY,
    "FAILED": JobEnd.FAILED,
    "SPECIAL_EXIT": JobEnd.FAILED,
}
WAITING: Final = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD")
MIB_OF: Final = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2}  # by Slurm's letter
# What Slurm's refusals, and its reasons for a job that waits, have to do with the launcher's settings; the first that is found counts.
REFUSALS: Final = (
    (r"unable to contact|connection (refused|timed out)|socket timed out|controller.*not respond", ""),
    (r"invalid partition|partition.*(not available|inactive|down)|not permitted to use this partition", "partition"),
    (r"account or account/partition|invalid account|InvalidAccount", "account"),
    (r"invalid qos|InvalidQOS|QOSNotAllowed", "qos"),
    (r"generic resource|\bgres\b", "gres"),
    (r"feature specification", "constraint"),
    (r"time limit is invalid|MaxWallDuration|TimeLimit", "max_time_min"),
    (r"MaxSubmit|MaxJobs", "maximum"),
    (r"Minutes|GrpBilling|GrpCPU|GrpGRES|GrpTRES|AssocGrp", "account"),
    (r"QOS", "qos"),
    (r"Assoc", "account"),
    (r"memory specification|MaxMem", "max_memory_mib"),
    (r"node configuration|BadConstraints|PartitionNodeLimit", "gres"),
    (r"PartitionDown|PartitionInactive", "partition"),
    (r"unrecognized option|invalid option|option .* requires", "options"),
)
# Reasons for which a job just waits its turn, on a busy or a sleeping cluster.
PATIENT: Final = ("None", "Resources", "Priority", "Dependency", "BeginTime", "Cleaning", "Licenses", "Reservation")


class SlurmAway(Exception):
    """Slurm does not answer; the message is its own."""


class SlurmRefused(Exception):
    """Slurm does not take the job; `setting`, where it is known, is the one of the file to change."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.setting = setting_for(words)


def setting_for(words: str) -> str:
    """The setting that Slurm's words are about; empty where none is known."""
    return next((setting for pattern, setting in REFUSALS if re.search(pattern, words, re.IGNORECASE)), "")


@dataclass(frozen=True)
class SlurmJob:
    """A job of this launcher, as `squeue` tells of it."""

    id: str
    state: str
    partition: str
    time_limit_s: int | None
    memory_mib: int
    gpus: int
    submitted_at: float
    started_at: float | None
    ends_at: float | None
    nodes: str
    kind: str
    number: int
    asked: Size | None  # as its comment says, unless the cluster's policy has changed that
    reason: str

    @property
    def is_pending(self) -> bool:
        """True until it has a node."""
        return self.state in WAITING

    @property
    def has_ended(self) -> bool:
        """True once it has; Slurm remembers it for some minutes."""
        return self.state in ENDS

    @property
    def ran_s(self) -> float:
        """Seconds for which it had a node."""
        is_known = self.has_ended and self.nodes and self.started_at is not None and self.ends_at is not None
        return self.ends_at - self.started_at if is_known else 0.0  # type: ignore[operator]  # both are known

    def as_alive(self, kind: JobKind, busy: frozenset[str], now: float) -> AliveJob:
        """The job, as it is planned with."""
        limit_s = self.time_limit_s or 0
        left_s = limit_s if self.is_pending or self.ends_at is None else self.ends_at - now
        return AliveJob(
            id=self.id,
            number=self.number,
            is_pending=self.is_pending,
            is_busy=self.id in busy,
            seconds_left=left_s - 2 * kind.drain_s,
            memory_mib=self.memory_mib - kind.memory_overhead_mib,
        )

    def report(self, queue: str) -> JobReport:
        """The job, as the site is told of it."""
        end = ENDS.get(self.state)
        state = JobState.ENDED if end else JobState.PENDING if self.is_pending else JobState.RUNNING
        return JobReport(
            id=self.id,
            queue=queue,
            kind=self.kind,
            state=state,
            end=end,
            detail="" if self.reason == "None" else self.reason,
            nodes=self.nodes,
            gpus=self.gpus,
            memory_bytes=self.memory_mib << 20,
            time_limit_s=self.time_limit_s,
            submitted_at=self.submitted_at,
            expected_start_at=self.started_at if self.is_pending else None,
            started_at=self.started_at if self.nodes and not self.is_pending else None,
            ended_at=self.ends_at if end else None,
        )


class Slurm:
    """The commands of Slurm, for the jobs of one launcher."""

    def __init__(self, config: LauncherConfig) -> None:
        self._config = config
        self._prefix = f"podium-{config.name}-"
        self._user = getpass.getuser()

    def source(self) -> str:
        """The user and the cluster that the jobs belong to."""
        for line in self._run("scontrol", "show", "config").splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "ClusterName":
                return f"{self._user}@{value.strip()}"[:200]
        return f"{self._user}@slurm"

    def jobs(self) -> tuple[SlurmJob, ...]:
        """All jobs of this launcher that Slurm knows, those that ended lately too. Raises `SlurmAway`."""
        text = self._run("squeue", "--noheader", f"--user={self._user}", "--states=all", f"--format={FORMAT}")
        lines = (line for line in text.splitlines() if f"|{self._prefix}" in line)
        return tuple(job for line in lines if (job := self._parse(line)) is not None)

    def _parse(self, line: str) -> SlurmJob | None:
        parts = line.split("|", FIELDS - 1)
        if len(parts) != FIELDS or not parts[0].isdecimal():
            return None
        kind, _, number = parts[10].removeprefix(self._prefix).rpartition("-")
        if not number.isdecimal() or kind not in {each.name for each in self._config.kinds}:
            return None
        return SlurmJob(
            id=parts[0],
            state=parts[1],
            partition=parts[2],
            time_limit_s=parse_time_limit(parts[3]),
            memory_mib=parse_memory(parts[4]),
            gpus=parse_gpus(parts[5]),
            submitted_at=parse_instant(parts[6]) or 0.0,
            started_at=parse_instant(parts[7]),
            ends_at=parse_instant(parts[8]),
            nodes=parts[9],
            kind=kind,
            number=int(number),
            asked=parse_comment(parts[11]),
            reason=parts[12],
        )

    def submit(self, kind: JobKind, number: int, size: Size) -> str:
        """Submit one job and return its id. Raises `SlurmAway` or `SlurmRefused`.

        Its name is its number's, and no two jobs of a name run at a time (`singleton`): whoever else submits the same number, such as a
        second launcher, gets no second node.
        """
        try:
            answer = self._run(*self.arguments(kind, number, size), stdin=job_script(self._config, kind, number, size))
        except SlurmAway as error:
            if is_away(str(error)):
                raise
            raise SlurmRefused(str(error)) from error
        return answer.strip().partition(";")[0]

    def arguments(self, kind: JobKind, number: int, size: Size) -> list[str]:
        """The command that submits a job; its script comes on standard input."""
        log = f"{self._config.log_dir}/%j.log" if self._config.log_dir else "/dev/null"
        named = {"partition": kind.partition, "account": kind.account, "qos": kind.qos, "constraint": kind.constraint}
        gres = kind.gres or (f"gpu:{kind.gpus}" if kind.gpus else "")
        return [
            "sbatch",
            "--parsable",
            f"--job-name={self._prefix}{kind.name}-{number}",
            "--dependency=singleton",
            "--no-requeue",
            "--nodes=1",
            "--ntasks=1",
            f"--cpus-per-task={kind.cpus}",
            f"--mem={size.memory_mib + kind.memory_overhead_mib}M",
            f"--time={size.time_min}",
            f"--comment=podium {size.time_min} {size.memory_mib}",
            f"--output={log}",
            "--export=HOME,PATH,USER",
            *(f"--{name}={value}" for name, value in named.items() if value),
            *([f"--gres={gres}"] if gres else []),
            *kind.options,
        ]

    def cancel(self, jobs: Sequence[str]) -> None:
        """Cancel jobs that have not started. One that starts at this moment goes on."""
        if jobs:
            self._run("scancel", "--state=PENDING", *jobs)

    def _run(self, *argv: str, stdin: str = "") -> str:
        environment = os.environ | {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                argv,
                input=stdin,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SlurmAway(f"{argv[0]} does not answer: {error}"[:500]) from error
        if done.returncode:
            words = "; ".join(re.sub(r"^\w+: (error: )?", "", line) for line in done.stderr.strip().splitlines())
            raise SlurmAway(f"{argv[0]}: {words}"[:500])
        return done.stdout


def is_away(words: str) -> bool:
    """True for words that are about Slurm as a whole, and not about one job."""
    return re.search(REFUSALS[0][0], words, re.IGNORECASE) is not None or "does not answer" in words


def job_script(config: LauncherConfig, kind: JobKind, number: int, size: Size) -> str:
    """The script of a job, of nothing but the launcher's file and the job's size."""
    until_idle = 0 if number <= kind.minimum else kind.idle_s
    options = [
        "--site", config.site, "--token-file", kind.queue_token_file, "--data-dir", config.worker.data_dir,
        "--memory-mib", str(size.memory_mib), "--drain-s", str(kind.drain_s), "--until-idle", str(until_idle),
        *(["--ca-file", config.ca_file] if config.ca_file else []), *(["--allow-http"] if config.allow_http else []),
        *config.worker.options,
    ]  # fmt: skip
    command = shlex.join([config.worker.command, "run", *options])
    return "\n".join(
        [
            "#!/bin/sh",
            *config.worker.setup,
            "# The end as Slurm has it; where it does not say so, the limit that was asked for.",
            'ends_at=${SLURM_JOB_END_TIME:-$(SLURM_TIME_FORMAT=%s squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e)}',
            'case "$ends_at" in',
            f"    '' | *[!0-9]*) ends_at=$(($(date +%s) + {size.time_min * 60})) ;;",
            "esac",
            f'exec {command} --name "{config.name}-$SLURM_JOB_ID" --job "$SLURM_JOB_ID" --ends-at "$ends_at"',
            "",
        ]
    )


def policy_problem(kind: JobKind, job: SlurmJob) -> Problem | None:
    """A problem where the cluster's policy has made another job of a job that asked for something else."""
    if kind.partition and job.partition not in kind.partition.split(","):
        words = (
            f"The cluster has put job {job.id} into the partition {job.partition}, and {kind.partition} was asked for."
        )
        return Problem(queue=kind.queue, kind=kind.name, setting="partition", detail=words)
    limit_s = job.time_limit_s
    if job.asked is not None and limit_s is not None and limit_s < job.asked.time_min * 60:
        words = f"The cluster has cut job {job.id} to {limit_s // 60} minutes, and {job.asked.time_min} were asked for."
        return Problem(queue=kind.queue, kind=kind.name, setting="max_time_min", detail=words)
    memory_mib = 0 if job.asked is None else job.asked.memory_mib + kind.memory_overhead_mib
    if 0 < job.memory_mib < memory_mib:
        words = f"The cluster has cut job {job.id} to {job.memory_mib} MiB of memory, and {memory_mib} were asked for."
        return Problem(queue=kind.queue, kind=kind.name, setting="max_memory_mib", detail=words)
    return None


def waiting_problem(kind: JobKind, job: SlurmJob) -> Problem | None:
    """A problem where a pending job will not start by waiting; None where it waits its turn."""
    if not job.is_pending or job.reason in PATIENT or job.reason.startswith(("ReqNodeNotAvail", "Nodes required")):
        return None
    setting = setting_for(job.reason)
    words = f"Job {job.id} waits, and Slurm says: {job.reason}."
    return Problem(queue=kind.queue, kind=kind.name, setting=setting, detail=words) if setting else None


def parse_time_limit(text: str) -> int | None:
    """Seconds of `days-hours:minutes:seconds`; None for no limit.

    >>> parse_time_limit("1-02:00:00"), parse_time_limit("2:00"), parse_time_limit("UNLIMITED")
    (93600, 120, None)
    """
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days.isdecimal()):
        return None
    seconds = 0
    for part in parts:
        seconds = 60 * seconds + int(part)
    return seconds + int(days or 0) * 86_400


def parse_memory(text: str) -> int:
    """MiB of `100M` or `1.50G`; 0 for what is not said.

    >>> parse_memory("100M"), parse_memory("1.50G"), parse_memory("0")
    (100, 1536, 0)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)[cn]?", text)
    if match is None:
        return 0
    return math.floor(float(match[1]) * MIB_OF[match[2]])


def parse_gpus(text: str) -> int:
    """GPUs of `gres:gpu:a100:2`.

    >>> parse_gpus("gres:gpu:a100:2"), parse_gpus("gres:gpu:1"), parse_gpus("N/A"), parse_gpus("gres:gpu")
    (2, 1, 0, 1)
    """
    count = 0
    for part in text.split(","):
        words = part.removeprefix("gres:").removeprefix("gres/").split(":")
        if words[0] == "gpu":
            count += int(words[-1]) if words[-1].isdecimal() else 1
    return min(count, 1000)


def parse_instant(text: str) -> float | None:
    """Seconds since 1970; None for `N/A`."""
    return float(text) if text.isdecimal() and len(text) <= 10 else None


def parse_comment(text: str) -> Size | None:
    """The size that a job was submitted with."""
    match = re.fullmatch(r"podium ([0-9]{1,7}) ([0-9]{1,9})", text)
    return Size(int(match[1]), int(match[2])) if match else None
