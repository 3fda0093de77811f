"""`podium-worker`: run a compute worker, or test what this host can contain."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import structlog

from workers import __version__
from workers.agent.allocation import Allocation
from workers.agent.config import (
    DEFAULT_IMAGE,
    ISOLATIONS,
    PREFIX,
    ROLES,
    SELF_TESTS,
    Config,
    ConfigError,
    checked_choice,
    checked_end,
    checked_image,
    checked_job,
    checked_name,
    checked_number,
    checked_site,
    from_environment,
    read_token,
)
from workers.agent.host.gpus import GpuError
from workers.agent.runs.logs import set_up_logging
from workers.agent.site.client import SiteError
from workers.errors import SandboxError

log = structlog.get_logger(__name__)

TRUE_WORDS = ("1", "true", "yes", "on")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(prog="podium-worker", description=__doc__)
    top.add_argument("--version", action="version", version=f"podium-worker {__version__}")
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser(
        "run", help="claim and execute runs", epilog=f"Each option can also be set as {PREFIX}<OPTION>, in capitals."
    )
    run.add_argument("--site", help="address of the Podium site")
    run.add_argument("--token-file", help="file that holds the queue token")
    run.add_argument("--data-dir", help="folder of this worker alone: cache, running runs")
    run.add_argument("--broker", help="broker to be woken by: redis://... or filesystem:///folder (default: poll)")
    run.add_argument("--name", help="name on the site's worker page (default: the host's name)")
    run.add_argument("--slots", help="runs at a time (default: one for each GPU, at least one)")
    run.add_argument("--gpus", help="auto, none, or UUIDs separated by commas (default: auto)")
    run.add_argument("--engine", help="address of the container engine (default: as the docker command)")
    run.add_argument("--ca-file", help="certificates that the site's TLS certificate is checked against")
    run.add_argument("--cache-gib", help="size of the cache of input files (default: 20)")
    run.add_argument("--reserve-gib", help="free disk space below which nothing is claimed (default: 2)")
    run.add_argument("--own-images-gib", help="room for images that teams bring (default: 100)")
    run.add_argument("--own-images-days", help="days after which one without use is removed (default: 14)")
    run.add_argument("--allow-network", action="store_true", help="let phases that ask for it have network")
    run.add_argument("--require-quota", action="store_true", help="refuse to start without real output quotas")
    run.add_argument("--allow-http", action="store_true", help="let the site be plain HTTP on another host")
    run.add_argument("--runtime", help="the engine's runtime for containers, such as runsc (default: the engine's own)")
    run.add_argument("--require-isolation", help="refuse to start without: none, userns, gvisor (default: none)")
    run.add_argument(
        "--role", help="both, ingestion (never sees reference data) or scoring (never runs participants' code)"
    )
    run.add_argument(
        "--self-test", help="try before registering whether the limits hold: once, always, never (default: once)"
    )
    run.add_argument("--self-test-image", help=f"image with python3 for it (default: {DEFAULT_IMAGE})")
    run.add_argument(
        "--sweep-s", help="seconds between two rounds of removing what no live lease stands behind (default: 30)"
    )
    run.add_argument("--until-idle", help="end after so many seconds without a run (default: stay)")
    run.add_argument("--max-runs", help="end after so many runs (default: as many as there are)")
    run.add_argument("--job", help="id of the cluster's job that this worker is: its runs are handed back when it ends")
    run.add_argument("--ends-at", help="end of that job, in seconds since 1970: no run is begun that does not fit")
    run.add_argument("--memory-mib", help="memory that one run may use: no larger one is claimed (default: no bound)")
    run.add_argument("--drain-s", help="seconds before the end at which runs are handed back (default: 120)")
    test = commands.add_parser("self-test", help="run hostile programs and say which limits hold on this host")
    test.add_argument("--image", help="image with python3 to test with (default: " + DEFAULT_IMAGE + ")")
    test.add_argument("--data-dir", help="folder to work in")
    test.add_argument("--engine", help="address of the container engine")
    launch = commands.add_parser("launch", help="keep enough workers in a cluster for the runs that wait")
    clusters = launch.add_subparsers(dest="cluster", required=True)
    slurm = clusters.add_parser("slurm", help="a job of Slurm for each worker")
    slurm.add_argument("--config", required=True, help="the launcher's file, as docs/clusters.md describes it")
    slurm.add_argument("--once", action="store_true", help="look once at what waits, then end")
    measure = commands.add_parser("calibrate", help="time a fixed load on this host, for its record on the site")
    measure.add_argument("--image", help=f"image with python3 (default: {DEFAULT_IMAGE})")
    measure.add_argument("--gpus", help="auto, none, or UUIDs separated by commas (default: auto)")
    measure.add_argument("--gpu-image", help="image with python3 for the GPUs (default: the same)")
    measure.add_argument("--data-dir", help="the worker's folder, where the result is kept")
    measure.add_argument("--engine", help="address of the container engine")
    return top


def config_from(chosen: argparse.Namespace) -> Config:
    """The settings, the command line before the environment. Raises `ConfigError`."""

    def setting(option: str) -> str | None:
        value = getattr(chosen, option.replace("-", "_"))
        return value if value is not None else from_environment(option)

    def switch(option: str) -> bool:
        value = from_environment(option) or ""
        return bool(getattr(chosen, option.replace("-", "_"))) or value.lower() in TRUE_WORDS

    data_dir = setting("data-dir")
    if not data_dir:
        raise ConfigError(f"--data-dir (or {PREFIX}DATA_DIR) must name a folder for this worker")
    return Config(
        site=checked_site(setting("site"), allow_http=switch("allow-http")),
        token=read_token(setting("token-file")),
        data_dir=Path(data_dir),
        name=checked_name(setting("name")),
        broker=setting("broker") or "",
        slots=checked_number("slots", setting("slots"), 0, low=0, high=256),
        gpus=setting("gpus") or "auto",
        engine=setting("engine") or "",
        ca_file=setting("ca-file") or "",
        cache_bytes=checked_number("cache-gib", setting("cache-gib"), 20, low=1, high=1 << 20) << 30,
        reserve_bytes=checked_number("reserve-gib", setting("reserve-gib"), 2, low=0, high=1 << 20) << 30,
        own_image_bytes=checked_number("own-images-gib", setting("own-images-gib"), 100, low=1, high=1 << 20) << 30,
        own_image_days=checked_number("own-images-days", setting("own-images-days"), 14, low=1, high=3650),
        allow_network=switch("allow-network"),
        require_quota=switch("require-quota"),
        runtime=setting("runtime") or "",
        require_isolation=checked_choice("require-isolation", setting("require-isolation"), ISOLATIONS),
        role=checked_choice("role", setting("role"), ROLES),
        self_test=checked_choice("self-test", setting("self-test"), SELF_TESTS),
        self_test_image=checked_image("self-test-image", setting("self-test-image")),
        sweep_s=checked_number("sweep-s", setting("sweep-s"), 30, low=1, high=3600),
        until_idle_s=checked_number("until-idle", setting("until-idle"), 0, low=0, high=1 << 20),
        max_runs=checked_number("max-runs", setting("max-runs"), 0, low=0, high=1 << 20),
        allocation=allocation_from(setting),
    )


def allocation_from(setting: Callable[[str], str | None]) -> Allocation:
    """The job of a cluster that the worker is, by its settings. Raises `ConfigError`."""
    memory_mib = checked_number("memory-mib", setting("memory-mib"), 0, low=0, high=1 << 30)
    return Allocation(
        job=checked_job(setting("job")),
        ends_at=checked_end(setting("ends-at")),
        memory_bytes=memory_mib << 20 if memory_mib else None,
        drain_s=checked_number("drain-s", setting("drain-s"), 120, low=1, high=3600),
    )


def run_worker(chosen: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    from workers.agent.service import Service, build_worker

    set_up_logging()
    config = config_from(chosen)
    worker, gpus = build_worker(config)
    service = Service(config, worker, gpus)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.stop())
    service.run()
    return 0


def run_self_test(chosen: argparse.Namespace) -> int:
    """Print one line per limit; 1 when one does not hold."""
    from workers.selftest import self_test

    data_dir = chosen.data_dir or from_environment("data-dir")
    return self_test(
        image=checked_image("image", chosen.image),
        data_dir=Path(data_dir) if data_dir else None,
        engine=chosen.engine or from_environment("engine"),
    )


def run_calibration(chosen: argparse.Namespace) -> int:
    """Print the figures as JSON and keep them for the next registration.

    The worker must be stopped: it would be measured, too.
    """
    from workers.agent.service import lock_folder
    from workers.calibration import calibrate

    data_dir = chosen.data_dir or from_environment("data-dir")
    if not data_dir:
        raise ConfigError(f"--data-dir (or {PREFIX}DATA_DIR) must name the worker's folder")
    folder = Path(data_dir).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder, wait_s=0):
        result = calibrate(
            image=checked_image("image", chosen.image),
            data_dir=folder,
            engine=chosen.engine or from_environment("engine"),
            gpus=chosen.gpus or "auto",
            gpu_image=checked_image("gpu-image", chosen.gpu_image) if chosen.gpu_image else "",
        )
    print(json.dumps(result, indent=2))
    return 0


def run_launcher(chosen: argparse.Namespace) -> int:
    """Keep a cluster's jobs in line with what waits, until SIGTERM or SIGINT; the jobs stay."""
    from workers.launchers.config import read_config
    from workers.launchers.service import Launcher, LauncherSite
    from workers.launchers.slurm import Slurm

    set_up_logging()
    config = read_config(chosen.config)
    if config.log_dir:
        make_log_folder(Path(config.log_dir))
    launcher = Launcher(config, LauncherSite(config.site, config.token, verify=config.ca_file or True), Slurm(config))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: launcher.stopping.set())
    if chosen.once:
        return 0 if launcher.once() else 1
    launcher.run()
    return 0


