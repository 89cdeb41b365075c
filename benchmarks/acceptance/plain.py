"""The acceptance set without our bench: what a plain evaluator says of each candidate on this GPU.

    python -m benchmarks.acceptance.plain mark SET.json OUTPUT.jsonl [--processes 8]
    python -m benchmarks.acceptance.plain time SET.json OUTPUT.jsonl [--processes 4]

`mark`: does it run, and does it equal the reference (relative error below 1 %)? *Reduced precision*: its root mean
square error against the reference in float64 is more than 4 times that of the reference in eager float32 (and more than
4e-7 of the scale). *Result caching*: right at first, wrong after new data was written into the same input tensors.

`time`: reference and candidate by Triton's `do_bench_cudagraph`, as it is (L2 stays warm) and with L2 overwritten
before each call (the time of overwriting alone is subtracted), and by CUDA events around each of 100 eager calls after
3 warm-up calls, as KernelBench times; the device is used by one process at a time. Each candidate has a process of its
own; rows that are already in OUTPUT are skipped.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import math
import multiprocessing
import os
import statistics
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

LIMIT_S = 120.0
NO_MEMORY = "out of memory"  # another process may have held it: such rows are tried again
PRECISION_RATIO, PRECISION_FLOOR, WRONG = 4.0, 1e-7, 1e-2
WARM_UP_CALLS, EVENT_CALLS = 3, 100
OVERWRITTEN_BYTES = 256 << 20  # more than any L2
DEVICE = "cuda"
CHUNK = 1 << 26  # elements that are compared at a time


def outputs_of(value: Any) -> list[Any]:
    """All tensors of a nested output, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in outputs_of(item)]
    return [value] if hasattr(value, "element_size") else []


def error(got: list[Any], exact: list[Any]) -> float:
    """Largest relative root mean square error over the outputs; infinite if they do not correspond."""
    if len(got) != len(exact):
        return float("inf")
    worst = 0.0
    for mine, want in zip(got, exact, strict=True):
        if mine.shape != want.shape:
            return float("inf")
        worst_here, squares, total = 0.0, 0.0, 0.0
        for mine_part, want_part in zip(mine.reshape(-1).split(CHUNK), want.reshape(-1).split(CHUNK), strict=True):
            difference, size = mine_part.double() - want_part.double(), want_part.double()
            worst_here = max(worst_here, float(difference.abs().max()) if difference.numel() else 0.0)
            squares += float(difference.square().sum())
            total += float(size.square().sum())
        value = math.sqrt(squares / total) if total > 0 else worst_here
        worst = max(worst, value if value == value else float("inf"))
    return worst


class DeviceLock:
    """One process at a time on the device; released when its holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> None:
        self._file = self._path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


class Pair:
    """Reference and candidate of one row, with the same weights, and the inputs."""

    def __init__(self, row: dict[str, Any]) -> None:
        import torch

        from foretell.kernels.languages.python_source import load_module

        self._row, self._load = row, load_module
        self.reference_module = load_module(row["reference"])
        given = getattr(self.reference_module, "get_init_inputs", list)()
        self.arguments = list(given) if isinstance(given, list | tuple) else []
        torch.manual_seed(0)
        with torch.no_grad():
            self.model = self.reference_module.Model(*self.arguments)

    def inputs(self, seed: int) -> list[Any]:
        """Drawn on the device if the problem's code allows that, which is much faster for large ones."""
        import torch

        torch.manual_seed(seed)
        try:
            with torch.device(DEVICE):
                drawn = self.reference_module.get_inputs()
        except RuntimeError:
            drawn = self.reference_module.get_inputs()
        return [x.to(DEVICE) if hasattr(x, "element_size") else x for x in drawn]

    def candidate(self) -> Callable[..., Any]:
        """The candidate as a function of the inputs; loaded as late as possible: it may change global settings."""
        import torch

        from foretell.kernels.languages.python_source import entry_of

        major, minor = torch.cuda.get_device_capability()
        os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}"  # as in the bench, so that its builds are found
        torch.manual_seed(0)
        made = SimpleNamespace(model=self.model)
        return entry_of(self._load(self._row["candidate"]), self.arguments, DEVICE, reference=lambda: made)


