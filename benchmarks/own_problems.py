"""The problems of benchmarks/problems: recorded, explained and forecast without a GPU; with --gpu measured on one.

    python -m benchmarks.own_problems [NAME...] [--seconds 100]      # no GPU
    python -m benchmarks.own_problems [NAME...] --gpu [--seconds 140] [--rows FILE.jsonl]
    python -m benchmarks.own_problems --page [--rows FILE.jsonl]     # also adds measured rows to the results

Each problem has one candidate that is the reference itself as `ModelNew`, whose speedup should be 1, and some have a
Triton kernel in benchmarks/problems/kernels. What is done already is left out, unless it is named. The results are in
benchmarks/results/own_problems.json, the page is docs/results/problems.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import foretell as ft
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement
from foretell.kernels.tasks import BadTask

FOLDER = Path("benchmarks/problems")
KERNELS = FOLDER / "kernels"
RESULT, PAGE = Path("benchmarks/results/own_problems.json"), Path("docs/results/problems.md")
DEVICE = "h200"
MESSAGE = 400  # characters of a message that are kept
AHEAD = 12  # problems whose candidates are built before their turn

REFUSED = {  # what must be refused, and the reason it must be refused for
    "dropout_residual_train": "nondeterministic",
    "gaussian_noise_augment": "nondeterministic",
    "gumbel_sample": "nondeterministic",
    "stochastic_depth": "nondeterministic",
    "inplace_on_input": "changes its input",
    "moe_token_lists": "depends on data",
}


def problems(names: Iterable[str] = ()) -> list[str]:
    """All problems by name, or those that are named."""
    found = sorted(path.stem for path in FOLDER.glob("*.py"))
    unknown = set(names) - set(found)
    if unknown:
        raise SystemExit(f"no such problem: {', '.join(sorted(unknown))}")
    return sorted(names) or found


def candidates(name: str) -> dict[str, str]:
    """The texts to forecast and measure, by what they are."""
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    texts = {"plain": text.replace("class Model(nn.Module)", "class ModelNew(nn.Module)")}
    kernel = KERNELS / f"{name}.py"
    return texts | ({"triton": kernel.read_text(encoding="utf-8")} if kernel.exists() else {})


def foresee(name: str) -> dict[str, Any]:
    """Record, explain and forecast the candidates of one problem."""
    started = time.perf_counter()
    task = ft.task(FOLDER / f"{name}.py")
    row: dict[str, Any] = {"candidates": {}}
    for kind, text in candidates(name).items():
        account = ft.explain(task, text, device=DEVICE)
        prediction = ft.forecast(task, text, device=DEVICE)
        row["refusal"] = account.refusal[:MESSAGE]
        row["reference_us"] = account.reference.seconds * 1e6 if account.reference else None
        row["floor_us"] = None if account.floor_s is None else account.floor_s * 1e6
        row["candidates"][kind] = {
            "recorded": account.candidate is not None,
            "verdict": account.verdict.sentence[:MESSAGE] if account.verdict else "",
            "explained": len(account.lines()) if account.candidate else 0,
            "estimated_us": account.candidate.seconds * 1e6 if account.candidate else None,
            "forecast": prediction.speedup,
            "interval": list(prediction.interval()) if prediction.runs else None,
            "p_fail": prediction.p_fail,
            "trouble": prediction.trouble,
        }
    return row | {"seconds": time.perf_counter() - started}


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    return found


def write(rows: dict[str, Any]) -> None:
    known = set(problems())
    RESULT.write_text(json.dumps({name: rows[name] for name in sorted(rows) if name in known}, indent=1) + "\n")


def foresee_all(names: list[str], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for name in names:
        if time.monotonic() > deadline:
            break
        row = foresee(name)
        rows = read()
        rows[name] = {**row, "measured": rows.get(name, {}).get("measured", {})}
        write(rows)
        words = {kind: each["forecast"] or each["verdict"] for kind, each in row["candidates"].items()}
        print(f"{row['seconds']:6.1f} s  {name}: {row['refusal'] or words}", flush=True)


def measure_all(names: list[str], seconds: float, output: Path) -> None:
    """Measure on this machine's GPU; lines of output for each problem, as soon as it is done."""
    from foretell.inputs import candidate_of
    from foretell.kernels.bench.gpu.bench import GpuBench

    deadline = time.monotonic() + seconds
    with closing(GpuBench()) as bench:
        bench.warm_up()
        jobs = []
        for name in names:
            task = ft.task(FOLDER / f"{name}.py")
            texts = candidates(name)
            jobs.append((name, task, {kind: candidate_of(task, text, bench.device) for kind, text in texts.items()}))
        for number, (name, task, given) in enumerate(jobs):
            if time.monotonic() > deadline:
                break
            for _, later_task, later in jobs[0:AHEAD] if number == 0 else jobs[number + AHEAD - 1 : number + AHEAD]:
                bench.expect(later_task, list(later.values()))
            started = time.perf_counter()
            try:
                lines = [_line(given, each, found) for each, found in bench.measure(task, list(given.values()))]
            except BadTask as refusal:
                lines = [{"kind": kind, "status": "refused", "message": str(refusal)[:MESSAGE]} for kind in given]
            spent = {"name": name, "seconds": time.perf_counter() - started, "device": bench.device.name}
            with output.open("a") as file:
                file.writelines(json.dumps(spent | line) + "\n" for line in lines)
            print(f"{spent['seconds']:6.1f} s  {name}: {[line.get('speedup') or line for line in lines]}", flush=True)


def _line(given: dict[str, Candidate], candidate: Candidate, found: Measurement) -> dict[str, Any]:
    timing = found.timings[0] if found.timings else None
    return {
        "kind": next(kind for kind, each in given.items() if each.id == candidate.id),
        "status": found.status.value,
        "message": found.message[:MESSAGE],
        "speedup": found.speedup,
        "interval": [found.low, found.high],
        "reference_us": statistics.median(timing.reference_us) if timing else None,
        "candidate_us": statistics.median(timing.candidate_us) if timing else None,
        "timed": found.conditions.get("timed"),
    }


def add_measured(rows: dict[str, Any], lines: Path) -> None:
    for line in lines.read_text().splitlines():
        row = json.loads(line)
        rows[row["name"]].setdefault("measured", {})[row["kind"]] = row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gpu", action="store_true", help="measure on this machine's GPU")
    parser.add_argument("--page", action="store_true", help="write the page from the results")
    parser.add_argument("--rows", type=Path, help="file of measured rows, one JSON object a line")
    parser.add_argument("--seconds", type=float, default=3600.0, help="start no further problem after that long")
    arguments = parser.parse_args()
    if arguments.page:
        from benchmarks.own_problems_page import page

        rows = read()
        if arguments.rows is not None:
            add_measured(rows, arguments.rows)
            write(rows)
        PAGE.write_text(page(rows, REFUSED))
    elif arguments.gpu:
        output = arguments.rows or Path("own_problems.jsonl")
        done = {json.loads(line)["name"] for line in output.read_text().splitlines()} if output.exists() else set()
        done |= set() if arguments.names else {name for name, row in read().items() if row["measured"]}
        measure_all([n for n in problems(arguments.names) if n not in done], arguments.seconds, output)
    else:
        done = set() if arguments.names else set(read())
        foresee_all([n for n in problems(arguments.names) if n not in done], arguments.seconds)


if __name__ == "__main__":
    main()
