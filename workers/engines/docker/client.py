"""The Docker Engine, as far as a sandbox needs it. Its errors become `SandboxError`.

Nothing here knows about runs. `workers.engines.podman` shares what Podman's interface for Docker's clients keeps.
"""

import contextlib
import hashlib
import itertools
import json
import os
import re
import tarfile
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal, cast
from urllib.parse import quote

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.utils import kwargs_from_env
from urllib3.exceptions import HTTPError, ReadTimeoutError

import docker
from workers.engines.base import ContainerState, EngineFacts, Usage, never
from workers.engines.cgroup import SLACK_BYTES, Cgroup, group_names, host_oom_kills
from workers.engines.docker.config import container_config, seccomp_profile
from workers.engines.faults import is_of_host
from workers.engines.images import ImageFacts, hook_variables, unsuitable
from workers.engines.spec import StageSpec
from workers.errors import STOPPED, SandboxError
from workers.protocol.jobs import PullPolicy

CALL_TIMEOUT_S = 60
WAIT_ROUND_S = 30  # a wait is asked again this often: one that the engine forgot is not waited for for ever
PULL_TIMEOUT_S = 3600
LOAD_TIMEOUT_S = 3600
KILLED = 137  # the exit code after SIGKILL
SHELL = "/bin/sh"


@contextmanager
def engine_errors(doing: str, *, besides: Collection[int] = ()) -> Iterator[None]:
    """Turn what the Docker SDK raises into `SandboxError` with a stable code; pass over these statuses."""
    try:
        yield
    except APIError as error:
        if error.status_code in besides:
            return
        kinds = {ImageNotFound: "image_missing", NotFound: "container_missing"}
        code = next((code for kind, code in kinds.items() if isinstance(error, kind)), "engine_error")
        raise SandboxError(code, f"{doing}: {error.explanation or error}") from error
    except (DockerException, requests.RequestException, HTTPError, OSError) as error:
        raise SandboxError("engine_unreachable", f"{doing}: {error}") from error


def _pull_error(image: str, why: object, status: int | None = None) -> SandboxError:
    """`why` in the registry's or the engine's own words, `status` the engine's.

    The engine answers 404 where a registry denies the repository; a missing tag or digest only shows in the words that the
    distribution specification gives registries for it.
    """
    is_unknown = status == 404 or any(words in str(why).lower() for words in ("manifest unknown", "name unknown"))
    code = "image_unknown" if is_unknown else "image_pull_failed"
    return SandboxError(code, f"the image {image} could not be pulled to this worker: {why}")


def _load_refusal(status: int, text: str) -> str | None:
    """The engine's words on why it did not take an image; None when it did.

    Each line of the answer is an object of JSON.
    """
    for line in text.splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            answer = json.loads(line)
            words = answer.get("error") or (answer.get("message") if status != 200 else None)
            if words:
                return str(words)
    return None if status == 200 else text or f"status {status}"


