"""Trusted replay on a GPU: agreement with the method `worker`, speed, repeatability, faults, exploits.

    PYTHONPATH=src python -m benchmarks.trust.measure FOLDER [--set SET.json] [--seconds 380] [--parts guards,faults]

Each part appends its rows to FOLDER/PART.jsonl as it goes and prints them; rows that are there are skipped, so that the
command can be repeated until it says that all is done. SET.json is the acceptance set (benchmarks.acceptance.draw).
What the parts show is written to FOLDER/trust.json every time.

Parts: `attacks` (those of tests/redteam/gpu, none of which may be faster than the honest kernel beside it), `guards`
(controls, all of which must be ok, and exploits, none of which may be ok with a speedup beyond the best control's:
one that patches the clock of a process in which it is not timed is an honest kernel), `starts` (seconds until
processes stand ready), `throughput` (candidates per second: 12 of Triton and 25 of CUDA are asked), `retest` (two
passes over 60: 0.5 % median is asked), `labels` (300 rows of the corpus: 1 % median is asked), `labels_worker` (as a
control, the same rows on this machine by the method that made the labels), `faults` (160 honest candidates with 40
hostile ones among them, and some whose processes are killed: 160 clean results are asked), `acceptance` (speedups by
replay and by `worker`, the share that is replayed, reasons for `live`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import Spares, WorkerHandle
from foretell.kernels.bench.gpu.trusted.judge import ReplayJudge
from foretell.kernels.bench.gpu.trusted.process import JOB
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import templates
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement
from foretell.kernels.profiles import GPU_BENCH, GpuEffort
from foretell.kernels.task import Task
from foretell.kernels.tasks import kernelbench

REPLAY, WORKER = replace(GPU_BENCH, method="replay"), replace(GPU_BENCH, method="worker")
AT_ONCE = 10  # candidates with faults among them, so that the next ones are made ready meanwhile
KILL_EVERY = 97  # commands to replayers: about one replayer in ten candidates is killed
LABELS = 300
UNEARNED = 1.05  # times the best control's speedup
ATTACKS = Path("tests/redteam/gpu")
Row = dict[str, Any]


class Rows:
    """The rows of one part, kept in a file line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[Row] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        self.done = {row["key"] for row in self.rows}

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.done.add(row["key"])
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        shown = ("key", "status", "speedup", "trust", "wall_s", "message")
        words = {name: row[name] for name in shown if row.get(name)}
        print(f"{self._path.stem}: {words}", flush=True)


def row_of(key: str, outcome: Measurement, **more: Any) -> Row:
    return {
        "key": key,
        "status": outcome.status.value,
        "message": outcome.message[:200],
        "speedup": outcome.speedup,
        "trust": outcome.trust,
        "reason": str(outcome.conditions.get("trust_reason", ""))[:200],
        "timed": outcome.conditions.get("timed"),
        "expected": outcome.conditions.get("expected"),
        "tf32": outcome.conditions.get("tf32"),
        "unexplained_us": outcome.conditions.get("unexplained_us"),
        "candidate_us": [statistics.median(t.candidate_us) for t in outcome.timings],
        "pairs": sum(len(t.candidate_us) for t in outcome.timings),
        "wall_s": round(outcome.cost.wall_s, 4),
        **more,
    }


def measured(bench: GpuBench, task: Task, candidates: Sequence[Candidate], over: Callable[[], bool]) -> Iterator[Any]:
    """Outcomes until time is over; what is under way then is finished."""
    for candidate, outcome in bench.measure(task, candidates):
        yield candidate, outcome
        if over():
            return


