"""docs/results/gpu_bench.md from the JSON that `benchmarks.gpu_bench` wrote; parts without a result are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAGE = Path("docs/results/gpu_bench.md")
PARTS = {
    "retest": "test-retest of 300 candidates in separate processes",
    "guards": "all exploits and controls in one run",
    "faults": "200 candidates with 40 hostile ones among them",
    "kernelbench": "the comparison with KernelBench's evaluator",
}


def write_page(results: Path) -> None:
    lines = [
        "# The GPU bench",
        "",
        "Made by `python -m benchmarks.gpu_bench` on a GPU machine (bare PyTorch image, `PYTHONPATH=src`, nothing",
        "installed) and `python -m benchmarks.gpu_bench page`; data in `benchmarks/results/gpu_*.json`.",
        "",
        "## Throughput, end to end",
        "",
        "Build, three fresh-seed checks per timed workload, an untimed shape, paired timing (at least 9 pairs a",
        "workload, L2 flushed, CUDA graphs), a last round on new data. Each candidate is distinct; caches were empty.",
        "",
    ]
    for language in ("triton", "cuda"):
        path = results / f"gpu_throughput_{language}.json"
        if path.exists():
            lines += _throughput(language, json.loads(path.read_text()))
    missing = [words for name, words in PARTS.items() if not (results / f"gpu_{name}.json").exists()]
    if missing:
        lines += ["## Not measured yet", ""] + [f"- {words}" for words in missing] + [""]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n".join(lines))


def _throughput(language: str, data: dict[str, Any]) -> list[str]:
    device = data["device"]
    spent = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in data["spent_s"].items())
    statuses = ", ".join(f"{count} {name}" for name, count in sorted(data["statuses"].items()))
    busy = data["kernel_s"] / data["seconds"]
    return [
        f"**{language}** on {device['name']} ({device['toolchain']}):",
        "",
        f"- {data['candidates']} candidates of {data['tasks']} operations in {data['seconds']:.0f} s: "
        f"**{data['per_second']:.1f} a second**.",
        f"- How they ended: {statuses}.",
        f"- Where the time went: judging {data['judging_s']:.0f} s ({spent}); opening problems "
        f"{data['opening_s']:.0f} s; waiting for builds {data['waiting_for_builds_s']:.0f} s. Builds took "
        f"{data['build_core_s']:.0f} core-seconds beside it.",
        f"- Timed kernels, reference and candidate, ran for {data['kernel_s']:.0f} s: {busy:.0%} of the wall clock. "
        "That is the limit no bench with these pairs can pass; the rest is checks, comparisons and waiting.",
        f"- Worker starts: {data['worker_starts']}.",
        "",
    ]
