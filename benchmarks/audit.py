"""Published kernels measured again: `foretell audit` by several benches that share one GPU, and the page.

    python -m benchmarks.audit run TABLE.parquet FOLDER [--rows 240] [--seconds 200] [--benches 4]   # GPU; resumable
    python -m benchmarks.audit page                          # docs/results/audit.md from benchmarks/results/audit.json

FOLDER gets the catalogue and audit.json. Building extensions and starting judges takes longer than timing, so benches
do that side by side; while one has a candidate in hand it is alone on the GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.real.measure import CATALOGUE, LOCK, gpu_bench
from benchmarks.real.turns import InTurns, Turns
from foretell.auditing import CLOSE, Audit, audit
from foretell.kernels.bench.gpu.builders import prepare_extensions
from foretell.kernels.store import Catalogue

RESULTS, PAGE = Path("benchmarks/results/audit.json"), Path("docs/results/audit.md")
SHOWN = 12
_HEAD = """\
# Published kernels, measured again

Made by `python -m benchmarks.audit page`; rows in `benchmarks/results/audit.json`. `foretell audit` took rows of tables
that others published, spread evenly, and measured each kernel against its own reference on one {device}, both as
captured CUDA graphs with cold caches (method `worker`). Claims are speedups over eager PyTorch on the GPU that the
authors used, so a claim that is not met here need not be wrong there: a small kernel whose claim is the host's overhead
saved, say, has nothing to gain when graphs are timed. One that does not work here, or is caught, is another matter.

"""


def one_bench(table: Path, folder: Path, rows: int, seconds: float, benches: int) -> None:
    """One bench's share: whatever no other is measuring."""
    turns = Turns(folder / LOCK)
    with closing(InTurns(gpu_bench(turns, benches), turns)) as bench:
        audit(table, bench=bench, seconds=seconds, rows=rows, catalogue=Catalogue(folder / CATALOGUE, fsync=False))


def together(table: Path, folder: Path, rows: int, seconds: float, benches: int) -> Audit:
    """The audit by several benches, each a process; those that fail leave their share to the next call."""
    folder.mkdir(parents=True, exist_ok=True)
    prepare_extensions("cuda")
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=one_bench, args=(table, folder, rows, seconds, benches)) for _ in range(benches)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    turns = Turns(folder / LOCK)
    with closing(InTurns(gpu_bench(turns, 1), turns)) as bench:
        return audit(table, bench=bench, seconds=-math.inf, rows=rows, catalogue=Catalogue(folder / CATALOGUE))


def page(report: Mapping[str, Any]) -> Iterator[str]:
    yield _HEAD.format(device=report["device"])
    rows = [row for row in report["rows"] if row["verdict"] != "not measured"]
    sets = [{row["data set"] for row in each} for each in (rows, report["rows"])]
    yield f"{len(rows)} of {len(report['rows'])} rows were measured, of {len(sets[0])} of {len(sets[1])} data sets. "
    yield f"A claim within a factor of {CLOSE} of what is measured counts as met.\n\n"
    yield "| data set | measured | compared | claimed | here | here / claimed | faster here, of those said to be |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- |\n"
    for name, part in {**report["by data set"], "all": report["all"]}.items():
        if not part["compared"]:
            continue
        here = sum(row["data set"] == name or name == "all" for row in rows)
        means = (part["claimed_geometric_mean"], part["measured_geometric_mean"], part["median_ratio"])
        faster = f"{part['faster_here_of_these']} of {part['claimed_faster']}"
        yield f"| {name} | {here} | {part['compared']} | " + " | ".join(f"{x:.2f}" for x in means) + f" | {faster} |\n"
    yield "\nMeans are geometric, of rows with both speedups; the ratio is a median.\n\n## Verdicts\n\n"
    yield "| claim | rows |\n| --- | --- |\n"
    for verdict, count in report["all"]["verdicts"].items():
        if verdict != "not measured":
            yield f"| {verdict} | {count} |\n"
    yield from _by_gpu(rows)
    yield f"\n## The {SHOWN} largest differences\n\n| row | problem | claimed on | claimed | measured here, 95 % |\n"
    yield "| --- | --- | --- | --- | --- |\n"
    both = [row for row in rows if row.get("speedup") and row["claimed_speedup"]]
    for row in sorted(both, key=lambda row: -abs(math.log(row["speedup"] / row["claimed_speedup"])))[:SHOWN]:
        measured = f"{row['speedup']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        yield f"| `{row['row']}` | {row['problem']} | {row['gpu']} | {row['claimed_speedup']:.2f} | {measured} |\n"


def _by_gpu(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "\n## By the GPU of the claim\n\n| GPU | compared | median of measured / claimed |\n| --- | --- | --- |\n"
    ratios: dict[str, list[float]] = {}
    for row in rows:
        if row.get("speedup") and row["claimed_speedup"]:
            ratios.setdefault(row["gpu"], []).append(row["speedup"] / row["claimed_speedup"])
    for gpu, found in sorted(ratios.items()):
        yield f"| {gpu} | {len(found)} | {median(found):.2f} |\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("table", type=Path)
    run.add_argument("folder", type=Path)
    run.add_argument("--rows", type=int, default=240)
    run.add_argument("--seconds", type=float, default=math.inf)
    run.add_argument("--benches", type=int, default=4)
    commands.add_parser("page")
    arguments = parser.parse_args()
    if arguments.command == "page":
        PAGE.write_text("".join(page(json.loads(RESULTS.read_text()))))
        return
    found = together(arguments.table, arguments.folder, arguments.rows, arguments.seconds, arguments.benches)
    (arguments.folder / RESULTS.name).write_text(json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n")
    print(json.dumps(found.summary()["all"], indent=1))


if __name__ == "__main__":
    main()
