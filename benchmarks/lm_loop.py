"""What a language model reached by `foretell ask` and `foretell tell` on a GPU, from the journals in examples/ask_tell.

python -m benchmarks.lm_loop

Figures go to benchmarks/results/lm_loop.json; `python -m benchmarks.search_page` puts them on the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.kernels.search import load_run

RUNS = Path("examples/ask_tell")
RESULTS = Path("benchmarks/results/lm_loop.json")
LIVE = Path("benchmarks/results/live_search_gpu.json")


def row(folder: Path) -> dict[str, Any]:
    state = load_run(folder)
    nodes = list(state.nodes.values())
    measured = [n for n in nodes if n.measurement is not None]
    rounds: dict[int, list[float]] = {}
    for node in measured:
        if node.measurement is not None and node.measurement.speedup:
            rounds.setdefault(node.round, []).append(node.measurement.speedup)
    told = [
        (n.forecast.median, n.measurement.log2_speedup)
        for n in measured
        if n.forecast is not None and n.measurement is not None and n.measurement.ok
    ]
    best = state.best.verified if state.best else None
    return {
        "task": state.config["task"],
        "language": state.config["language"],
        "device": state.device.name,
        "candidates": len(nodes),
        "authors": sorted({n.candidate.origin.kind for n in nodes}),
        "measured": len(measured),
        "failed": sum(state.failures.values()),
        "device_s": round(sum(n.measurement.cost.device_s for n in measured if n.measurement), 2),
        "best_by_round": [round(max(speedups), 3) for _, speedups in sorted(rounds.items())],
        "best": best.speedup if best else None,
        "low": best.low if best else None,
        "high": best.high if best else None,
        "forecast_error_log2": round(float(np.mean([abs(a - b) for a, b in told])), 3),
    }


def section(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    live = json.loads(LIVE.read_text())["rows"] if LIVE.exists() else []
    yield from (
        "",
        "## A language model in the loop",
        "",
        "Whole programs written by a language model that followed `foretell ask` and `foretell tell` "
        "([how](../ask_tell.md)) in three rounds, without running anything itself; journals in `examples/ask_tell/`. "
        "*Templates*: the best that any search above found for the operation.",
        "",
        "| operation | candidates | measured | failed | best after each round | winner, verified | templates |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    )
    for r in rows:
        template = max((x["best"] for x in live if x["task"] == r["task"] and x["best"]), default=None)
        best = f"{r['best']:.2f} [{r['low']:.2f}, {r['high']:.2f}]"
        running = np.maximum.accumulate(r["best_by_round"])
        yield (
            f"| `{r['task']}` ({r['language']}) | {r['candidates']} | {r['measured']} | {r['failed']} | "
            f"{', '.join(f'{s:.2f}' for s in running)} | {best} | {f'{template:.2f}' if template else ''} |"
        )


def main() -> None:
    rows = [row(folder) for folder in sorted(RUNS.iterdir()) if folder.is_dir()]
    RESULTS.write_text(json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
