"""Stored files, large and mutated: what a large catalogue costs, how long long runs load, what odd rows do.

python -m benchmarks.robustness [--mutations 2000]     # to benchmarks/results/robustness.json; about 20 minutes

Three parts, each in a process of its own: a catalogue of 200,000 rows (memory above an empty one, `of_task` of a task
with 500 rows), a journal of 50,000 events (loading, report), and mutated files read by the verbs that read them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import describe
from foretell.belief import Forecast
from foretell.kernels import library, profiles
from foretell.kernels.bench import cpu
from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench, FakeProposer
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Measurement
from foretell.kernels.policy import Action
from foretell.kernels.profiles import Budgets
from foretell.kernels.search import Event, FileJournal, RunState, SearchConfig, load_run
from foretell.kernels.search.child import Child
from foretell.kernels.search.events import Measured, Round, RunStarted, to_stored
from foretell.kernels.store import Catalogue, Journal

RESULTS = Path("benchmarks/results/robustness.json")
ROWS, ROWS_OF_TASK, SAMPLES = 200_000, 500, 30
EVENTS = 50_000
REPEATS = 20
LOADS = 5


def filled(folder: Path) -> Path:
    """A catalogue filled through its own `put` for one task, and by copies of those rows for the rest."""
    path = folder / "catalogue.sqlite"
    task = library.get("softmax")
    root = Candidate(task.name, "cpp", "int k;")
    candidates = FakeProposer(task.name).propose(task, [root], ROWS_OF_TASK, np.random.default_rng(0), set())
    bench = FakeBench(samples=SAMPLES)
    catalogue = Catalogue(path, fsync=False)
    for candidate, outcome in bench.measure(task, candidates):
        [build] = bench.build(task, [candidate])
        catalogue.put(task, candidate, build, FAKE_DEVICE, outcome)
    _multiply(path, ROWS)
    catalogue.close()
    return path


def catalogue_part(folder: Path, path: Path) -> dict[str, Any]:
    """Memory and time of reading a large catalogue, in a process that has read an empty one before."""
    task = library.get("softmax")
    empty = Catalogue(folder / "empty.sqlite")
    assert empty.clear() == len(empty) == len(list(empty.of_task(task))) == 0
    before_mb = _resident_mb()
    known = Catalogue(path)
    distinct = len(known)
    first = next(known.of_task(task))[0].candidate
    of_task_s = min(_cpu_s(lambda: sum(1 for _ in known.of_task(task))) for _ in range(REPEATS))
    get_s = min(_cpu_s(lambda: known.get(task, first, FAKE_DEVICE)) for _ in range(REPEATS))
    list_s = _cpu_s(known.summary)
    return {
        "rows": ROWS,
        "keys": distinct,
        "file_mb": round(path.stat().st_size / 1e6, 1),
        "resident_mb_above_empty": round(_resident_mb() - before_mb, 1),
        "of_task_rows": ROWS_OF_TASK,
        "of_task_cpu_ms": round(of_task_s * 1e3, 1),
        "get_cpu_ms": round(get_s * 1e3, 2),
        "summary_cpu_s": round(list_s, 2),
    }


def _multiply(path: Path, rows: int) -> None:
    """Copies of the rows under other keys, tasks and definitions, until there are enough."""
    import sqlite3

    columns = "candidate, measured_at, source, record, samples, crc, status, speedup, low, high"
    with sqlite3.connect(path) as connection:
        for copy in range(rows // ROWS_OF_TASK - 1):
            connection.execute(
                f"INSERT INTO measurements (key, definition, task, device, {columns}) "
                f"SELECT key || ?, definition || ?, task || ?, device, {columns} FROM measurements WHERE id <= ?",
                (f"-{copy}", f"-{copy}", f"-{copy % 100}", ROWS_OF_TASK),
            )
    connection.close()


def journal_part(folder: Path) -> dict[str, Any]:
    """A run in which every candidate is measured, as long as wanted; then its loading and its report."""
    from foretell.report import write_report

    run_dir = folder / "run"
    _long_run(run_dir, EVENTS)
    journal = run_dir / "journal.jsonl"
    load_s = min(_cpu_s(lambda: load_run(run_dir)) for _ in range(LOADS))
    resume_s = _cpu_s(lambda: _resumed(run_dir))
    state = load_run(run_dir)
    report = run_dir / "report.html"
    report_s = _cpu_s(lambda: write_report(state, report, run_dir))
    return {
        "events": journal.read_bytes().count(b"\n"),
        "candidates": state.considered,
        "journal_mb": round(journal.stat().st_size / 1e6, 1),
        "load_cpu_s": round(load_s, 2),
        "resume_cpu_s": round(resume_s, 2),
        "report_cpu_s": round(report_s, 2),
        "report_mb": round(report.stat().st_size / 1e6, 1),
    }


def _resumed(run_dir: Path) -> RunState:
    """The state with which a run would be resumed."""
    with FileJournal(run_dir, fsync=False) as journal:
        return journal.state()


def _long_run(run_dir: Path, events: int) -> None:
    """Write the journal of a run in which every candidate is measured, without deciding anything."""
    task, bench, rng = library.get("softmax"), FakeBench(samples=5), np.random.default_rng(0)
    profile = replace(profiles.THOROUGH, budgets=Budgets(events, 1e9, events))
    config = SearchConfig("cpp", 0, profile).resolved(task, "all", "random", "fake", "fake")
    root = Candidate(task.name, "cpp", task.references["cpp"], Origin("reference"))
    proposer, known = FakeProposer(task.name), {root.id}
    with Journal.open(run_dir, fsync=False) as journal:

        def record(event: Event) -> None:
            journal.append(*to_stored(event))

        record(RunStarted(config, bench.device, root, "0"))
        written, number = 1, 0
        while written < events:
            candidates = proposer.propose(task, [root], profile.batch_size, rng, known)
            known.update(candidate.id for candidate in candidates)
            children = tuple(
                Child(c, build, Forecast.from_normal(0.0, 0.5, 0.1), Action.MEASURE, "all are measured", False)
                for c, build in zip(candidates, bench.build(task, candidates), strict=True)
            )
            record(Round(number, (root.id,), children, "fake", 0.001))
            for child, (_, outcome) in zip(children, bench.measure(task, candidates), strict=True):
                record(Measured(child.candidate.id, outcome if child.build.ok else Measurement(child.build.status)))
            written, number = written + 1 + len(children), number + 1


def fuzz_part(folder: Path, mutations: int) -> dict[str, Any]:
    """Mutations spread over the three kinds of file, each read by one verb."""
    from tests.cli.conftest import FakeBench as CommandBench
    from tests.fuzzing import FILES, Fuzz, prepare

    os.environ["COLUMNS"] = "200"
    cpu.CpuBench = CommandBench  # type: ignore[assignment, misc]
    os.chdir(folder)
    source = prepare(folder / "base")
    fuzz = Fuzz(folder / "base", folder / "work", source)
    found: Counter[str] = Counter()
    for number in range(mutations):
        signature = fuzz.once(FILES[number % len(FILES)], number)
        if signature is not None:
            found[signature] += 1
            if found[signature] == 1:
                print(fuzz.traces[signature], flush=True)
        if number % 100 == 99:
            print(f"{number + 1} mutations, {sum(found.values())} tracebacks", flush=True)
    exits = {file: {str(code): n for (f, code), n in sorted(fuzz.exits.items()) if f == file} for file in FILES}
    return {"mutations": mutations, "tracebacks": sum(found.values()), "distinct": dict(found), "exit_codes": exits}


def _cpu_s(operation: Callable[[], Any]) -> float:
    started = time.process_time()
    operation()
    return time.process_time() - started


def _resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _apart(part: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run a part in a process and a folder of its own."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, context) as pool:
        result = pool.submit(part, Path(folder), *arguments).result()
        print(result)
        return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--only", choices=("catalogue", "journal", "fuzz"), help="One part; the others are kept.")
    wanted = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    found["machine"] = describe()
    if wanted.only in (None, "catalogue"):
        with tempfile.TemporaryDirectory() as folder:
            found["catalogue"] = _apart(catalogue_part, filled(Path(folder)))
    if wanted.only in (None, "journal"):
        found["journal"] = _apart(journal_part)
    if wanted.only in (None, "fuzz"):
        found["fuzz"] = _apart(fuzz_part, wanted.mutations)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
