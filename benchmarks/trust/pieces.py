"""What a fresh CUDA context per candidate costs, piece by piece, on one GPU.

    PYTHONPATH=src python -m benchmarks.trust.pieces FOLDER [PART ...]

Writes FOLDER/pieces.json: context cycles by environment and number of processes, in one process and in a new one each
time; the steps of a replay by the driver API alone over lent memory; what context creation elsewhere does to timed
runs; and the judge's own work on one set of inputs. Each part is a process of its own. Where CUDA_MPS_PIPE_DIRECTORY
names a running multi-process service, it is the one that the parts go through, and their names say so.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any

FEW = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
FEWER = FEW | {"CUDA_DEVICE_MAX_COPY_CONNECTIONS": "1"}
SMALL = FEWER | {"CUDA_SCALE_LAUNCH_QUEUES": "0.25x"}
PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 source, .param .u64 target, .param .u32 count)
{
 .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<6>; .reg .f32 %f<3>;
 ld.param.u64 %d1, [source]; ld.param.u64 %d2, [target]; ld.param.u32 %r1, [count];
 mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;
 setp.ge.u32 %p, %r5, %r1; @%p ret;
 mul.wide.u32 %d3, %r5, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
 ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, 0f3F800000; st.global.f32 [%d5], %f2; ret;
}
\0"""
COUNT = b"""
.version 7.0
.target sm_80
.address_size 64
.global .align 4 .u32 planted;
.visible .entry count(.param .u64 data, .param .u64 words, .param .u64 result, .param .u32 plant)
{
 .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;
 ld.param.u64 %d1, [data]; ld.param.u64 %d2, [words]; ld.param.u64 %d3, [result]; ld.param.u32 %r8, [plant];
 mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
 mad.lo.u32 %r5, %r1, %r2, %r3; mul.lo.u32 %r6, %r2, %r4; cvt.u64.u32 %d4, %r5; cvt.u64.u32 %d5, %r6;
again:
 setp.ge.u64 %p, %d4, %d2; @%p bra done;
 shl.b64 %d6, %d4, 2; add.u64 %d6, %d1, %d6; ld.global.u32 %r7, [%d6];
 setp.eq.u32 %p, %r7, 0xA5C3F00D; @%p red.global.add.u64 [%d3], 1;
 add.u64 %d4, %d4, %d5; bra again;
done:
 ld.global.u32 %r7, [planted]; cvt.u64.u32 %d7, %r7; setp.eq.u32 %p, %r5, 0; @!%p ret;
 st.global.u64 [%d3+8], %d7; st.global.u32 [planted], %r8; ret;
}
\0"""
PATTERN = bytes.fromhex("0df0c3a5")
ELEMENTS = 8192 * 4096


def call(name: str, *arguments: Any) -> None:
    code = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if code:
        raise RuntimeError(f"{name}: {code}")


def create() -> c_void_p:
    context = c_void_p()
    try:
        call("cuCtxCreate_v2", byref(context), c_uint(0), c_int(0))
    except AttributeError:
        call("cuCtxCreate_v4", byref(context), None, c_uint(0), c_int(0))
    return context