def sample(
    language: str, per_task: int, seed: int, tasks: int = 0, names: Sequence[str] = ()
) -> dict[str, list[Candidate]]:
    """Distinct candidates of the tasks of these names, or of so many tasks evenly spaced in the library."""
    rng, found = np.random.default_rng(seed), templates(language)
    samples = {}
    for name in names or list(found)[:: max(1, len(found) // tasks)][:tasks]:
        settings = found[name].settings()
        distinct: dict[str, Candidate] = {}
        for index in rng.permutation(len(settings)):
            candidate = found[name].candidate(settings[int(index)])
            distinct.setdefault(candidate.id, candidate)
            if len(distinct) == per_task:
                break
        samples[name] = list(distinct.values())
    return samples


def guards(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    from tests.kernels.bench.gpu.controls import CONTROLS
    from tests.kernels.bench.gpu.exploits import EXPLOITS

    task = get("softmax", "gpu")
    entries = {f"control {e.name}": e for e in CONTROLS} | {f"exploit {e.name}": e for e in EXPLOITS}
    todo = {key: Candidate("softmax", e.language, e.source) for key, e in entries.items() if key not in rows.done}
    if arguments.controls:
        todo = {key: candidate for key, candidate in todo.items() if key.startswith("control")}
    keys = {candidate.id: key for key, candidate in todo.items()}
    with closing(GpuBench(REPLAY)) as bench:
        for candidate, outcome in measured(bench, task, list(todo.values()), over):
            rows.add(row_of(keys[candidate.id], outcome))


def attacks(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    """Attacks of the red team, and the honest kernels that they are compared with."""
    groups: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(ATTACKS.glob("*.py")):
        if path.name.endswith(".problem.py") or path.stem in rows.done:
            continue
        problem = path.with_suffix(".problem.py")
        groups[str(problem) if problem.exists() else path.read_text().partition("# task: ")[2].split()[0]].append(path)
    with closing(GpuBench(REPLAY)) as bench:
        for name, paths in groups.items():
            is_problem = name.endswith(".py")
            task = kernelbench.from_text(Path(name).read_text(), Path(name).stem) if is_problem else get(name, "gpu")
            keys = {Candidate(task.key, "triton", path.read_text()).id: path.stem for path in paths}
            candidates = [Candidate(task.key, "triton", path.read_text()) for path in paths]
            for candidate, outcome in measured(bench, task, candidates, over):
                rows.add(row_of(keys[candidate.id], outcome, honest=honest_beside(keys[candidate.id])))
            if over():
                return


def honest_beside(name: str) -> str:
    """The honest kernel that an attack is compared with; empty for one."""
    return (ATTACKS / f"{name}.py").read_text().partition("# honest: ")[2].partition(".py")[0]


def starts(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    """How long it takes until so many processes stand ready that were begun at once, and until they are gone."""
    Spares(count=1).take().ending()  # the server that they are forked from imports torch
    for count in (1, 2, 4, 8, 16):
        if str(count) in rows.done or over():
            continue
        spares, started = Spares(job=JOB, count=count), time.perf_counter()
        spares.fill()
        waiting: list[Any] = [talk.connection for talk in spares._waiting]
        answers, ready_s = [], []
        while waiting:
            for connection in wait(waiting):
                waiting.remove(connection)
                ready_s.append(time.perf_counter() - started)
                answers.append(json.loads(connection.recv_bytes()))  # type: ignore[union-attr]
        closed = time.perf_counter()
        for talk in spares.close():
            talk.ending()
        rows.add({
            "key": str(count), "count": count, "ready_s": [round(each, 3) for each in ready_s],
            "opened_s": round(statistics.median(each["opened_s"] for each in answers), 3),
            "rehearsed_s": round(statistics.median(each["rehearsed_s"] for each in answers), 3),
            "ended_s": round(time.perf_counter() - closed, 3),
        })  # fmt: skip


def throughput(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    """Seconds are counted per task, from opening it to its last candidate, with all builds and recordings begun.

    What is needed once per bench, such as importing torch into the servers that processes are forked from, is apart.
    """
    for language in ("triton", "cuda"):
        drawn = sample(language, 40, seed=24, tasks=arguments.tasks)
        with closing(GpuBench(REPLAY)) as bench:
            todo = {name: c for name, c in drawn.items() if f"{language} {name}" not in rows.done}
            if not todo:
                continue
            started = time.perf_counter()
            bench.warm_up()
            bench.build(
                get("softmax", "gpu"), [c for each in sample(language, 1, 1, names=["softmax"]).values() for c in each]
            )
            rows.add({"key": f"{language} start {len(rows.rows)}", "language": language, "candidates": 0,
                      "opening_s": 0.0, "wall_s": 0.0, "start_s": round(time.perf_counter() - started, 3)})  # fmt: skip
            for name, candidates in todo.items():
                bench.expect(get(name, "gpu"), candidates)
            for name, candidates in todo.items():
                if over():
                    return
                started = time.perf_counter()
                bench.prepare(get(name, "gpu"))
                opened, waited_s = time.perf_counter(), bench.waited_for_build_s
                outcomes = [outcome for _, outcome in bench.measure(get(name, "gpu"), candidates)]
                judge = bench._judge
                clocks = judge[1]._scene.batches if judge and isinstance(judge[1], ReplayJudge) else {}
                rows.add({
                    "reference_ms": {n: [[round(1e3 * f(each), 3) for f in (min, statistics.median)] for each in clock]
                                     for n, clock in clocks.items()},
                    "key": f"{language} {name}", "language": language, "candidates": len(outcomes),
                    "opening_s": round(opened - started, 3), "wall_s": round(time.perf_counter() - opened, 3),
                    "waited_for_build_s": round(bench.waited_for_build_s - waited_s, 3),
                    "statuses": dict(Counter(o.status.value for o in outcomes)),
                    "trusts": dict(Counter(str(o.trust) for o in outcomes)),
                    "spent_s": {n: round(v, 3) for n, v in (judge[1].spent_s if judge else {}).items()},
                    "judged_s": round(sum(o.cost.wall_s for o in outcomes), 3),
                    "pairs": sum(len(t.candidate_us) for o in outcomes for t in o.timings),
                    "messages": dict(Counter(f"{o.status.value}: {o.message[:80]}" for o in outcomes if not o.ok)),
                })  # fmt: skip


def retest(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    for number in range(2):
        with closing(GpuBench(REPLAY)) as bench:
            drawn = {language: sample(language, 8, seed=5, tasks=4) for language in ("triton", "cuda")}
            for samples in drawn.values():
                for name, candidates in samples.items():
                    bench.expect(get(name, "gpu"), [c for c in candidates if f"{number} {c.id}" not in rows.done])
            for samples in drawn.values():
                for name, candidates in samples.items():
                    todo = [c for c in candidates if f"{number} {c.id}" not in rows.done]
                    for candidate, outcome in measured(bench, get(name, "gpu"), todo, over):
                        rows.add(row_of(f"{number} {candidate.id}", outcome, task=name))
                    if over():
                        return


class Killer:
    """Ends a replayer in the middle of its work, every so many commands."""

    def __init__(self) -> None:
        self._asked, self.killed = 0, 0
        self._ask = WorkerHandle.ask

    def __enter__(self) -> Killer:
        killer, ask = self, self._ask

        def asked(handle: WorkerHandle, timeout_s: float, **command: Any) -> dict[str, Any]:
            killer._asked += command["do"] in ("run", "check")
            if killer._asked >= KILL_EVERY and handle._talk is not None:
                killer._asked, killer.killed = 0, killer.killed + 1
                handle._talk.hang_up()
            return ask(handle, timeout_s, **command)

        WorkerHandle.ask = asked  # type: ignore[method-assign,assignment]
        return self

    def __exit__(self, *details: object) -> None:
        WorkerHandle.ask = self._ask  # type: ignore[method-assign]


def faults(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    """Honest candidates once alone and once among hostile ones; then with replayers that are killed."""
    from tests.kernels.bench.gpu.faults import FAULTS

    names = ["softmax", "layernorm", "row_sum", "swiglu"]
    honest = sample("triton", 40, seed=2, names=names)
    hostile = {name: [_planted(fault, name, k) for k, fault in enumerate(FAULTS[:10])] for name in names}
    with closing(GpuBench(REPLAY)) as bench:
        for name in names:  # first, because one that never returns keeps its recorder for minutes
            bench.expect(get(name, "gpu"), [c for k, f, c in hostile[name] if k not in rows.done])
        for name, kind in itertools.product(names, ("alone", "mixed", "killed")):
            batch = [(f"{kind} {c.id}", "", c) for c in honest[name][: 10 if kind == "killed" else 40]]
            for k, each in enumerate(hostile[name] if kind == "mixed" else ()):
                batch.insert(5 * k + 2, each)
            todo = [each for each in batch if each[0] not in rows.done]
            bench.expect(get(name, "gpu"), [candidate for _, _, candidate in todo])
            for start in range(0, len(todo), AT_ONCE):
                if over():
                    return
                some = {candidate.id: (key, words) for key, words, candidate in todo[start:][:AT_ONCE]}
                candidates = [candidate for _, _, candidate in todo[start:][:AT_ONCE]]
                with Killer() if kind == "killed" else nullcontext():
                    for candidate, outcome in bench.measure(get(name, "gpu"), candidates):
                        key, words = some[candidate.id]
                        rows.add(row_of(key, outcome, kind=kind, fault=words))


def _planted(fault: Any, name: str, number: int) -> tuple[str, str, Candidate]:
    """A hostile candidate for a task: key, what it does, and its text, which no other has."""
    text = f"{fault.source}\n# {name} {number}\nMARK_{name}_{number} = {number}\n"
    return f"mixed {fault.name} {name}", fault.name, Candidate(name, fault.language, text)


def acceptance(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace) -> None:
    from benchmarks.acceptance.measure import job

    if arguments.set is None:
        print("acceptance: give --set", flush=True)
        return
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in json.loads(arguments.set.read_text()):
        groups[row["reference"]].append(row)
    for method in ("replay", "worker"):
        with closing(GpuBench(replace(GPU_BENCH, method=method))) as bench:
            for group in groups.values():
                todo = [row for row in group if f"{method} {row['id']}" not in rows.done]
                if not todo:
                    continue
                task, candidates, ids = job(todo)
                try:
                    for candidate, outcome in measured(bench, task, candidates, over):
                        for row_id in ids[candidate.id]:
                            rows.add(row_of(f"{method} {row_id}", outcome, method=method, id=row_id))
                except Exception as error:  # a problem that cannot be worked with is a result
                    for row in todo:
                        words = f"{type(error).__name__}: {error}"[:200]
                        rows.add({"key": f"{method} {row['id']}", "method": method, "id": row["id"],
                                  "status": "task", "message": words, "speedup": None, "trust": None})  # fmt: skip
                if over():
                    return


def labels(rows: Rows, over: Callable[[], bool], arguments: argparse.Namespace, effort: GpuEffort = REPLAY) -> None:
    """Rows of the corpus that are `ok`, drawn at random, against the speedups that it has (by the method `worker`)."""
    from foretell.kernels.corpus.table import read_file

    columns = ["id", "task", "language", "source", "status", "speedup"]
    corpus = [row for row in read_file(Path("data/corpus_gpu.parquet"), columns) if row["status"] == "ok"]
    corpus.sort(key=lambda row: (row["task"], row["language"], row["id"]))
    chosen = np.random.default_rng(24).choice(len(corpus), LABELS, replace=False)
    groups: dict[str, list[Row]] = defaultdict(list)
    for number in sorted(chosen):
        groups[corpus[number]["task"]].append(corpus[number])
    order = np.random.default_rng(1).permutation(sorted(groups)).tolist()  # a part of them is random too
    left = {name: [r for r in groups[name] if f"{r['language']} {r['id']}" not in rows.done] for name in order}
    drawn = {name: [Candidate(name, r["language"], r["source"]) for r in todo] for name, todo in left.items()}
    with closing(GpuBench(effort)) as bench:
        for name, candidates in drawn.items():
            bench.expect(get(name, "gpu"), candidates)
        for name, candidates in drawn.items():
            labelled = {candidate.id: row for candidate, row in zip(candidates, left[name], strict=True)}
            for candidate, outcome in measured(bench, get(name, "gpu"), candidates, over):
                row = labelled[candidate.id]
                key = f"{row['language']} {row['id']}"
                rows.add(row_of(key, outcome, task=name, label=row["speedup"]))
            if over():
                return


PARTS: dict[str, Callable[[Rows, Callable[[], bool], argparse.Namespace], None]] = {
    "guards": guards,
    "attacks": attacks,
    "starts": starts,
    "throughput": throughput,
    "retest": retest,
    "labels": labels,
    "labels_worker": partial(labels, effort=WORKER),
    "faults": faults,
    "acceptance": acceptance,
}


def summary(folder: Path) -> dict[str, Any]:
    """What the rows so far show, part by part."""
    parts = {name: Rows(folder / f"{name}.jsonl").rows for name in PARTS}
    found: dict[str, Any] = {name: {"rows": len(rows)} for name, rows in parts.items()}
    controls, exploits = ([r for r in parts["guards"] if r["key"].startswith(k)] for k in ("control", "exploit"))
    best = max((row["speedup"] for row in controls if row["speedup"]), default=float("inf"))
    found["guards"] |= {
        "controls": len(controls),
        "refused": [row["key"] for row in controls if row["status"] != "ok"],
        "exploits": len(exploits),
        "without_effect": [row["key"] for row in exploits if row["speedup"] and row["speedup"] <= UNEARNED * best],
        "unearned": [row["key"] for row in exploits if row["speedup"] and row["speedup"] > UNEARNED * best],
    }
    speedups = {row["key"]: row["speedup"] for row in parts["attacks"]}
    compared = {row["key"]: (row["speedup"] or 0.0, speedups.get(row["honest"]) or 0.0)
                for row in parts["attacks"] if row["honest"]}  # fmt: skip
    found["attacks"] |= {
        "attacks": sum("honest" not in key for key in speedups),
        "refused": [key for key in speedups if "honest" in key and not speedups[key]],
        "unearned": {key: both for key, both in compared.items() if all(both) and both[0] > UNEARNED * both[1]},
    }
    for language in ("triton", "cuda"):
        rows = [row for row in parts["throughput"] if row["language"] == language]
        whole_s = sum(row["wall_s"] + row["opening_s"] for row in rows)
        count = sum(row["candidates"] for row in rows)
        found["throughput"][language] = {"candidates": count, "per_second": count / whole_s if whole_s else None}
    found["throughput"]["tasks"] = [
        {name: row.get(name) for name in ("key", "candidates", "opening_s", "wall_s", "statuses", "trusts")}
        for row in parts["throughput"]
        if row["candidates"]
    ]
    found["throughput"]["start_s"] = [row["start_s"] for row in parts["throughput"] if "start_s" in row]
    spent: dict[str, Counter[str]] = defaultdict(Counter)
    for row in parts["throughput"]:
        spent[row["language"]].update(row.get("spent_s", {}))
    found["throughput"]["spent_s"] = {name: {k: round(v, 2) for k, v in each.items()} for name, each in spent.items()}
    passes = [{r["key"][2:]: r["speedup"] for r in parts["retest"] if r["key"][0] == n and r["speedup"]} for n in "01"]
    apart = [abs(passes[0][key] / passes[1][key] - 1) for key in passes[0] if key in passes[1]]
    found["retest"] |= {"both": len(apart), "median_difference": statistics.median(apart) if apart else None}
    labelled = [row["speedup"] / row["label"] for row in parts["labels"] if row["speedup"]]
    found["labels"] |= {
        "statuses": dict(Counter(row["status"] for row in parts["labels"])),
        "median_ratio": statistics.median(labelled) if labelled else None,
        "median_difference": statistics.median(abs(each - 1) for each in labelled) if labelled else None,
    }
    by_worker = {row["key"]: row["speedup"] for row in parts["labels_worker"] if row["speedup"]}
    found["labels_worker"] |= {
        "from_label": _apart((by_worker[r["key"]], r["label"]) for r in parts["labels_worker"] if r["speedup"]),
        "from_replay": _apart(
            (r["speedup"], by_worker[r["key"]]) for r in parts["labels"] if r["speedup"] and r["key"] in by_worker
        ),
    }
    for kind in ("alone", "mixed", "killed"):
        honest = [row for row in parts["faults"] if row.get("kind") == kind and not row["fault"]]
        found["faults"][kind] = dict(Counter(row["status"] for row in honest))
    verdicts = {row["key"]: row["status"] for row in parts["faults"]}
    mixed = {
        k.removeprefix("mixed "): v for k, v in verdicts.items() if f"alone {k.removeprefix('mixed ')}" in verdicts
    }
    found["faults"] |= {
        "compared": len(mixed),
        "same": sum(verdicts[f"alone {key}"] == status for key, status in mixed.items()),
        "hostile_statuses": dict(Counter(row["status"] for row in parts["faults"] if row.get("fault"))),
    }
    found["faults"]["hostile"] = {
        row["key"]: row["status"] for row in parts["faults"] if row.get("fault") and row["status"] in ("ok", "wrong")
    }
    # How much of honest batches the events leave open: `replay_clock_slack_us` should be just above the largest.
    honest = [row for row in parts["retest"] + controls if row["status"] == "ok"]
    left_open = sorted(row["unexplained_us"] for row in honest if row.get("unexplained_us") is not None)
    found["unexplained_us"] = {"median": statistics.median(left_open), "largest": left_open[-1]} if left_open else {}
    found["acceptance"] |= _acceptance(parts["acceptance"])
    return found


def _apart(pairs: Iterable[tuple[float, float]]) -> dict[str, Any]:
    """How far the first of each pair is from the second."""
    ratios = [one / other for one, other in pairs]
    if not ratios:
        return {"rows": 0}
    differences = [abs(ratio - 1) for ratio in ratios]
    return {
        "rows": len(ratios),
        "median_ratio": statistics.median(ratios),
        "median_difference": statistics.median(differences),
    }


def _acceptance(rows: Sequence[Row]) -> dict[str, Any]:
    by = {(row["method"], row["id"]): row for row in rows}
    both = [
        (by["replay", i]["speedup"], by["worker", i]["speedup"], by["replay", i]["trust"])
        for method, i in by
        if method == "replay" and by["replay", i]["speedup"] and by.get(("worker", i), {}).get("speedup")
    ]
    replayed = [row for row in rows if row["method"] == "replay"]
    apart = {
        trust: [abs(a / b - 1) for a, b, kind in both if kind == trust] for trust in ("replay", "live", "in process")
    }
    return {
        "trusts": dict(Counter(str(row["trust"]) for row in replayed)),
        "statuses": {m: dict(Counter(r["status"] for r in rows if r["method"] == m)) for m in ("replay", "worker")},
        "reasons": dict(Counter(row["reason"].partition(":")[0] for row in replayed if row.get("reason"))),
        "median_difference": {trust: statistics.median(each) for trust, each in apart.items() if each},
    }


def _is_over(end: float) -> bool:
    return time.monotonic() > end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--set", type=Path, help="the acceptance set")
    parser.add_argument("--seconds", type=float, default=380.0, help="start nothing new after that long")
    parser.add_argument("--parts", default=",".join(PARTS), help="names, each with seconds of its own as in retest:30")
    parser.add_argument("--tasks", type=int, default=4, help="tasks per language of the part `throughput`")
    parser.add_argument("--controls", action="store_true", help="of the guards only the controls")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + arguments.seconds
    chosen = arguments.parts.split(",")
    for number, part in enumerate(chosen):
        # Each part may use an equal share of what is left, so that one call shows something of all of them.
        name, _, seconds = part.partition(":")
        left_s = max(0.0, deadline - time.monotonic())
        part_end = time.monotonic() + (min(left_s, float(seconds)) if seconds else left_s / (len(chosen) - number))
        try:
            PARTS[name](Rows(arguments.folder / f"{name}.jsonl"), partial(_is_over, part_end), arguments)
        except Exception as error:  # the other parts still count
            print(f"{name} failed: {type(error).__name__}: {error}", flush=True)
        shown = summary(arguments.folder)
        (arguments.folder / "trust.json").write_text(json.dumps(shown, indent=1) + "\n")
        print(json.dumps({name: shown[name]}, indent=1), flush=True)


if __name__ == "__main__":
    main()
