"""`podium-worker calibrate`: a fixed load on this host, so that times of hosts can be compared.

The loads never change; a change of one is a new `LOADS_VERSION`, and results of different versions are not compared.
"""

import json
import statistics
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workers import __version__
from workers.agent.host.gpus import choose_gpus, find_gpus
from workers.agent.runs.state import write_durably
from workers.engines import engine_for
from workers.errors import SandboxError
from workers.protocol.hosts import Calibration
from workers.protocol.jobs import PullPolicy
from workers.protocol.limits import GIB, MIB, Limits
from workers.protocol.messages import read_message
from workers.sandbox.limits import host_cores, host_memory_bytes
from workers.sandbox.output_volume import loop_mounts_work
from workers.selftest import Probe, Tester

LOADS_VERSION = 1
FILE_NAME = "calibration.json"
ROUNDS = 3
CPU_LOADS = """
import hashlib, json, time
from concurrent.futures import ProcessPoolExecutor

def interpreter(_=0):
    x = 1
    for n in range(4_000_000):
        x = (x * 1103515245 + n) % 2147483648
    return x

def digest(_=0):
    h, block = hashlib.sha256(), bytes(1 << 20)
    for _ in range(256):
        h.update(block)
    return h.hexdigest()

def copy(_=0):
    block = bytearray(256 << 20)
    for _ in range(8):
        bytes(block)

def timed(load):
    started = time.perf_counter()
    load()
    return time.perf_counter() - started

def everywhere():
    with ProcessPoolExecutor(CORES) as pool:
        list(pool.map(interpreter, range(CORES)))

print(json.dumps({load.__name__ + "_s": timed(load) for load in (interpreter, digest, copy, everywhere)}))
"""
GPU_LOAD = r'''
import ctypes, json, time
cuda = ctypes.CDLL("libcuda.so.1")

def checked(status):
    if status:
        raise SystemExit(f"CUDA error {status}")

PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry load(.param .u64 out, .param .u32 rounds)
{
  .reg .pred p; .reg .b32 r<6>; .reg .f32 f<3>; .reg .b64 d<4>;
  ld.param.u64 d1, [out]; ld.param.u32 r1, [rounds];
  mov.u32 r2, %ctaid.x; mov.u32 r3, %ntid.x; mov.u32 r4, %tid.x; mad.lo.u32 r4, r2, r3, r4;
  cvt.rn.f32.u32 f1, r4; mov.f32 f2, 0f3F7FFFFE; mov.u32 r5, 0;
again:
  fma.rn.f32 f1, f1, f2, f2; fma.rn.f32 f1, f1, f2, f2; fma.rn.f32 f1, f1, f2, f2; fma.rn.f32 f1, f1, f2, f2;
  add.u32 r5, r5, 1; setp.lt.u32 p, r5, r1; @p bra again;
  cvta.to.global.u64 d2, d1; mul.wide.u32 d3, r4, 4; add.u64 d2, d2, d3; st.global.f32 [d2], f1;
  ret;
}
\0"""
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
first, second = ctypes.c_uint64(), ctypes.c_uint64()
checked(cuda.cuInit(0))
checked(cuda.cuDeviceGet(ctypes.byref(device), 0))
checked(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device))
checked(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
checked(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"load"))
blocks, threads, size = 4096, 256, 256 << 20
for pointer in (first, second):
    checked(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))

def compute(rounds):
    count = ctypes.c_uint32(rounds)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(first), ctypes.addressof(count))
    checked(cuda.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, None, values, None))
    checked(cuda.cuCtxSynchronize())

def move(times):
    for _ in range(times):
        checked(cuda.cuMemcpyDtoD_v2(second, first, ctypes.c_size_t(size)))
    checked(cuda.cuCtxSynchronize())

def timed(load, amount):
    load(1)
    started = time.perf_counter()
    load(amount)
    return time.perf_counter() - started

print(json.dumps({"fma_s": timed(compute, 1_000_000), "memory_s": timed(move, 400)}))
'''


def calibrate(
    *, image: str, data_dir: Path, engine: str | None, gpus: str = "auto", gpu_image: str = ""
) -> dict[str, Any]:
    """Run the loads, each `ROUNDS` times, and keep the medians for the worker's registration.

    Raises `SandboxError` where the engine or an image is not there, or a load failed; the message ends with what it
    said.
    """
    connection = engine_for(engine or "")
    facts = connection.facts()
    digest = connection.ensure_image(image, PullPolicy.NEVER).digest
    source = find_gpus()
    chosen = choose_gpus(source, gpus)
    with tempfile.TemporaryDirectory(prefix="podium-calibrate-", dir=data_dir) as name:
        folder = Path(name)
        folder.chmod(0o700)
        tester = Tester(connection, facts, folder, image, quota=loop_mounts_work(folder))
        cpu = _medians(tester, f"CORES = {host_cores()}\n{CPU_LOADS}", None)
        on_gpu = Tester(connection, facts, folder, gpu_image or image, quota=tester.quota)
        gpu_medians = [{"uuid": gpu.uuid, "model": gpu.model, **_medians(on_gpu, GPU_LOAD, gpu.uuid)} for gpu in chosen]
    result = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "loads": LOADS_VERSION,
        "worker_version": __version__,
        "image_digest": digest,
        "cores": host_cores(),
        "cpu": cpu,
        "gpus": gpu_medians,
    }
    write_durably(data_dir / FILE_NAME, json.dumps(result))
    return result


def _medians(tester: Tester, source: str, gpu_uuid: str | None) -> dict[str, float]:
    readings = [_once(tester, source, gpu_uuid) for _ in range(ROUNDS)]
    return {name: round(statistics.median(reading[name] for reading in readings), 3) for name in readings[0]}


def _once(tester: Tester, source: str, gpu_uuid: str | None) -> dict[str, float]:
    limits = Limits(
        wall_s=600,
        memory_bytes=min(4 * GIB, host_memory_bytes()),
        cpus=float(host_cores()),
        pids=4 * host_cores() + 64,
        output_bytes=8 * MIB,
        output_files=64,
        tmp_bytes=64 * MIB,
        log_bytes=64 << 10,
    )
    seen = tester.run(Probe("calibration", source, lambda seen: True, limits), gpu_uuid=gpu_uuid)
    try:
        times = json.loads(seen.log.splitlines()[-1])
    except (ValueError, IndexError):
        times = None
    if seen.evidence.exit_code != 0 or not isinstance(times, dict):
        raise SandboxError(
            "calibration_failed", f"the load ended with {seen.evidence.exit_code}: {seen.log.strip()[-300:]}"
        )
    return {str(name): float(seconds) for name, seconds in times.items()}


def kept_calibration(data_dir: Path) -> Calibration:
    """The figures of the last calibration on this host; empty when there was none."""
    try:
        return read_message(Calibration, json.loads((data_dir / FILE_NAME).read_text()))
    except (OSError, ValueError):
        return Calibration()
