"""Policies on a real device, for equal device seconds: operations that the shipped model never saw, several seeds.

    python -m benchmarks.live_search run gpu --seconds 600 --into runs/live_gpu     # again and again until it is done
    python -m benchmarks.live_search run cpu --into runs/live_cpu
    python -m benchmarks.live_search sum gpu --into runs/live_gpu                   # the JSON of what is done

`python -m benchmarks.search_page` makes the page. Every run is a real search with its journal under --into; the same
command goes on where the last one was stopped. All runs of an operation share one bench: a candidate that a run has
measured is not measured again for another, which is charged the seconds that it took the first time. So policies that
choose the same candidates get the same figures, and differences are those of choice. Each winner is measured afresh at
the end. No audits: all seconds go to what a policy chooses.

Several processes may work side by side, each on its own `--tasks`: one at a time has the device, and what a run waited
for it is not in its wall time.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np

from benchmarks.machine import describe
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device, roofline_s
from foretell.kernels.forecast import make as make_forecaster
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement
from foretell.kernels.policy import make_policy
from foretell.kernels.profiles import QUICK, Budgets
from foretell.kernels.propose.names import make_proposer
from foretell.kernels.protocols import Bench, Build
from foretell.kernels.search import FileJournal, RunState, Search, SearchConfig, load_run, make_strategy
from foretell.kernels.store.journal import JOURNAL_NAME
from foretell.kernels.task import Task
from foretell.parts import bench_of

RESULTS = Path("benchmarks/results")
POLICIES = ("random", "top", "selective", "value")
SEEDS = range(5)
MEASURED, CONSIDERED = 24, 4  # measurements that the seconds pay for, candidates for each
SLACK = 1.4  # times as many candidates may be looked at, so that seconds end a run: fast kernels are measured faster
STRATEGY = "puct"
TIE = 0.98  # a share of another's best speedup that counts as no worse: as close as two measurements of one kernel
RESAMPLES = 2000
# Held out of the shipped model's training: whole operations, then whole families.
GPU_TASKS = (
    ("add_layernorm", "triton"),
    ("argmax_columns", "triton"),
    ("batched_matvec", "cuda"),
    ("column_mean_square", "triton"),
    ("embedding_bag", "cuda"),
    ("kl_div_rows", "triton"),
    ("row_var", "cuda"),
    ("softmax_causal", "triton"),
    ("bincount_rows", "cuda"),
    ("global_avg_pool", "triton"),
    ("linear_recurrence", "triton"),
    ("max_pool2d", "triton"),
)
CPU_TASKS = (
    ("avg_pool2d", "cpp"),
    ("geglu", "cpp"),
    ("kl_div_rows", "cpp"),
    ("max_pool2d", "cpp"),
    ("permute_021", "cpp"),
    ("row_var", "cpp"),
    ("sobel", "cpp"),
    ("attention", "cpp"),
    ("conv2d", "cpp"),
    ("layernorm", "cpp"),
    ("matmul", "cpp"),
    ("softmax", "cpp"),
)
TASKS = {"gpu": GPU_TASKS, "cpu": CPU_TASKS}
# The shipped model knows some of the CPU tasks: there the run's own measurements and physics are all that is known.
FORECASTER = {"gpu": "online", "cpu": "online:roofline"}


class SharedBench:
    """A bench that remembers what it built and measured, in a file; what a run asks for twice is measured afresh."""

    def __init__(self, bench: Bench, path: Path) -> None:
        self.device = bench.device
        self.device_s = 0.0
        self.waited_s = 0.0
        self._bench, self._path = bench, path
        self._builds: dict[str, Build] = {}
        self._outcomes: dict[str, list[Measurement]] = {}
        self._times: dict[str, int] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                found = json.loads(line)
            except ValueError:
                continue  # cut off while it was written
            if "build" in found:
                self._builds[found["id"]] = Build.from_dict(found["build"])
            else:
                self._outcomes.setdefault(found["id"], []).append(Measurement.from_dict(found["measurement"]))

    def begin(self) -> None:
        """A new run: each candidate's first measurement is the one on record."""
        self._times = {}

    def build(self, task: Task, candidates: Sequence[Candidate]) -> list[Build]:
        new = [candidate for candidate in candidates if candidate.id not in self._builds]
        for candidate, build in zip(new, self._bench.build(task, new) if new else (), strict=True):
            self._builds[candidate.id] = replace(build, artifact=None)
            self._write({"id": candidate.id, "build": self._builds[candidate.id].to_dict()})
        return [self._builds[candidate.id] for candidate in candidates]

    def measure(
        self, task: Task, candidates: Sequence[Candidate], hopeless_below: float | None = None
    ) -> Iterator[tuple[Candidate, Measurement]]:
        """Never stopped early: what is hopeless in one run need not be in another."""
        for candidate in candidates:
            time_number = self._times.get(candidate.id, 0)
            self._times[candidate.id] = time_number + 1
            known = self._outcomes.setdefault(candidate.id, [])
            if len(known) <= time_number:
                with self._alone():
                    outcomes = [outcome for _, outcome in self._bench.measure(task, [candidate], None)]
                for outcome in outcomes:
                    known.append(outcome)
                    self.device_s += outcome.cost.device_s
                    self._write({"id": candidate.id, "measurement": outcome.to_dict()})
            yield candidate, known[min(time_number, len(known) - 1)]

    def close(self) -> None:
        self._bench.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process that measures into this folder has the device meanwhile."""
        began = time.monotonic()
        with (self._path.parent / "device.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.waited_s += time.monotonic() - began
            yield

    def _write(self, found: Mapping[str, Any]) -> None:
        with self._path.open("a") as file:
            file.write(json.dumps(found) + "\n")


def allowance_s(task: Task, language: str, bench: SharedBench) -> float:
    """Device seconds for a run: what `MEASURED` typical candidates of the proposer take, by a dozen drawn at random.

    The median: the first one also pays for making the inputs.
    """
    rng = np.random.default_rng(2026)
    root = Candidate(task.name, *next(iter(task.references.items())))
    drawn = make_proposer("template", task, language).propose(task, [root], 16, rng, set())
    built = [c for c, b in zip(drawn, bench.build(task, drawn), strict=True) if b.ok][:12]
    bench.begin()
    return MEASURED * median(m.cost.device_s for _, m in bench.measure(task, built))


def run_one(kind: str, task: Task, language: str, policy: str, seed: int, bench: SharedBench, folder: Path) -> RunState:
    spend_s = allowance_s(task, language, bench)
    budgets = Budgets(10 * MEASURED, spend_s, round(SLACK * CONSIDERED * MEASURED))
    profile = replace(QUICK, name="live", budgets=budgets, audit_share=0.0)
    bench.begin()
    search = Search(
        task,
        bench,
        make_proposer("template", task, language),
        make_forecaster(FORECASTER[kind], seed),
        make_strategy(STRATEGY, profile),
        make_policy(policy, profile),
        SearchConfig(language, seed, profile),
        FileJournal(folder, fsync=False),
    )
    return search.resume() if (folder / JOURNAL_NAME).exists() else search.run()


def run(kind: str, seconds: float, into: Path, wanted: Sequence[str]) -> None:
    deadline = time.monotonic() + seconds
    into.mkdir(parents=True, exist_ok=True)
    with bench_of(kind) as raw:
        for seed in SEEDS:  # whole rounds of all operations, so that what is done when time is up is a fair part
            for name, language in TASKS[kind]:
                if wanted and name not in wanted:
                    continue
                bench = SharedBench(raw, into / f"{name}.jsonl")
                for policy in POLICIES:
                    folder = into / f"{name}-{policy}-{seed}"
                    if (folder / "wall.json").exists():
                        continue
                    if time.monotonic() > deadline:
                        print("the time is up", flush=True)
                        return
                    began, spent, waited = time.monotonic(), bench.device_s, bench.waited_s
                    state = run_one(kind, get(name, kind), language, policy, seed, bench, folder)
                    took = time.monotonic() - began - (bench.waited_s - waited)
                    wall = {"wall_s": took, "new_device_s": bench.device_s - spent}
                    (folder / "wall.json").write_text(json.dumps(wall))
                    best = state.best.verified if state.best else None
                    speedup = best.speedup if best and best.speedup else float("nan")
                    print(
                        f"{name:22}{policy:10} {seed} {speedup:6.2f}x {state.measured:3} of {state.considered}",
                        flush=True,
                    )


def summed(kind: str, into: Path) -> None:
    rows = []
    for name, language in TASKS[kind]:
        known = _measured(into / f"{name}.jsonl")
        for policy in POLICIES:
            for seed in SEEDS:
                folder = into / f"{name}-{policy}-{seed}"
                if (folder / "wall.json").exists():
                    wall = json.loads((folder / "wall.json").read_text())
                    head = {"task": name, "language": language, "policy": policy, "seed": seed}
                    rows.append(head | _row(folder, known) | wall)
    settings = {
        "measured": MEASURED,
        "considered": CONSIDERED,
        "slack": SLACK,
        "strategy": STRATEGY,
        "forecaster": FORECASTER[kind],
    }
    found = {"machine": asdict(_device(into, kind)), "host": describe(), "settings": settings, "rows": rows}
    if kind == "gpu":
        compiled = into / "compiled.json"  # by benchmarks.torch_baselines
        found["compiled"] = json.loads(compiled.read_text()) if compiled.exists() else {}
        found["floor_us"] = {name: _floors_us(name, _device(into, kind)) for name, _ in GPU_TASKS}
    (RESULTS / f"live_search_{kind}.json").write_text(json.dumps(found, indent=1, default=str) + "\n")


def _device(into: Path, kind: str) -> Any:
    return load_run(next(folder for folder in sorted(into.iterdir()) if (folder / JOURNAL_NAME).exists())).device


def _floors_us(name: str, device: Device) -> dict[str, float]:
    task = get(name, "gpu")
    return {w.name: roofline_s(task, w, device) * 1e6 for w in task.workloads}


def _measured(path: Path) -> dict[str, float]:
    """The speedup of every candidate of an operation that any run has measured and that works."""
    found: dict[str, float] = {}
    for line in path.read_text().splitlines():
        data = json.loads(line)
        speedup = data["measurement"].get("speedup") if "measurement" in data else None
        if speedup:
            found.setdefault(data["id"], float(speedup))
    return found


def _row(folder: Path, known: Mapping[str, float]) -> dict[str, Any]:
    state = load_run(folder)
    verified = state.best.verified if state.best else None
    spent = [node.measurement.cost.device_s for node in state.nodes.values() if node.measurement and node.build.ok]
    return {
        "best": verified.speedup if verified else None,
        "low": verified.low if verified else None,
        "high": verified.high if verified else None,
        "times_us": {t.workload: float(np.median(t.candidate_us)) for t in verified.timings} if verified else {},
        "seen": max((known[i] for i in state.nodes if i in known), default=None),
        "got": max((n.measurement.speedup or 0.0 for n in state.nodes.values() if n.measurement), default=None),
        "reference_us": {t.workload: float(np.median(t.reference_us)) for t in verified.timings} if verified else {},
        "considered": state.considered,
        "measured": state.measured,
        "failed": sum(state.failures.values()),
        "device_s": round(sum(spent), 3),
        "winner": state.best.id if state.best else None,
    }


def compared(rows: Sequence[Mapping[str, Any]], other: str) -> tuple[float, float, float]:
    """Geometric mean of best(value) / best(other), paired by seed, with a 95 % interval over operations."""
    ratios = []
    for name in sorted({row["task"] for row in rows}):
        best = {(r["policy"], r["seed"]): r["best"] or 1.0 for r in rows if r["task"] == name}
        seeds = [seed for policy, seed in best if policy == "value" and (other, seed) in best]
        ratios.append(mean(np.log(best["value", seed] / best[other, seed]) for seed in seeds))
    draws = np.random.default_rng(0).choice(np.array(ratios), (RESAMPLES, len(ratios))).mean(axis=1)
    return tuple(float(np.exp(x)) for x in (np.mean(ratios), *np.quantile(draws, (0.025, 0.975))))  # type: ignore[return-value]


def _geomean(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(np.exp(np.mean([np.log(row["best"] or 1.0) for row in rows])))


_TRIED = """Tried for more over `top`, in vain: waiting longer or shorter for better candidates, one or two measurements
at a time, and a share of the first measurements spread over the forecasts (slow kernels ate the seconds).
`value` falls behind where forecasts mislead: histograms, pooling and recurrences are of families never learnt from."""


def section(kind: str, found: Mapping[str, Any]) -> Iterator[str]:
    rows, settings = found["rows"], found["settings"]
    names = list(dict.fromkeys(row["task"] for row in rows))
    yield from ("", f"## {found['machine'].get('name') or kind}", "")
    yield (
        f"{len(names)} operations, {len({r['seed'] for r in rows})} seeds; device seconds for about "
        f"{settings['measured']} measurements, {settings['considered']} candidates for each; forecaster "
        f"`{settings['forecaster']}`, strategy "
        f"`{settings['strategy']}`. Best speedup over the reference, geometric mean over seeds."
    )
    yield from ("", "| operation | " + " | ".join(POLICIES) + " | `value` no worse than |", "| --- |" + " --- |" * 5)
    ties = 0
    for name in names:
        means = {p: _geomean([r for r in rows if r["task"] == name and r["policy"] == p]) for p in POLICIES}
        behind = [p for p in POLICIES if means["value"] < TIE * means[p]]
        ties += not behind
        cells = " | ".join(f"{means[p]:.2f}" for p in POLICIES)
        yield f"| `{name}` | {cells} | {'all' if not behind else 'not ' + ', '.join(behind)} |"
    yield ""
    for other in POLICIES[:-1]:
        value, low, high = compared(rows, other)
        yield f"- `value` / `{other}`: {value:.3f} [{low:.3f}, {high:.3f}]"
    yield from (
        "",
        "Asked: 1.05 of `random`, 1.02 of `top`, and no worse than any other on 11 of 12; "
        f"that is {ties} of {len(names)}.",
    )
    if kind == "gpu":
        yield from ("", _TRIED)
    heads = ("measured", "considered", "failed", "device s", "wall s", "of the best it looked at")
    yield from ("", "| policy | " + " | ".join(heads) + " |", "| --- |" + " --- |" * len(heads))
    for policy in POLICIES:
        own = [row for row in rows if row["policy"] == policy]
        keys = ("measured", "considered", "failed", "device_s", "wall_s")
        share = float(np.exp(np.mean([np.log(row["got"] / row["seen"]) for row in own if row["got"] and row["seen"]])))
        cells = " | ".join(f"{mean(row[key] for row in own):.1f}" for key in keys)
        yield f"| {policy} | {cells} | {share:.3f} |"
    yield ""
    yield (
        "*Of the best it looked at*: the fastest that a policy measured over the fastest, by anybody's measurement, of "
        "all candidates that it considered: what better choosing alone could still have gained."
    )
    if "floor_us" in found:
        yield from _beside_pytorch(rows, found["floor_us"], found["compiled"])


def _beside_pytorch(
    rows: Sequence[Mapping[str, Any]], floors: Mapping[str, Any], compiled: Mapping[str, Any]
) -> Iterator[str]:
    """The best winner of `value` beside PyTorch as it is, compiled, and the least time that physics allows."""
    heads = ("eager us", "`torch.compile`", "`value`'s best", "of all policies", "floor over best")
    yield from ("", "### Beside PyTorch", "", "| operation | " + " | ".join(heads) + " |", "| --- |" + " --- |" * 5)
    faster = ahead = timed = 0
    for name, floor_us in floors.items():
        own = [row for row in rows if row["task"] == name and row["best"]]
        value = max((row for row in own if row["policy"] == "value"), key=lambda row: row["best"])
        best = max(own, key=lambda row: row["best"])
        faster += value["best"] > 1.0
        share = float(np.exp(np.mean([np.log(floor_us[workload] / us) for workload, us in best["times_us"].items()])))
        eager = ", ".join(f"{us:.1f}" for us in best["reference_us"].values())
        gained = compiled.get(name, {}).get("speedup")
        timed += gained is not None
        ahead += gained is not None and value["best"] > gained
        cells = (eager, f"{gained:.2f}" if gained else "not measured", f"{value['best']:.2f}", f"{best['best']:.2f}")
        yield f"| `{name}` | {' | '.join(cells)} | {share:.0%} |"
    yield from (
        "",
        f"`value`'s best winner over its seeds is faster than eager PyTorch on {faster} of {len(floors)} operations, "
        f"and faster than `torch.compile` on {ahead} of {timed} (`python -m benchmarks.torch_baselines`, timed apart).",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "sum"))
    parser.add_argument("kind", nargs="?", choices=tuple(TASKS), default="gpu")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after this many")
    parser.add_argument("--into", type=Path, default=Path("runs/live"))
    parser.add_argument("--tasks", nargs="+", default=())
    chosen = parser.parse_args()
    if chosen.what == "run":
        run(chosen.kind, chosen.seconds, chosen.into, chosen.tasks)
    else:
        summed(chosen.kind, chosen.into)


if __name__ == "__main__":
    main()