def make_log_folder(folder: Path) -> None:
    """Make the folder for the logs of jobs: without it Slurm ends each as it begins.

    Raises `ConfigError`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"'log_dir' must be a folder that can be made, and {folder} cannot: {error.strerror}"
        ) from error


COMMANDS = {"launch": run_launcher, "run": run_worker, "self-test": run_self_test, "calibrate": run_calibration}


def run_command(chosen: argparse.Namespace) -> int:
    """Execute a command. 0: stopped in good order; 1: a limit does not hold, or no start; 2: wrong use."""
    try:
        return COMMANDS[chosen.command](chosen)
    except ConfigError as error:
        print(f"podium-worker: {error}", file=sys.stderr)
        return 2
    except (SandboxError, SiteError, GpuError) as error:
        print(f"podium-worker: {error}", file=sys.stderr)
        return 1


def _run_and_leave(chosen: argparse.Namespace) -> NoReturn:
    """Execute `run` and end the process at once.

    The interpreter would join threads that wait for containers of adopted runs. The next process adopts those.
    """
    status = 1
    try:
        status = run_command(chosen)
    except Exception:
        log.exception("worker_failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status, as `run_command` says it; `run` does not return."""
    chosen = parser().parse_args(argv)
    if chosen.command == "run":
        _run_and_leave(chosen)
    return run_command(chosen)


if __name__ == "__main__":
    raise SystemExit(main())