class Steps:
    """Seconds of named steps, by turns."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._at = time.perf_counter()

    def start(self) -> None:
        self._at = time.perf_counter()

    def __call__(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds.setdefault(name, []).append(now - self._at)
        self._at = now

    def medians(self) -> dict[str, float]:
        return {name: round(1e3 * statistics.median(each), 3) for name, each in self.seconds.items()}


def cycles(count: int = 12) -> dict[str, Any]:
    """Contexts made and destroyed in this process."""
    steps = Steps()
    call("cuInit", c_uint(0))
    steps("init")
    started = time.perf_counter()
    for _ in range(count):
        steps.start()
        context = create()
        steps("create")
        call("cuCtxSynchronize")
        steps("use")
        call("cuCtxDestroy_v2", context)
        steps("destroy")
    return {"per_second": count / (time.perf_counter() - started), "ms": steps.medians()}


def forks(at_once: int, count: int = 24, destroys: bool = True) -> dict[str, Any]:
    """A new process for each context, so many at a time."""
    started, steps, begun = time.perf_counter(), Steps(), 0
    running: dict[int, tuple[int, float]] = {}
    while begun < count or running:
        while begun < count and len(running) < at_once:
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                mine = Steps()
                call("cuInit", c_uint(0))
                mine("init")
                context = create()
                mine("create")
                call("cuCtxSynchronize")
                if destroys:
                    call("cuCtxDestroy_v2", context)
                    mine("destroy")
                os.write(writer, json.dumps(mine.seconds).encode())
                os._exit(0)
            os.close(writer)
            running[pid] = (reader, time.perf_counter())
            begun += 1
        pid, _ = os.wait()
        reader, since = running.pop(pid)
        for name, values in json.loads(os.read(reader, 4096)).items():
            steps.seconds.setdefault(name, []).extend(values)
        steps.seconds.setdefault("whole", []).append(time.perf_counter() - since)
        os.close(reader)
    return {"at_once": at_once, "per_second": count / (time.perf_counter() - started), "ms": steps.medians()}


def attributes() -> dict[str, int]:
    call("cuInit", c_uint(0))
    found, value = {}, c_int()
    for name, number in {"pageable_memory_access": 88, "pageable_by_page_tables": 100, "managed": 83}.items():
        call("cuDeviceGetAttribute", byref(value), c_int(number), c_int(0))
        found[name] = value.value
    call("cuDriverGetVersion", byref(value))
    return found | {"driver": value.value, "cores": os.cpu_count() or 0}


def light(count: int = 10) -> dict[str, Any]:
    """A replay by the driver API over memory that another process lends, a fresh context each time."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()  # else it would never see that this process is gone
        _lend(theirs, 3 * ELEMENTS * 4 * 4)
        os._exit(0)
    _, descriptors, _, _ = socket.recv_fds(ours, 16, 4)
    size, steps, runs = 3 * ELEMENTS * 4 * 4, Steps(), Steps()
    call("cuInit", c_uint(0))
    for _ in range(count):
        _light_cycle(os.dup(descriptors[0]), size, steps, runs)
    ours.close()
    return {"ms": steps.medians(), "run_ms": runs.medians()}


def _lend(channel: socket.socket, size: int) -> None:
    import torch

    from foretell.kernels.bench.gpu.lending import DeviceMemory

    torch.zeros(1, device="cuda")
    memory = DeviceMemory.make(size)
    memory.bytes.zero_()
    torch.cuda.synchronize()
    socket.send_fds(channel, [b"x"], [memory.descriptor()])
    channel.recv(1)


