"""A real cluster of Slurm on this machine: munge, accounting, controller, four nodes, launcher."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tests.cluster.accounting import Accounting
from tests.faults.cluster import Cluster
from tests.faults.parts import Part, free_port
from tests.faults.proxy import Proxy
from tests.waiting import wait_for

NODES = ("node0", "node1", "node2", "node3")
CONFIG = """
ClusterName=lab
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=20
SlurmdTimeout=10
BatchStartTimeout=2
MinJobAge=300
JobSubmitPlugins=lua
SchedulerParameters=sched_interval=2,batch_sched_delay=1,sched_min_interval=100000
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=180 PriorityTier=1
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF
"""
NODE = "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=8000 Gres=gpu:2"
GPUS = "Name=gpu File=/dev/zero\nName=gpu File=/dev/null\n"  # any two device files will do
POLICY = """
function slurm_job_submit(job, partition, user)
    if job.account == "short" then job.time_limit = 2 end
    return slurm.SUCCESS
end
function slurm_job_modify(job, before, partition, user) return slurm.SUCCESS end
"""


class Slurm:
    """Controller and nodes, as processes of their own with a folder of their own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="podium-slurm-"))  # a socket's path must be short
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        nodes = "\n".join(NODE.format(name=name, port=free_port()) for name in NODES)
        config = CONFIG.format(folder=self.folder, controller_port=free_port(), nodes=nodes)
        self.environment = dict(os.environ) | {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._accounting = Accounting(self.folder, self.environment)
        (self.folder / "slurm.conf").write_text(config + self._accounting.configuration)
        (self.folder / "gres.conf").write_text(GPUS)
        (self.folder / "job_submit.lua").write_text(POLICY)
        self._munge = self._munge_part()
        self.controller = self._part("controller", "slurmctld", "-D")
        self.nodes = {name: self._part(name, "slurmd", "-D", "-N", name) for name in NODES}

    def _part(self, name: str, *argv: str) -> Part:
        return Part(f"{name}-output", self.folder, list(argv), self.environment)

    def _munge_part(self) -> Part:
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        (folder / "key").write_bytes(secrets.token_bytes(1024))
        (folder / "key").chmod(0o400)
        for path in (folder, folder / "key"):
            shutil.chown(path, "munge", "munge")
        options = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        argv = ["setpriv", "--reuid=munge", "--regid=munge", "--init-groups", "munged", "--foreground"]
        argv += [f"--{option}={folder}/{name}" for option, name in options.items()]
        return Part("munge", self.folder, argv, self.environment)

    def start(self) -> None:
        """Start all of it, and wait until all nodes are idle."""
        self._munge.start()
        wait_for((self.folder / "munge" / "socket").exists, 120, "munge answers", 0.05)
        self._accounting.start()
        self.controller.start()
        for node in self.nodes.values():
            node.start()
        self.wait_for_nodes()

    def wait_for_nodes(self) -> None:
        """Wait until each node takes jobs."""

        def ready() -> bool:
            done = self.call("sinfo", "--noheader", "--Node", "--partition=batch", "--format=%T")
            return [line for line in done.split() if line in ("idle", "mixed", "allocated")] == done.split() != []

        wait_for(ready, 120, lambda: f"all nodes are ready: {self.call('sinfo')}", 0.2)

    def empty(self) -> None:
        """Cancel all jobs, and free nodes that wait for word of a job, or were drained."""
        self.call("scancel", "--user=root")
        until = time.monotonic() + 15
        while self.call("squeue", "--noheader") and time.monotonic() < until:
            time.sleep(0.2)
        if self.call("squeue", "--noheader"):
            for state in ("DOWN", "RESUME"):
                self.call("scontrol", "update", f"NodeName={','.join(NODES)}", f"State={state}", "Reason=test")
        wait_for(
            lambda: not self.call("squeue", "--noheader"), 30, lambda: f"no job is left: {self.call('squeue')}", 0.2
        )

    def call(self, *argv: str, stdin: str = "") -> str:
        """The output of one of Slurm's commands; empty while it does not answer."""
        done = subprocess.run(
            argv, env=self.environment, input=stdin, capture_output=True, text=True, check=False, timeout=60
        )
        return done.stdout if done.returncode == 0 else ""

    def submit(self, script: str, *options: str) -> str:
        """Submit a job of somebody else; its id."""
        return self.call("sbatch", "--parsable", "--output=/dev/null", *options, stdin=f"#!/bin/sh\n{script}\n").strip()

    def jobs(self, *states: str) -> dict[str, str]:
        """Podium's jobs that are in one of these states (alive without any), by id: their names."""
        chosen = (
            f"--states={','.join(states)}" if states else "--states=PENDING,CONFIGURING,RUNNING,COMPLETING,SUSPENDED"
        )
        text = self.call("squeue", "--noheader", chosen, "--format=%i|%j")
        rows = [line.split("|") for line in text.splitlines()]
        return {job: name for job, name in rows if name.startswith("podium-")}

    def job_node(self, job: str) -> str:
        """The node that a job runs on."""
        return self.call("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip()

    def stop_controller(self) -> None:
        """End the controller as its administrator would; killed, it may give ids of jobs again."""
        self.controller.end(30)

    def kill_node(self, name: str) -> None:
        """SIGKILL to a node's daemon and to all that runs on it; its containers go on in their engine."""
        self.nodes[name].kill()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                environment = process.environ()
                is_ours = environment.get("SLURM_CONF") == self.environment["SLURM_CONF"]
                if is_ours and environment.get("SLURMD_NODENAME") == name:
                    parent = process.parent()
                    if parent is not None and parent.name().startswith("slurmstepd"):
                        parent.kill()
                    process.kill()

    def stop(self) -> None:
        """End all of it, jobs too."""
        with contextlib.suppress(AssertionError):
            self.empty()
        for part in (*self.nodes.values(), self.controller):
            part.end()
        self._accounting.stop()
        self._munge.end()
        shutil.rmtree(self.folder, ignore_errors=True)


LAUNCHER = """
site = "{site}"
token_file = "{folder}/launcher-token"
name = "lab"
poll_s = 1
log_dir = "{folder}/logs"

[worker]
command = "{folder}/podium-worker"
data_dir = "{folder}/nodes"
options = ["--gpus", "none", "--reserve-gib", "0", "--engine", "{engine}", "--self-test", "never", "--broker", "{broker}"]
"""
IDLE_S = 6  # more than a worker holds a run ahead, which the next one waits for
KIND = """
[[jobs]]
name = "{name}"
queue = "{queue}"
queue_token_file = "{token_file}"
maximum = {maximum}
idle_s = {idle_s}
drain_s = 2
min_time_min = 1
max_time_min = 60
max_memory_mib = 1000
memory_overhead_mib = 100
{settings}
"""


class ClusterSite(Cluster):
    """A site whose only workers are jobs of Slurm."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.slurm = Slurm()
        self.hosts, self.proxies = [], []
        (folder / "logs").mkdir()

    def start(self) -> None:
        """Start the site and the cluster, and make a launcher; it is not started."""
        from competitions.compute.models import Launcher, issue_token

        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(self.slurm.start)
            self.start_site()
            starting.result()
        self.proxies = [Proxy(self.url)]
        self.phase.time_limit_s, self.phase.scoring_time_limit_s = 300, 60
        self.phase.save()
        self.launcher_row = Launcher.objects.create(name="lab")
        self.launcher_row.queues.add(self.queue)
        (self.folder / "launcher-token").write_text(issue_token(self.launcher_row))
        worker = self.folder / "podium-worker"
        repository = Path(__file__).parents[2]
        worker.write_text(f'#!/bin/sh\ncd {repository} && exec {sys.executable} -m workers.cli "$@"\n')
        worker.chmod(0o755)
        self.configure()
        self.launchers: list[Part] = []

    def configure(self, *, maximum: int = 4, kinds: Mapping[str, str] | None = None) -> None:
        """Write the launcher's file: kinds of jobs by name, each with what it has beside the usual settings."""
        text = LAUNCHER.format(
            site=self.proxies[0].url, folder=self.folder, engine=self.engine.url, broker=self.broker.url
        )
        for name, more in (kinds or {"cpu": ""}).items():
            settings = more if "partition" in more else f'partition = "batch"\n{more}'
            text += KIND.format(
                name=name,
                queue=self.queue.name,
                token_file=self.token_file,
                maximum=maximum,
                settings=settings,
                idle_s=IDLE_S,
            )
        (self.folder / "launcher.toml").write_text(text)

    def launch(self) -> Part:
        """Start one more launcher."""
        argv = [sys.executable, "-m", "workers.cli", "launch", "slurm", "--config", str(self.folder / "launcher.toml")]
        part = Part(f"launcher-{len(self.launchers)}", self.folder, argv, self.slurm.environment)
        part.start()
        self.launchers.append(part)
        return part

    def stop_launchers(self) -> None:
        """SIGKILL to all of them."""
        for part in self.launchers:
            part.kill()

    def problems(self) -> dict[str, dict[str, str]]:
        """Problems that the launcher tells the site, by kind of jobs."""
        self.launcher_row.refresh_from_db()
        return {problem["kind"]: problem for problem in self.launcher_row.problems}

    def running_job(self, runs: dict[uuid.UUID, float]) -> tuple[uuid.UUID, str]:
        """One of the runs whose program runs, and the job that its worker is."""
        from competitions.runs.models import Run

        def found() -> tuple[uuid.UUID, str] | None:
            held = Run.objects.filter(pk__in=runs, state="ingesting")
            return held.values_list("pk", "worker__job").first()

        run, job = wait_for(found, 120, lambda: f"a run runs; {self.described(runs)}", 0.05)
        return run, job

    def held_jobs(self, runs: dict[uuid.UUID, float], count: int) -> dict[uuid.UUID, str]:
        """The jobs of the workers that run these runs, once there are so many; else nothing."""
        from competitions.runs.models import Run

        held = Run.objects.filter(pk__in=runs, state="ingesting").exclude(worker=None)
        jobs = dict(held.values_list("pk", "worker__job"))
        return jobs if len(jobs) == count else {}

    def notes(self, run: uuid.UUID) -> list[str]:
        """The history of a run."""
        from competitions.runs.models import RunEvent

        return list(RunEvent.objects.filter(run=run).order_by("pk").values_list("note", flat=True))

    def history(self, run: uuid.UUID) -> str:
        """The events of a run and the ends of its attempts, for the message of a failure."""
        from competitions.runs.models import Attempt, RunEvent

        events = RunEvent.objects.filter(run=run).values_list("at", "actor", "target", "note")
        lines = [f"{at:%H:%M:%S.%f} {actor}: {target} {note}" for at, actor, target, note in events]
        ends = Attempt.objects.filter(run=run).values_list("detail", flat=True)
        return "\n".join([f"run {run}", *lines, *ends])

    def described(self, runs: dict[uuid.UUID, float]) -> str:
        """For the message of a failure."""
        logs = "\n".join(part.text()[-2000:] for part in self.launchers[-2:])
        jobs = "\n".join(path.read_text()[-1500:] for path in sorted((self.folder / "logs").glob("*.log"))[-3:])
        queue = self.slurm.call("squeue", "--states=all")
        return f"they are {self.states(runs)}\nlaunchers: {logs}\njobs: {jobs}\n{queue}\nweb: {self.web.text()[-1500:]}"

    def wait_for_no_jobs(self) -> None:
        """Wait until every node is released."""
        wait_for(
            lambda: not self.slurm.jobs("RUNNING", "CONFIGURING", "COMPLETING"),
            60,
            lambda: f"no job is left: {self.slurm.call('squeue')}",
            0.1,
        )

    def leftovers(self) -> list[str]:
        """Everything on engine and nodes that should be gone."""
        return [*self.engine.leftovers(), *(str(path) for path in (self.folder / "nodes").glob("job-*"))]

    def whole(self) -> None:
        """Site, cluster and launcher are there again, and nothing is left of the last test."""
        self.proxies[0].mode = ""
        self.stop_launchers()
        self.launchers = []
        if not self.slurm.controller.is_alive():
            self.slurm.controller.start()
        for node in self.slurm.nodes.values():
            if not node.is_alive():
                node.start()
        self.slurm.wait_for_nodes()
        self.configure()

    def stop(self) -> None:
        """End everything."""
        self.stop_launchers()
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(self.slurm.stop)
            super().stop()
            stopping.result()


def elapsed(since: float) -> float:
    """Seconds since a moment of the monotonic clock."""
    return time.monotonic() - since
