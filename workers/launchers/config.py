"""The launcher's file: the site, the worker's command, and kinds of jobs with their place in Slurm."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Final, TypeVar

from workers.agent.config import ConfigError, checked_site, read_token
from workers.protocol.hosts import Isolation

NAME: Final = re.compile(r"\A[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?\Z")
QUEUE: Final = re.compile(r"\A[a-z0-9][a-z0-9-]{0,62}\Z")
PLAIN: Final = re.compile(r"\A[A-Za-z0-9_.,:@%+/&|*()\[\]=-]*\Z")  # names of Slurm, and expressions over them
T = TypeVar("T")


@dataclass(frozen=True)
class WorkerCommand:
    """The command by which a job starts its worker.

    `setup` are lines of shell before it, such as `module load podman`.
    """

    command: str
    data_dir: str
    options: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()


@dataclass(frozen=True)
class JobKind:
    """One kind of jobs: the runs that it is for, its place in the cluster, and how many there may be."""

    name: str
    queue: str
    queue_token_file: str
    gpus: int = 0
    isolations: tuple[str, ...] = (Isolation.STANDARD.value,)
    partition: str = ""
    account: str = ""
    qos: str = ""
    gres: str = ""
    constraint: str = ""
    options: tuple[str, ...] = ()
    cpus: int = 1
    minimum: int = 0
    maximum: int = 4
    idle_s: int = 60
    drain_s: int = 120
    min_time_min: int = 60
    max_time_min: int = 1440
    max_memory_mib: int = 16384
    memory_overhead_mib: int = 1024


@dataclass(frozen=True)
class LauncherConfig:
    """The file as a whole."""

    site: str
    token: str
    name: str
    worker: WorkerCommand
    kinds: tuple[JobKind, ...]
    poll_s: int = 15
    log_dir: str = ""
    ca_file: str = ""
    allow_http: bool = False


BOUNDS: Final = {  # of whole numbers
    "poll_s": (1, 3600),
    "gpus": (0, 16),
    "cpus": (1, 1024),
    "minimum": (0, 1000),
    "maximum": (1, 1000),
    "idle_s": (1, 86_400),
    "drain_s": (1, 3600),
    "min_time_min": (1, 100_000),
    "max_time_min": (1, 100_000),
    "max_memory_mib": (64, 1 << 26),
    "memory_overhead_mib": (0, 1 << 20),
}


def read_config(path: str) -> LauncherConfig:
    """Read the launcher's file. Raises `ConfigError` that names the setting, and a right value."""
    try:
        with Path(path).open("rb") as stream:
            table = tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"the launcher's file {path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the launcher's file {path} is not TOML: {error}") from error
    return config_from_table(table)


def config_from_table(table: Mapping[str, object]) -> LauncherConfig:
    """The settings of a file that was read. Raises `ConfigError`."""
    known = {"site", "token_file", "name", "worker", "jobs", "poll_s", "log_dir", "ca_file", "allow_http"}
    _refuse_unknown(table, known, "")
    kinds = table.get("jobs")
    if not isinstance(kinds, list) or not kinds:
        raise ConfigError("'jobs' must be one table or more, each headed [[jobs]]")
    config = LauncherConfig(
        site=checked_site(_text(table, "site", ""), allow_http=bool(table.get("allow_http", False))),
        token=read_token(_text(table, "token_file", "")),
        name=_name(table, ""),
        worker=_read(WorkerCommand, _table(table.get("worker"), "worker"), "worker."),
        kinds=tuple(_kind(_table(kind, f"jobs[{n}]"), f"jobs[{n}].") for n, kind in enumerate(kinds)),
        poll_s=_number(table, "poll_s", "", 15),
        log_dir=_absolute(_text(table, "log_dir", ""), "log_dir") if table.get("log_dir") else "",
        ca_file=_text(table, "ca_file", "") if table.get("ca_file") else "",
        allow_http=bool(table.get("allow_http", False)),
    )
    _absolute(config.worker.data_dir, "worker.data_dir")
    names = [kind.name for kind in config.kinds]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ConfigError(f"'jobs[].name' must be different for each kind of jobs; {', '.join(doubled)} stands twice")
    return config


def _kind(table: Mapping[str, object], where: str) -> JobKind:
    kind = _read(JobKind, table, where)
    _name(table, where)
    if not QUEUE.match(kind.queue):
        raise ConfigError(f"'{where}queue' must be the name of a queue of the site, such as gpu, not {kind.queue!r}")
    for setting in ("partition", "account", "qos", "gres", "constraint"):
        value = getattr(kind, setting)
        if not PLAIN.match(value):
            raise ConfigError(f"'{where}{setting}' must be a name as Slurm has it, without blanks, not {value!r}")
    if not kind.isolations or set(kind.isolations) - set(Isolation):
        raise ConfigError(
            f"'{where}isolations' must be a list of some of {', '.join(Isolation)}, not {list(kind.isolations)}"
        )
    for low, high in (("minimum", "maximum"), ("min_time_min", "max_time_min")):
        if getattr(kind, low) > getattr(kind, high):
            raise ConfigError(f"'{where}{low}' is {getattr(kind, low)}, more than '{where}{high}'")
    _absolute(kind.queue_token_file, f"{where}queue_token_file")
    return kind


def _read(model: type[T], table: Mapping[str, object], where: str) -> T:
    """A table as a dataclass of texts, numbers and lists of texts."""
    known = {field.name: field for field in fields(model)}  # type: ignore[arg-type]  # each of them is a dataclass
    _refuse_unknown(table, set(known), where)
    values: dict[str, object] = {}
    for name, field in known.items():
        if name not in table and field.default is not MISSING:
            continue
        if name in BOUNDS:
            values[name] = _number(table, name, where, 0)
        elif isinstance(field.default, tuple):
            values[name] = _texts(table[name], where + name)
        else:
            values[name] = _text(table, name, where)
    return model(**values)


def _refuse_unknown(table: Mapping[str, object], known: set[str], where: str) -> None:
    if unknown := sorted(set(table) - known):
        raise ConfigError(f"'{where}{unknown[0]}' is not a setting; there are {', '.join(sorted(known))}")


def _table(value: object, where: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ConfigError(f"'{where}' must be a table with settings")
    return value


def _text(table: Mapping[str, object], name: str, where: str) -> str:
    value = table.get(name)
    if not isinstance(value, str) or not value.isprintable():
        raise ConfigError(f"'{where}{name}' must be a text of one line, not {value!r}")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.isprintable() for each in value):
        raise ConfigError(f"'{where}' must be a list of texts of one line, such as [\"--exclusive\"], not {value!r}")
    return tuple(value)


def _number(table: Mapping[str, object], name: str, where: str, default: int) -> int:
    value, (low, high) = table.get(name, default), BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"'{where}{name}' must be a whole number from {low} to {high}, not {value!r}")
    return value


def _name(table: Mapping[str, object], where: str) -> str:
    value = _text(table, "name", where)
    if not NAME.match(value):
        words = "lower-case letters, digits and hyphens, at most 30"
        raise ConfigError(f"'{where}name' must be {words}, such as gpu, not {value!r}")
    return value


def _absolute(value: str, where: str) -> str:
    if not value.startswith("/"):
        raise ConfigError(f"'{where}' must be a path from / on, not {value!r}")
    return value
