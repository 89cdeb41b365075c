"""The problems of the shared table, split once into development and held-out.

    python -m benchmarks.programs.split TABLE.parquet      # writes benchmarks/programs/split.json, once

A problem is a `split_group`; half of each family (level of KernelBench, matrix products by shape) is held out. Plain
matrix products of one data set are variants of one problem and stay together, on the development side. Nothing but
`benchmarks.programs.evaluate` may read held-out rows, and each time it does is logged.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SEED = 23
SPLIT = Path(__file__).with_name("split.json")
TOGETHER = frozenset({"ssnti"})


def family_of(group: str) -> str:
    """`kernelbench/level1` of `kernelbench/level1/12`, `hgemm` of `hgemm/64_64_64`."""
    parts = group.split("/")
    return "/".join(parts[:2]) if parts[0] == "kernelbench" else parts[0]


def split_of(groups: Iterable[str], seed: int = SEED) -> dict[str, list[str]]:
    """The groups of each part; of an odd number the development part has one more."""
    families: dict[str, list[str]] = defaultdict(list)
    for group in sorted(set(groups)):
        families[family_of(group)].append(group)
    draw = random.Random(seed)
    parts: dict[str, list[str]] = {"development": [], "held_out": []}
    for family, members in sorted(families.items()):
        draw.shuffle(members)
        half = 0 if family in TOGETHER else len(members) // 2
        parts["held_out"] += members[:half]
        parts["development"] += members[half:]
    return {name: sorted(members) for name, members in parts.items()}


def committed() -> Mapping[str, list[str]]:
    """The split as committed."""
    parts: Mapping[str, list[str]] = json.loads(SPLIT.read_text())["parts"]
    return parts


def rows_of(table: Path, part: str = "development") -> list[dict[str, Any]]:
    """The table's rows of one part."""
    import pyarrow.parquet as parquet

    return parquet.read_table(table, filters=[("split_group", "in", committed()[part])]).to_pylist()  # type: ignore[no-any-return]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    arguments = parser.parse_args()
    if SPLIT.exists():
        raise SystemExit(f"{SPLIT} exists: the split is made once")
    import pyarrow.parquet as parquet

    groups = parquet.read_table(arguments.table, columns=["split_group"]).column("split_group").to_pylist()
    SPLIT.write_text(json.dumps({"seed": SEED, "parts": split_of(groups)}, indent=1) + "\n")


if __name__ == "__main__":
    main()