class DockerEngine:
    """One engine behind its socket. Safe to share between threads."""

    def __init__(self, base_url: str | None = None) -> None:
        with engine_errors("connecting to the engine"):
            arguments = kwargs_from_env()
            if base_url:
                arguments["base_url"] = base_url
            self.api = docker.APIClient(version="auto", timeout=CALL_TIMEOUT_S, **arguments)
            # No proxy stands before a socket of this host; looking for one anew cost each call a tenth of its time.
            self._with_shell: dict[str, bool] = {}  # by digest
            self._facts: EngineFacts | None = None
            self._oom_kills_before: dict[str, int] = {}  # by group: the host's count when its container was prepared
            self.api.trust_env = not self.api.base_url.startswith("http+docker://")

    def facts(self) -> EngineFacts:
        """Ask the engine about itself."""
        with engine_errors("asking the engine about itself"):
            info = self.api.info()
        user_namespaces = any("name=userns" in option for option in info.get("SecurityOptions") or [])
        self._facts = EngineFacts(
            name="Docker Engine",
            version=str(info.get("ServerVersion", "")),
            cgroup_version=f"v{info.get('CgroupVersion', '1')}",
            cgroup_driver=str(info.get("CgroupDriver", "")),
            operating_system=str(info.get("OperatingSystem", "")),
            kernel=str(info.get("KernelVersion", "")),
            storage_driver=str(info.get("Driver", "")),
            user_namespaces=user_namespaces,
            user_offset=user_offset(str(info.get("DockerRootDir", ""))) if user_namespaces else 0,
            runtimes=tuple(sorted(info.get("Runtimes") or {})),
            filter_digest=filter_digest(),
            root=str(info.get("DockerRootDir", "")),
        )
        return self._facts

    def version(self) -> dict[str, Any]:
        """The engine's answer to the question for its version."""
        with engine_errors("asking the engine for its version"):
            answer: dict[str, Any] = self.api.version()
            return answer

    def ping(self) -> None:
        """Raise `SandboxError` unless the engine answers."""
        with engine_errors("asking the engine whether it is there"):
            self.api.ping()

    def find_image(self, image: str) -> ImageFacts | None:
        """See `Engine`."""
        try:
            return self._inspect_image(image)
        except SandboxError as error:
            if error.code != "image_missing":
                raise
            return None

    def image_entries(self, image: str, at_most: int) -> int | None:
        """See `Engine`."""
        with engine_errors(f"looking for the image {image}"):
            layers = layer_folders(self.api.inspect_image(image))  # type: ignore[no-untyped-call]  # absent in the stubs
        if not layers or not all(os.path.isdir(layer) for layer in layers):  # noqa: PTH112  False also where it may not look
            return self._entries_of_archive(image, at_most)
        try:
            return sum(1 for _ in itertools.islice(_entries_below(layers), at_most + 1))
        except PermissionError:  # without root, some folders of an image are another user's
            return self._entries_of_archive(image, at_most)
        except OSError:  # such as a path that is longer than the kernel takes
            return at_most + 1

    def _entries_of_archive(self, image: str, at_most: int) -> int:
        """The number of files and folders of the image, by its layers as the engine hands them out.

        This is for another storage driver, and for a worker in a container, which sees no folder of them. It reads all of the
        image, once for each that is brought to this host.
        """
        doing = f"counting the files of the image {image}"
        url = f"{self.api.base_url}/v{self.api.api_version}/images/{quote(image, safe='')}/get"
        timeout = (CALL_TIMEOUT_S, LOAD_TIMEOUT_S)
        with engine_errors(doing), contextlib.closing(self.api.get(url, stream=True, timeout=timeout)) as answer:
            if answer.status_code != 200:
                raise SandboxError("engine_error", f"{doing}: the engine answered {answer.status_code}")
            entries = entries_of_archive(cast("IO[bytes]", answer.raw))
            try:
                return sum(1 for _ in itertools.islice(entries, at_most + 1))
            except (tarfile.TarError, ValueError, OverflowError):  # nobody can say how many more there are
                return at_most + 1

    def load_image(self, chunks: Iterator[bytes]) -> None:
        """See `Engine`."""
        url = f"{self.api.base_url}/v{self.api.api_version}/images/load"
        with engine_errors("loading an image"):
            headers = {"Content-Type": "application/x-tar"}
            timeout = (CALL_TIMEOUT_S, LOAD_TIMEOUT_S)
            answer = self.api.post(url, data=chunks, params={"quiet": 1}, headers=headers, timeout=timeout)
        refusal = _load_refusal(answer.status_code, answer.text)
        if refusal is not None:
            code = "engine_error" if is_of_host(refusal) else "image_not_loaded"
            raise SandboxError(code, f"the engine does not take the image: {refusal[:500]}")

    def remove_image(self, image: str) -> None:
        """See `Engine`."""
        with engine_errors("removing an image", besides=(404,)):
            self.api.remove_image(image)

    def image_names(self) -> tuple[str, ...]:
        """See `Engine`."""
        with engine_errors("listing the engine's images"):
            images = self.api.images()
        names = {name for image in images for key in ("RepoTags", "RepoDigests") for name in image.get(key) or []}
        return tuple(sorted(name for name in names if "<none>" not in name))

    def ensure_image(
        self, image: str, policy: PullPolicy, stop: Callable[[], bool] = never, max_bytes: int = 0
    ) -> ImageFacts:
        """See `Engine`."""
        if policy == PullPolicy.NEVER:
            return self._inspect_image(image)
        if policy == PullPolicy.MISSING and (facts := self.find_image(image)) is not None:
            return facts
        self._pull(image, stop, max_bytes)
        return self._inspect_image(image)

    def _inspect_image(self, image: str) -> ImageFacts:
        """The image by its configuration.

        It is taken to have a shell until a container of it was looked into.
        """
        with engine_errors(f"looking for the image {image}"):
            facts = read_image(self.api.inspect_image(image))  # type: ignore[no-untyped-call]  # absent in the stubs
        return replace(facts, has_shell=self._with_shell.get(facts.digest, True))

    def _has_shell(self, container: str, digest: str) -> bool:
        """True if the image of a container, with this digest, has a shell; looked up once an image."""
        if digest not in self._with_shell:
            url = f"{self.api.base_url}/v{self.api.api_version}/containers/{container}/archive"
            with engine_errors("looking into the container"):
                answer = self.api.head(url, params={"path": SHELL}, timeout=CALL_TIMEOUT_S)
            self._with_shell[digest] = answer.status_code == 200
        return self._with_shell[digest]

    def _pull(self, image: str, stop: Callable[[], bool], max_bytes: int) -> None:
        """Pull an image to its end.

        Raises `SandboxError` with the registry's own words: `image_unknown` or `image_pull_failed`.
        """
        started = time.monotonic()
        layers: dict[str, int] = {}
        try:
            for line in self.api.pull(image, stream=True, decode=True):
                if "error" in line:
                    raise _pull_error(image, line["error"])
                layers[str(line.get("id"))] = max(
                    layers.get(str(line.get("id")), 0), (line.get("progressDetail") or {}).get("total") or 0
                )
                if max_bytes and sum(layers.values()) > max_bytes:
                    raise SandboxError("image_too_large", f"{image} has more than the {max_bytes:,} bytes that it may")
                if stop():
                    raise SandboxError(STOPPED, f"{image} was not pulled to its end")
                if time.monotonic() - started > PULL_TIMEOUT_S:
                    raise _pull_error(image, f"it took longer than {PULL_TIMEOUT_S} s")
        except APIError as error:
            raise _pull_error(image, error.explanation or error, error.status_code) from error
        except (DockerException, requests.RequestException, OSError) as error:
            raise _pull_error(image, error) from error

    def prepare(self, spec: StageSpec) -> str:
        """See `Engine`."""
        self._oom_kills_before[spec.group] = host_oom_kills()
        container = self._create(spec)
        image = spec.image_facts
        if image.volumes and (uncovered := self._volumes(container)):
            self.remove(container)
            raise unsuitable(f"declares the volume {uncovered[0][:200]!r}, which cannot be given a limited place")
        if not image.has_shell or self._has_shell(container, image.digest):
            return container
        self.remove(container)
        return self._create(replace(spec, image_facts=replace(image, has_shell=False)))

    def _create(self, spec: StageSpec) -> str:
        config = container_config(spec, self.cgroup(spec.group).parent)
        try:
            with engine_errors(f"creating the container {spec.name}"):
                created = self.api.create_container_from_config(config, spec.name)  # type: ignore[no-untyped-call]  # absent in the stubs
                return str(created["Id"])
        except SandboxError as error:
            if not isinstance(error.__cause__, APIError) or error.__cause__.status_code != 409:
                raise
            return self.observe(spec.name).id

    def _volumes(self, container: str) -> list[str]:
        """The container's volumes of the engine's own, which lie on the host's disk without a bound."""
        with engine_errors("inspecting the container"):
            mounts = self.api.inspect_container(container)["Mounts"]
        return [str(mount["Destination"]) for mount in mounts if mount["Type"] == "volume"]

    def adopt(self, name: str) -> ContainerState:
        """See `Engine`."""
        return self.observe(name)

    def usage(self, group: str) -> Usage:
        """See `Engine`."""
        return self.cgroup(group).read()

    def release(self, group: str) -> bool:
        """See `Engine`."""
        self._oom_kills_before.pop(group, None)
        return self.cgroup(group).remove()

    def groups(self, key: str) -> Collection[str]:
        """See `Engine`."""
        return group_names(key)

    def cgroup(self, group: str) -> Cgroup:
        """The control group of this name."""
        facts = self._facts or self.facts()  # the host's control groups do not change under a running worker
        return Cgroup(group, version=facts.cgroup_version, driver=facts.cgroup_driver)

    def start(self, container: str) -> None:
        """Start it; returns when its first process runs."""
        with engine_errors("starting the container"):
            self.api.start(container)

    def wait(self, container: str, stop: Callable[[], bool] = never) -> None:
        """See `Engine`."""
        while True:
            try:
                self.api.wait(container, timeout=WAIT_ROUND_S)
                return
            except (DockerException, requests.RequestException) as error:
                # An engine that went away may have ended the container itself: that must not look like its own end.
                if not _timed_out(error):
                    raise SandboxError("engine_unreachable", f"waiting for the container: {error}") from error
            if self.observe(container).ended or stop():
                return

    def kill(self, container: str) -> None:
        """SIGKILL to all of it; no error when it has ended already."""
        with engine_errors("killing the container", besides=(404, 409)):
            self.api.kill(container)

    def was_out_of_memory(self, spec: StageSpec, state: ContainerState) -> bool:
        """See `Engine`.

        A kill by the kernel and the end of the container reach Docker by two ways; where the end was first, Docker may never say so.
        Cgroup v1 counts no kills in a group that is left. There, it takes three facts: the exit code, memory at its limit, and that
        the kernel ended some process of the host for its memory meanwhile.
        """
        if state.oom_killed or state.exit_code != KILLED:
            return state.oom_killed
        usage = self.usage(spec.group)
        if self.cgroup(spec.group).version != "v1":
            return bool(usage.oom_kills)
        before = self._oom_kills_before.get(spec.group)
        met_limit = (usage.memory_peak_bytes or 0) >= spec.limits.memory_bytes - SLACK_BYTES
        return met_limit and before is not None and host_oom_kills() > before

    def was_signalled(self, container: str, since: datetime) -> bool:
        """True if the engine was told to kill or stop the container since then; it forgets after a while."""
        filters = {"container": container, "event": "kill"}
        with engine_errors("asking the engine for its events"):
            events = self.api.events(**self.event_span(since), filters=filters, decode=True)
            return any(True for _ in events)

    def event_span(self, since: datetime) -> dict[str, Any]:
        """The time for which events are asked for.

        `until` ends the answer: a moment to come would be waited for. Both with fractions, which a datetime would lose.
        """
        return {"since": since.timestamp(), "until": datetime.now(UTC).timestamp()}

    def observe(self, container: str) -> ContainerState:
        """The engine's word on the container."""
        with engine_errors("inspecting the container"):
            return self.read_state(self.api.inspect_container(container))

    def read_state(self, facts: dict[str, Any]) -> ContainerState:
        """Read the engine's answer to an inspection of a container."""
        state = facts["State"]
        return ContainerState(
            id=facts["Id"],
            status=state["Status"],
            exit_code=int(state["ExitCode"]),
            oom_killed=bool(state["OOMKilled"]),
            started_at=parse_time(state["StartedAt"]),
            finished_at=parse_time(state["FinishedAt"]),
            labels=facts["Config"].get("Labels") or {},
        )

    def remove(self, container: str) -> None:
        """Remove it with its anonymous volumes, killing what still runs; no error when it is gone already."""
        with engine_errors("removing the container", besides=(404, 409)):  # 409: its removal is in progress
            self.api.remove_container(container, v=True, force=True)

    def collect(self, container: str, *, follow: bool, tail: int | None = None) -> Generator[bytes]:
        """Chunks of standard output and error as they were written; `close()` ends it.

        Only a program may keep it waiting. The SDK's own call gets the container's description first each time, which costs as much
        as the log.
        """
        chosen = {"stdout": 1, "stderr": 1, "follow": int(follow), "tail": tail or "all"}
        with engine_errors("reading the container's log"):
            url = f"{self.api.base_url}/v{self.api.api_version}/containers/{container}/logs"
            timeout = (CALL_TIMEOUT_S, None if follow else CALL_TIMEOUT_S)
            with contextlib.closing(self.api.get(url, params=chosen, stream=True, timeout=timeout)) as answer:
                yield from _frames(answer)

    def list(self, labels: Mapping[str, str]) -> Collection[str]:
        """See `Engine`."""
        label_filters = [f"{key}={value}" for key, value in labels.items()]
        with engine_errors("listing containers"):
            return [
                str(row["Id"]) for row in self.api.containers(all=True, quiet=True, filters={"label": label_filters})
            ]