def mark(row: dict[str, Any], lock: DeviceLock) -> dict[str, Any]:
    import torch

    pair = Pair(row)
    inputs = pair.inputs(1)
    with torch.no_grad():
        exact_model = pair.reference_module.Model(*pair.arguments)
        exact_model.load_state_dict(pair.model.state_dict())
        exact_model = exact_model.to(DEVICE).double()
        lifted = [x.double() if hasattr(x, "is_floating_point") and x.is_floating_point() else x for x in inputs]
        exact = outputs_of(exact_model(*lifted))
        del lifted, exact_model
        model = pair.model.to(DEVICE)
        eager = outputs_of(model(*inputs))
        eager_error = error(eager, exact)
        run = pair.candidate()
        started = time.perf_counter()
        got = outputs_of(run(*inputs))
        torch.cuda.synchronize()
        first_s = time.perf_counter() - started
        own_error, apart = error(got, exact), error(got, eager)
        del got, exact, eager
        run(*inputs)
        for old, new in zip(inputs, pair.inputs(2), strict=True):
            if hasattr(old, "copy_"):
                old.copy_(new)
        eager_fresh = outputs_of(model(*inputs))
        apart_fresh = error(outputs_of(run(*inputs)), eager_fresh)
    return {
        "runs": True,
        "right": apart <= WRONG,
        "error": own_error,
        "eager_error": eager_error,
        "reduced_precision": own_error > PRECISION_RATIO * max(eager_error, PRECISION_FLOOR),
        "caches_results": apart <= WRONG < apart_fresh,
        "first_call_s": first_s,
    }


def time_both(row: dict[str, Any], lock: DeviceLock) -> dict[str, Any]:
    import torch

    pair = Pair(row)
    torch.zeros(1, device=DEVICE)
    with torch.no_grad():
        inputs = pair.inputs(1)
        model = pair.model.to(DEVICE)
        with lock:
            answer: dict[str, Any] = {"reference": _timed(lambda: model(*inputs))}
        run = pair.candidate()  # which may build for a while
        with lock:
            answer["candidate"] = _timed(lambda: run(*inputs))
            torch.cuda.synchronize()
    return answer


def _timed(call: Callable[[], Any]) -> dict[str, Any]:
    import torch
    from triton.testing import do_bench_cudagraph

    from foretell.kernels.languages import extension

    for _ in range(WARM_UP_CALLS):
        call()
    torch.cuda.synchronize()
    samples = []
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(EVENT_CALLS):
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end) * 1e3)
        if sum(samples) > 2e6:
            break
    result: dict[str, Any] = {"event_us": statistics.mean(samples)}

    def captured() -> Any:
        with extension.standing_in(torch.cuda.current_stream().cuda_stream):  # for what launches on the default stream
            return call()

    try:
        with torch.cuda.stream(torch.cuda.Stream()):
            result["graph_us"] = float(do_bench_cudagraph(captured, rep=50, return_mode="median")) * 1e3
            cache = torch.empty(OVERWRITTEN_BYTES, dtype=torch.int8, device=DEVICE)
            both_ms = do_bench_cudagraph(lambda: (cache.zero_(), captured()), rep=50, return_mode="median")
            alone_ms = do_bench_cudagraph(cache.zero_, rep=50, return_mode="median")
            result["cold_graph_us"] = float(both_ms - alone_ms) * 1e3
    except Exception as failure:  # foreign code, which may not be capturable; the reason is kept
        result["graph_error"] = f"{type(failure).__name__}: {failure}"[:200]
        torch.cuda.synchronize()
    return result


def _child(job: Callable[..., Any], row: dict[str, Any], lock: Any, connection: Any) -> None:
    try:
        connection.send(job(row, lock))
    except BaseException as failure:  # foreign code: whatever it raises is its result
        text = "".join(traceback.format_exception_only(failure)).strip()
        connection.send({"runs": False, "failure": text[:600]})
    connection.close()


def run_all(job: Callable[..., Any], rows: list[dict[str, Any]], output: Path, processes: int, limit_s: float) -> None:
    import torch  # noqa: F401 - before the fork, so that it is imported once
    import triton  # noqa: F401

    context = multiprocessing.get_context("fork")
    lock = DeviceLock(output.with_suffix(".lock"))
    answers = [json.loads(line) for line in output.read_text().splitlines()] if output.exists() else []
    answers = [answer for answer in answers if NO_MEMORY not in answer.get("failure", "")]
    output.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    done = {answer["id"] for answer in answers}
    deadline = time.monotonic() + limit_s

    def one(row: dict[str, Any]) -> None:
        if row["id"] in done or time.monotonic() > deadline:
            return
        started = time.perf_counter()
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(job, row, lock, theirs))
        process.start()
        theirs.close()
        answer: dict[str, Any] = {"runs": False, "failure": f"did not finish within {LIMIT_S:g} s"}
        try:
            if ours.poll(LIMIT_S):
                answer = ours.recv()
        except EOFError:
            process.join(5)
            answer = {"runs": False, "failure": f"the process died with exit code {process.exitcode}"}
        if process.is_alive():
            process.join(5)
            process.kill()
        line = json.dumps({"id": row["id"], "wall_s": time.perf_counter() - started} | answer)
        with output.open("a") as file:
            file.write(line + "\n")

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(one, rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("mark", "time"))
    parser.add_argument("set", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=500.0, help="start no further candidate after that long")
    arguments = parser.parse_args()
    rows = json.loads(arguments.set.read_text())
    job = mark if arguments.what == "mark" else time_both
    run_all(job, rows, arguments.output, arguments.processes, arguments.seconds)
    answers = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    print(f"{len(answers)} rows, {sum('failure' in a for a in answers)} failed")


if __name__ == "__main__":
    main()
