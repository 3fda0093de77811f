"""A worker's description of its host. It is shown and kept, and decides only which GPUs there are."""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from workers.protocol.messages import Line, Measured, Message, OptionalLine

MAX_ITEMS = 100
Lines = Annotated[tuple[Line, ...], Field(max_length=MAX_ITEMS)]


class Isolation(StrEnum):
    """The border between participants' code and the kernel of its host."""

    STANDARD = "standard"  # a container
    SANDBOXED = "sandboxed"  # a container whose system calls gVisor answers


class HeldLimit(StrEnum):
    """A limit that control groups hold a container to, where the host lets an engine have them."""

    MEMORY = "memory"
    PROCESSES = "processes"
    CPUS = "cpus"


class Gpu(Message):
    """One GPU."""

    uuid: Line = ""
    model: Line = ""
    memory_bytes: Measured = None
    driver: Line = ""


class SlotFacts(Message):
    """The GPU and the cores of one slot; no cores: all of the host's."""

    gpu_uuid: OptionalLine = None
    cores: Annotated[tuple[int, ...], Field(max_length=4096)] = ()


class Host(Message):
    """Hardware and software, for receipts and for the worker's page."""

    hostname: Line = ""
    os: Line = ""
    kernel: Line = ""
    engine: Line = ""
    cpu_model: Line = ""
    cores: Measured = None
    memory_bytes: Measured = None
    cgroup: Line = ""
    output_quota: Line = ""
    seccomp: Line = ""
    user_namespaces: bool = False
    runtimes: Lines = ()
    runtime: Line = ""
    isolations: Lines = ()  # none said: `standard` alone
    unheld: Lines = ()  # limits that the host holds nobody to, by `HeldLimit`
    gpu_toolkit: Line = ""  # version of the NVIDIA container toolkit, where the worker sees one
    gpus: Annotated[tuple[Gpu, ...], Field(max_length=MAX_ITEMS)] = ()
    slots: Annotated[tuple[SlotFacts, ...], Field(max_length=1000)] = ()


class SelfTest(Message):
    """The limits that were seen to hold on the host, and when; empty where none was tried."""

    at: Line = ""
    holds: Lines = ()
    fails: Lines = ()
    unheld: Lines = ()  # limits that this host holds nobody to, by `HeldLimit`
    sandbox_fails: Lines = ()  # what does not hold in gVisor, where the engine has it
    state: Line = ""  # of the host: tried again when it changes


class GpuTimes(Message):
    """Times of the fixed load of GPUs."""

    uuid: Line = ""
    model: Line = ""
    fma_s: Measured = None
    memory_s: Measured = None


class CpuTimes(Message):
    """Times of the fixed loads of processors."""

    interpreter_s: Measured = None
    digest_s: Measured = None
    copy_s: Measured = None
    everywhere_s: Measured = None


class Calibration(Message):
    """Times of a fixed load, to compare hosts by; those of different `loads` are not compared."""

    at: Line = ""
    loads: Measured = None
    worker_version: Line = ""
    image_digest: Line = ""
    cores: Measured = None
    cpu: CpuTimes = CpuTimes()
    gpus: Annotated[tuple[GpuTimes, ...], Field(max_length=MAX_ITEMS)] = ()


class SlotFault(Message):
    """A slot that is out of service, and why."""

    slot: int = 0
    gpu_uuid: OptionalLine = None
    detail: Line = ""


SlotFaults = Annotated[
    tuple[SlotFault, ...],
    Field(max_length=1000),
    BeforeValidator(lambda value: value if isinstance(value, list | tuple) else ()),
]