def filter_digest() -> str:
    """The digest of the filter for system calls."""
    return hashlib.sha256(seccomp_profile().encode()).hexdigest()


def user_offset(root: str) -> int:
    """The host's user behind user 0 of a remapped engine, which its folder is named after.

    >>> user_offset("/var/lib/docker/165536.165536"), user_offset("/var/lib/docker")
    (165536, 0)
    """
    match = re.search(r"/(\d+)\.\d+/?\Z", root)
    return int(match.group(1)) if match else 0


def _timed_out(error: Exception) -> bool:
    """True for our own time-out, which requests reports in two ways."""
    inner = error.args[0] if error.args else None
    return isinstance(error, requests.ReadTimeout) or isinstance(inner, ReadTimeoutError)


def _frames(answer: requests.Response) -> Iterator[bytes]:
    """The payloads of the engine's frames.

    A frame has one byte of stream, three empty ones, four of length, then as many bytes.
    """
    if answer.status_code != 200:
        raise SandboxError("engine_error", f"reading the container's log: the engine answered {answer.status_code}")
    while len(header := answer.raw.read(8)) == 8:
        yield answer.raw.read(int.from_bytes(header[4:], "big"))


def read_image(facts: dict[str, Any]) -> ImageFacts:
    """Read the engine's answer to an inspection of an image."""
    digests = facts.get("RepoDigests") or []
    config = facts.get("Config") or {}
    return ImageFacts(
        digest=str(digests[0].rpartition("@")[2] if digests else facts["Id"]),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        volumes=tuple(sorted(config.get("Volumes") or ())),
        size_bytes=int(facts.get("Size") or 0),
        labels=tuple(sorted(config.get("Labels") or ())),
        hook_variables=hook_variables(config.get("Env") or ()),
    )


