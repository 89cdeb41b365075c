"""Measure the kernels of a table of others on this machine's GPU: `data/shared_labels.parquet`.

    python -m benchmarks.real.shared TABLE.parquet FOLDER [--seconds 400] [--benches 8]     # on the GPU machine
    python -m benchmarks.real.shared TABLE.parquet FOLDER --add                             # anywhere: into the table

Every clean row that has a candidate and a reference is measured once per distinct pair of texts, problem by problem in
a random order, as `benchmarks.real.measure` measures our own kernels. Texts stay in the table, which is not part of
this repository; labels are facts, kept with the row ids. What is labelled for this device and toolchain is skipped, so
the work can be spread over several runs. Nothing of held-out problems is shown but counts.
"""

from __future__ import annotations

import argparse
import math
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.programs.split import committed
from benchmarks.real.measure import CATALOGUE, measure_together
from foretell.kernels.corpus import labels, real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.tasks import BadTask


def kernels_of(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Distinct pairs of reference and candidate, as `benchmarks.real.measure` takes them, with the rows they are in.

    Without rows that are not clean, have no text or whose reference is not a problem.
    """
    development = set(committed()["development"])
    kernels: dict[str, dict[str, Any]] = {}
    for row in rows:
        reference = row.get("reference_code")
        if row.get("clean") is False or not reference or not row.get("candidate_code"):
            continue
        problem = f"{str(row['op_id']).replace('/', '_')}_{zlib.crc32(reference.encode()):08x}"
        try:
            task = real.task_of(problem, reference)
        except BadTask:
            continue
        kernel = {"problem": problem, "reference": reference, "task": task, "source": row["candidate_code"]}
        id_ = real.candidate_of(kernel).likeness
        split = "development" if row["split_group"] in development else "held_out"
        kernels.setdefault(id_, kernel | {"id": id_, "split": split, "rows": []})["rows"].append(row["row_id"])
    return list(kernels.values())


def add(folder: Path, kernels: Sequence[Mapping[str, Any]], data: Path = DATA) -> int:
    """Add what was measured to the committed labels; how many there are then."""
    rows = {kernel["id"]: sorted(kernel["rows"]) for kernel in kernels}
    measured = [label | {"rows": rows[label["id"]]} for label in labels.of_catalogue(folder / CATALOGUE)]
    return labels.add_shared(data, measured)


def main() -> None:
    import pyarrow.parquet as parquet

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no measurement after that time")
    parser.add_argument("--benches", type=int, default=8)
    parser.add_argument("--add", action="store_true", help="add what is in FOLDER to the committed labels")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    kernels = kernels_of(parquet.read_table(arguments.table).to_pylist())
    started = time.monotonic()
    if arguments.add:
        print(f"{add(arguments.folder, kernels, arguments.data)} labels of {len(kernels)} kernels")
        return
    known = labels.read_shared(arguments.data)
    measure_together(arguments.folder, kernels, known, arguments.seconds, arguments.benches)
    print(f"{time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
