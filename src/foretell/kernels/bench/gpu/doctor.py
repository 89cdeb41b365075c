"""A GPU's self-test in about a minute: what was found, how exact its clock is, how far apart two passes come out."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

from foretell.extras import MissingPackage
from foretell.kernels.bench.doctor import Check, verdict_check
from foretell.kernels.bench.gpu.device import NoGpu, detect_gpu
from foretell.kernels.sandbox import NoSandbox, available, unsafe
from foretell.kernels.sandbox.probes.cuda import cuda_within
from foretell.kernels.sandbox.probes.verdict import probe_server

_CANDIDATES = 12
_FINE, _COARSE = 0.015, 0.05  # median difference between passes: trusted as it is, and trusted no further


def gpu_checks() -> list[Check]:
    """Every GPU that is visible here; a single note where there is none. Only the first is tested in two passes."""
    try:
        detect_gpu()
    except NoGpu as error:
        return [Check("GPU", None, f"{error}; kernels for one can still be built and forecast here")]
    except MissingPackage as error:
        return [Check("GPU", None, f"{error.what}; kernels for one can still be forecast from their source")]
    import torch

    found = [check for index in range(torch.cuda.device_count()) for check in _one(torch, index)]
    return [*found, *sandbox_checks()]


def sandbox_checks() -> list[Check]:
    """Whether CUDA works in the sandbox of what runs on a GPU, and what was tried in the bench's processes there."""
    kind = available(server=True, gpu=True)
    if kind is None:
        return [Check("GPU: sandbox", unsafe() and None, f"{NoSandbox.what}; {NoSandbox.do}")]
    works, words = cuda_within(kind)
    found = [
        verdict_check("GPU: sandbox", kind.value, probe_server(kind, gpu=True)),
        Check("GPU: CUDA in the sandbox", works, words),
    ]
    if works:
        from foretell.kernels.bench.gpu.platform import Cuda
        from foretell.kernels.bench.gpu.probes import probe_judge, probe_worker

        device = detect_gpu()
        found.append(verdict_check("GPU: candidates", kind.value, probe_worker(Cuda(), device)))
        found.append(verdict_check("GPU: problem files", kind.value, probe_judge(Cuda(), device)))
    return found


def _one(torch: Any, index: int) -> list[Check]:
    from foretell.kernels.bench.gpu.nvml import conditions

    name = f"GPU {index}"
    device = detect_gpu(index)
    state = conditions(index)
    half = device.peak_flops["float16"] / 1e12
    found = [
        Check(name, True, f"{device.name}, {device.memory_bytes / 2**30:.0f} GiB, {device.toolchain}"),
        Check(f"{name} rates", True, f"copies {device.bandwidth_bytes_per_s / 1e12:.2f} TB/s, "
              f"multiplies float16 matrices at {half:.0f} TFLOP/s (both measured)"),
    ]  # fmt: skip
    if state:
        quiet = state["throttle"] in ("none", "idle")
        words = f"{state['sm_mhz']:.0f} MHz, {state['celsius']:.0f} °C, {state['watts']:.0f} W, limited by: "
        found.append(Check(f"{name} state", quiet or None, words + str(state["throttle"])))
    step_us, empty_us = timer_us(torch, index)
    found.append(Check(f"{name} timer", step_us < 2 or None, f"steps of {step_us:.2f} us; {empty_us:.2f} us around "
                       "nothing: what takes less than 5 us is mostly launch"))  # fmt: skip
    return [*found, *(_retest(name) if index == 0 else ())]


def timer_us(torch: Any, index: int) -> tuple[float, float]:
    """The clock's step and the median time between two events with nothing between them, in microseconds."""
    from foretell.kernels.bench.gpu.driver import Event

    with torch.cuda.device(index):
        torch.zeros(1, device=f"cuda:{index}")
        handle = torch.cuda.current_stream().cuda_stream
        times = []
        for _ in range(200):
            start, end = Event(), Event()
            start.record(handle)
            end.record(handle)
            torch.cuda.synchronize()
            times.append(start.elapsed_us(end))
            start.close()
            end.close()
    distinct = sorted(set(times))
    steps = [after - before for before, after in itertools.pairwise(distinct)]
    return min(steps, default=0.0), statistics.median(times)


def _retest(name: str) -> list[Check]:
    """The same candidates in two passes, each with worker, inputs and graphs of its own."""
    passes = [_pass() for _ in range(2)]
    both = [c for c in passes[0] if c in passes[1]]
    if not both:
        return [Check(f"{name} test-retest", False, "no candidate could be measured: see `foretell measure`")]
    apart = [abs(passes[0][c] / passes[1][c] - 1) for c in both]
    middle, worst = statistics.median(apart), max(apart)
    words = f"{len(both)} candidates twice: {middle:.1%} apart (median), {worst:.1%} at worst; "
    if middle <= _FINE:
        return [Check(f"{name} test-retest", True, words + f"speedups more than {max(worst, 0.01):.0%} apart differ")]
    verdict = "measure candidates that are close to each other again" if middle <= _COARSE else "something disturbs it"
    return [Check(f"{name} test-retest", None, words + verdict)]


def _pass() -> dict[str, float]:
    from foretell.kernels.bench.gpu.bench import GpuBench
    from foretell.kernels.library import get
    from foretell.kernels.propose.triton import templates

    template = templates()["softmax"]
    settings = template.settings()
    chosen = [template.candidate(s) for s in settings[:: max(1, len(settings) // _CANDIDATES)][:_CANDIDATES]]
    bench = GpuBench()
    try:
        outcomes = list(bench.measure(get("softmax", "gpu"), chosen))
    finally:
        bench.close()
    return {candidate.id: outcome.speedup for candidate, outcome in outcomes if outcome.speedup}