def layer_folders(facts: dict[str, Any]) -> list[Path]:
    """The folders of an image's layers, where the storage driver keeps each as one."""
    driver = facts.get("GraphDriver") or {}
    if driver.get("Name") not in ("overlay2", "overlay"):  # Docker's name, and Podman's
        return []
    data = driver.get("Data") or {}
    places = [data.get("UpperDir", ""), *data.get("LowerDir", "").split(":")]
    return [Path(place) for place in places if place]


def _entries_below(folders: Sequence[Path]) -> Iterator[str]:
    """Paths of all files and folders below these, however deep. Links are not followed. Raises `OSError`."""
    pending = [str(folder) for folder in folders]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                yield entry.path
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def entries_of_archive(stream: IO[bytes]) -> Iterator[tarfile.TarInfo]:
    """Files and folders of all layers in an image's archive. Raises `TarError` for a broken layer."""
    for member, archive in _members(stream, "r|"):
        if member.isreg() and (content := archive.extractfile(member)) is not None:
            yield from (entry for entry, _ in _members(content, "r|*"))


def _members(stream: IO[bytes], mode: Literal["r|", "r|*"]) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Members of a tar, each while it is there to be read; none where the stream is not a tar."""
    try:
        archive = tarfile.open(fileobj=stream, mode=mode)  # noqa: SIM115  # entered below
    except tarfile.ReadError:
        return
    with archive:
        for member in archive:
            archive.members = []  # type: ignore[attr-defined]  # else all of them are kept in memory
            yield member, archive


def parse_time(text: str) -> datetime | None:
    """The engine's RFC 3339 time with nanoseconds; None for its year 1, which says "never"."""
    if text.startswith("0001-"):
        return None
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError as error:
        raise SandboxError("engine_error", f"the engine gave a time that cannot be read: {text!r}") from error