def _light_cycle(descriptor: int, size: int, steps: Steps, runs: Steps) -> None:
    from foretell.kernels.bench.gpu.lending import _Access, _Location

    steps.start()
    context = create()
    steps("create")
    handle, address = c_ulonglong(), c_uint64()
    call("cuMemImportFromShareableHandle", byref(handle), c_void_p(descriptor), c_int(1))
    os.close(descriptor)
    call("cuMemAddressReserve", byref(address), c_size_t(size), c_size_t(0), c_uint64(0), c_ulonglong(0))
    call("cuMemMap", address, c_size_t(size), c_size_t(0), handle, c_ulonglong(0))
    access = _Access(_Location(1, 0), 3)
    call("cuMemSetAccess", address, c_size_t(size), byref(access), c_size_t(1))
    steps("import")
    module, function = c_void_p(), c_void_p()
    call("cuModuleLoadData", byref(module), c_char_p(PTX))
    call("cuModuleGetFunction", byref(function), module, b"add_one")
    steps("module")
    flush, buffer = c_uint64(), c_uint64()
    call("cuMemAlloc_v2", byref(flush), c_size_t(128 << 20))
    steps("allocate flush")
    call("cuMemAlloc_v2", byref(buffer), c_size_t(4 * ELEMENTS))
    steps("allocate buffer")
    stream = c_void_p()
    call("cuStreamCreate", byref(stream), c_uint(1))
    graphs = []
    for number in range(4):
        events = (c_void_p(), c_void_p())
        for event in events:
            call("cuEventCreate", byref(event), c_uint(0))
        call("cuStreamBeginCapture_v2", stream, c_int(1))
        call("cuMemsetD32Async", flush, c_uint(0), c_size_t((128 << 20) // 4), stream)
        call("cuEventRecordWithFlags", events[0], stream, c_uint(1))
        source = c_uint64(address.value + 4 * ELEMENTS * number)
        values = (source, buffer, c_uint(ELEMENTS))
        pointers = (c_void_p * 3)(*(ctypes.cast(byref(value), c_void_p) for value in values))
        grid = (ELEMENTS // 256, 1, 1, 256, 1, 1)
        call("cuLaunchKernel", function, *(c_uint(v) for v in grid), c_uint(0), stream, pointers, None)
        call("cuEventRecordWithFlags", events[1], stream, c_uint(1))
        graph, executable = c_void_p(), c_void_p()
        call("cuStreamEndCapture", stream, byref(graph))
        call("cuGraphInstantiateWithFlags", byref(executable), graph, c_ulonglong(0))
        graphs.append((executable, events))
        steps("graph")
    for turn in range(12):
        executable, events = graphs[turn % 4]
        runs.start()
        call("cuMemsetD8Async", buffer, ctypes.c_ubyte(255), c_size_t(4 * ELEMENTS), stream)
        call("cuGraphLaunch", executable, stream)
        call("cuCtxSynchronize")
        runs("first run" if turn < 4 else "run")
        us = c_float()
        call("cuEventElapsedTime", byref(us), *events)
        runs.seconds.setdefault("kernel", []).append(us.value / 1e3)
    steps("runs")
    call("cuCtxDestroy_v2", context)
    steps("destroy")
    call("cuMemRelease", handle)
    steps("release")


def survivors(size: int = 32 << 30) -> dict[str, Any]:
    """What a context finds of the one before in its process: a pattern left in memory, and a global variable."""
    from foretell.kernels.bench.gpu.bare import BareCuda
    from foretell.kernels.program import Image

    device, found = BareCuda(), {}
    device.open()
    image = Image(None, COUNT.decode().rstrip("\0"), "sm_80")

    def counted(address: int) -> list[int]:
        result, module = device.allocate(16), device.load(image)
        device.fill(result, bytes(4), 4)
        arguments = [c_uint64(address), c_uint64(size // 4), c_uint64(result), c_uint(7)]
        module.launch("count", (1024, 1, 1), (256, 1, 1), arguments, 0, device.handle)
        device.synchronize()
        values = (c_uint64 * 2)()
        call("cuMemcpyDtoH_v2", values, c_uint64(result), c_size_t(16))
        return list(values)

    address = device.allocate(size)
    found["as allocated first"] = counted(address)
    device.fill(address, PATTERN, size // 4)
    found["as planted"] = counted(address)
    for number in range(3):
        device.renew()
        found[f"context {number + 2}"] = counted(device.allocate(size))
    return {"words": size // 4, "pattern and global": found, "reusable": device.reusable}


def disturbed(processes: int) -> dict[str, Any]:
    """Times of a kernel by event nodes while other processes make and destroy contexts."""
    others = []
    for _ in range(processes):
        if (pid := os.fork()) == 0:
            os.environ |= SMALL
            call("cuInit", c_uint(0))
            while True:
                call("cuCtxDestroy_v2", create())
        others.append(pid)
    import torch

    from foretell.kernels.bench.gpu.platform import Cuda

    platform = Cuda()
    platform.open()
    flush = torch.empty(32 << 20, dtype=torch.int32, device="cuda")
    x, y = (torch.empty(ELEMENTS, device="cuda") for _ in range(2))
    start, end, stream = platform.event(), platform.event(), platform.stream()

    def work(handle: int) -> None:
        flush.zero_()
        start.record_in_graph(handle)
        y.copy_(x)
        end.record_in_graph(handle)

    replay = platform.capture(stream, platform.graph_pool(), work)
    us, walls = [], []
    until = time.perf_counter() + 2.5
    while time.perf_counter() < until:
        at = time.perf_counter()
        with platform.using(stream):
            replay()
        platform.synchronize()
        walls.append(1e3 * (time.perf_counter() - at))
        us.append(start.elapsed_us(end))
    for pid in others:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return {"runs": len(us)} | {
        name: [round(float(q), 3) for q in statistics.quantiles(values[3:], n=20)][::3]
        for name, values in (("us", us), ("wall_ms", walls))
    }


def judge_work() -> dict[str, Any]:
    """The judge's work on one set of 33 million float32 numbers, each piece waited for."""
    import torch

    from foretell.kernels.bench.gpu.session import poison
    from foretell.kernels.bench.gpu.trusted.variants import VARIANTS
    from foretell.kernels.bench.gpu.trusted.verdict import mismatch
    from foretell.kernels.task import Tolerance
    from foretell.kernels.tasks.trees import bits

    steps = Steps()
    lent, kept, ring = (torch.empty(8192, 4096, device="cuda") for _ in range(3))
    expected = torch.randn(8192, 4096, device="cuda", dtype=torch.float64)
    low, high = (expected - 1e-3).float(), (expected + 1e-3).float()
    own = expected.float()

    def piece(name: str, work: Any) -> Any:
        torch.cuda.synchronize()
        steps.start()
        value = work()
        torch.cuda.synchronize()
        steps(name)
        return value

    for _ in range(8):
        generator = piece("generator", lambda: torch.Generator(device="cuda").manual_seed(time.time_ns()))
        drawn = piece("randn", lambda: torch.randn(8192, 4096, generator=generator, device="cuda"))  # noqa: B023
        piece("copy", lambda: lent.copy_(drawn))  # noqa: B023
        piece("clone", lambda: lent.clone())
        piece("normal in place", lambda: lent.normal_(generator=generator))  # noqa: B023
        piece("copy to kept", lambda: kept.copy_(lent))
        piece("poison", lambda: poison(ring))
        piece("fill", lambda: ring.view(torch.int32).fill_(-1))
        piece("equal", lambda: torch.equal(bits(lent), bits(kept)))
        piece("roll", lambda: torch.roll(kept, 17, 0))
        piece("mismatch", lambda: mismatch(torch, own, expected, own, Tolerance(1e-4, 1e-4, "")))
        piece("within", lambda: bool(((own >= low) & (own <= high)).all()))
        piece("double", lambda: own.double())
        piece("nothing", lambda: None)
        for name, change in VARIANTS.items():
            piece(name, lambda: change(torch, kept))  # noqa: B023
    return {"ms": steps.medians()}


PARTS: dict[str, tuple[dict[str, str], Any]] = {
    "attributes": ({}, attributes),
    "cycles, few connections": (FEW, cycles),
    "cycles, few copy connections too": (FEWER, cycles),
    "cycles, short queues too": (SMALL, cycles),
    "cycles, lazy": (SMALL | {"CUDA_MODULE_LOADING": "LAZY", "CUDA_CACHE_DISABLE": "1"}, cycles),
    "forks 1": (SMALL, lambda: forks(1, 8)),
    "forks 2": (SMALL, lambda: forks(2)),
    "forks 4": (SMALL, lambda: forks(4)),
    "forks 8": (SMALL, lambda: forks(8)),
    "forks 4, exit alone": (SMALL, lambda: forks(4, destroys=False)),
    "light": (SMALL, light),
    "survivors": ({}, survivors),
    "judge": ({}, judge_work),
    "undisturbed": ({}, lambda: disturbed(0)),
    "disturbed by 1": ({}, lambda: disturbed(1)),
    "disturbed by 3": ({}, lambda: disturbed(3)),
}


def main() -> None:
    if sys.argv[1] == "--part":
        print(json.dumps(PARTS[sys.argv[2]][1]()))
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "pieces.json"
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in sys.argv[2:] or PARTS:
        environment, started = PARTS[name][0], time.perf_counter()
        key = name + (", multi-process service" if "CUDA_MPS_PIPE_DIRECTORY" in os.environ else "")
        try:
            command = [sys.executable, "-m", "benchmarks.trust.pieces", "--part", name]
            ended = subprocess.run(command, env=os.environ | environment, capture_output=True, timeout=25, text=True)
            found[key] = json.loads(ended.stdout) if ended.returncode == 0 else {"failed": ended.stderr[-1500:]}
        except (subprocess.TimeoutExpired, ValueError) as error:
            found[key] = {"failed": str(error)}
        found[key]["seconds"] = round(time.perf_counter() - started, 2)
        print(key, json.dumps(found[key]), flush=True)
        kept.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
