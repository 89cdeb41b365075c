"""PyTorch as it is and compiled, for the operations of live_search on a GPU.

    python -m benchmarks.torch_baselines --into runs/live_gpu

Each is captured into a CUDA graph and timed by events, the second-level cache flushed before every run, the two taking
turns; medians. `python -m benchmarks.live_search sum gpu` puts the figures beside the searches'.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.live_search import GPU_TASKS
from foretell.kernels.library import get
from foretell.kernels.tasks.runtime import runtime_of

RUNS = 30
FLUSH_BYTES = 256 << 20


def timed_us(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """The median microseconds of each call, taking turns on a cold cache."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    graphs = []
    for call in calls:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        graphs.append(graph)
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(RUNS):
        for graph, own in zip(graphs, taken, strict=True):
            flush.zero_()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            own.append(begin.elapsed_time(end) * 1e3)
    return [median(own) for own in taken]


def row(name: str) -> dict[str, Any]:
    task = get(name, "gpu")
    runtime = runtime_of(task)
    plain = runtime.reference("cuda")
    compiled = torch.compile(plain, dynamic=False)
    eager_us: dict[str, float] = {}
    compiled_us: dict[str, float] = {}
    for workload in task.workloads:
        inputs = runtime.inputs(workload, 0, "cuda")
        both = timed_us([partial(plain, *inputs), partial(compiled, *inputs)])
        eager_us[workload.name], compiled_us[workload.name] = both
    ratio = 1.0
    for name_, us in eager_us.items():
        ratio *= (us / compiled_us[name_]) ** (1.0 / len(eager_us))
    return {"eager_us": eager_us, "compiled_us": compiled_us, "speedup": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path("runs/live_gpu"))
    chosen = parser.parse_args()
    found = {}
    for name, _ in GPU_TASKS:
        try:
            found[name] = row(name)
        except RuntimeError as error:  # one operation that cannot be compiled or captured must not lose the others
            found[name] = {"message": str(error)[:300], "speedup": None, "eager_us": {}}
        print(name, found[name]["speedup"], found[name].get("message", ""), flush=True)
        torch.compiler.reset()
    chosen.into.mkdir(parents=True, exist_ok=True)
    (chosen.into / "compiled.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
