"""Draw the acceptance set: 200 rows of a table of kernels by language models, and 60 Triton kernels by another one.

    python -m benchmarks.acceptance.draw TABLE.parquet KERNELS_FOLDER OUTPUT.json

Rows that the table records as correct and that have a reference, 200 of them by a fixed seed, without replacement. The
table is not part of this repository; the ids of the drawn rows are written to benchmarks/results/acceptance_rows.json.
KERNELS_FOLDER holds pairs `NAME.problem.py` and `NAME.kernel.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

SEED, ROWS = 20_260_721, 200
IDS = Path("benchmarks/results/acceptance_rows.json")


def from_table(table: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    columns = ["row_id", "dataset", "op_id", "language", "correct", "candidate_code", "reference_code"]
    rows = [r for r in pq.read_table(table, columns=columns).to_pylist() if r["correct"] and r["reference_code"]]
    rows.sort(key=lambda row: str(row["row_id"]))
    chosen = np.random.default_rng(SEED).choice(len(rows), size=ROWS, replace=False)
    return [
        {
            "id": str(row["row_id"]),
            "source": row["dataset"],
            "problem": row["op_id"],
            "reference": row["reference_code"],
            "candidate": row["candidate_code"],
        }
        for row in (rows[i] for i in sorted(chosen))
    ]


def from_folder(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            "id": path.name.removesuffix(".problem.py"),
            "source": "triton",
            "problem": path.name.removesuffix(".problem.py"),
            "reference": path.read_text(encoding="utf-8"),
            "candidate": path.with_name(path.name.replace(".problem.py", ".kernel.py")).read_text(encoding="utf-8"),
        }
        for path in sorted(folder.glob("*.problem.py"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    rows = [*from_table(arguments.table), *from_folder(arguments.kernels)]
    arguments.output.write_text(json.dumps(rows))
    IDS.write_text(json.dumps({"seed": SEED, "ids": [row["id"] for row in rows]}, indent=1) + "\n")
    print(f"{len(rows)} rows")


if __name__ == "__main__":
    main()
