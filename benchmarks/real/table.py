"""The table of problems: operation, dtype, size class and split, made without a GPU.

    python -m benchmarks.real.table [NAME ...] [--seconds 100]     # adds to benchmarks/real/problems.json
    python -m benchmarks.real.table --page                         # docs/results/real_problems.md from it

Each reference is recorded and its steps are forecast for an H200, as `foretell explain` does. What is in the table is
left out unless it is named or its text has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import foretell as ft
from benchmarks.real.listing import problem_files
from foretell.explaining import Account
from foretell.kernels.corpus.real import split_of
from foretell.kernels.tasks import kernelbench

TABLE, PAGE = Path("benchmarks/real/problems.json"), Path("docs/results/real_problems.md")
DEVICE = "h200"
MESSAGE_CHARACTERS = 200
SIZES = (("below 100 us", 100.0), ("100 us to 1 ms", 1e3), ("above 1 ms", float("inf")))
_OPERATIONS = 3  # the operators named for a problem: those that take most of its time
_HEAD = """\
# The problems that kernels are written for

Made by `python -m benchmarks.real.table --page` from `benchmarks/real/problems.json`. [How kernels for them are
collected](../real_kernels.md). Times are forecasts of the reference on an H200 and were not measured. *Operations* are
the operators that take most of that time, *limit* is what bounds most of it.

"""


def described(name: str, text: str) -> dict[str, Any]:
    """What the recorded reference shows."""
    task = kernelbench.from_text(text, name)
    account = ft.explain(task, device=DEVICE)
    assert isinstance(account, Account)
    row: dict[str, Any] = {"hash": text_hash(text), "summary": summary(text), "split": split_of(name)}
    if account.reference is None:
        return row | {"refusal": account.refusal[:MESSAGE_CHARACTERS]}
    parts = account.reference.parts
    shares: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        shares[part.name] += part.seconds
    us = account.reference.seconds * 1e6
    return row | {
        "operations": sorted(shares, key=shares.__getitem__)[-_OPERATIONS:][::-1],
        "steps": len(parts),
        "limit": account.reference.limit,
        "dtypes": dtypes(text),
        "reference_us": round(us, 1),
        "floor_us": None if account.floor_s is None else round(account.floor_s * 1e6, 1),
        "size": size_class(us),
    }


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def summary(text: str) -> str:
    """The first line of a problem's docstring."""
    return text.split('"""')[1].strip().splitlines()[0]


def dtypes(text: str) -> list[str]:
    """The types that a problem names besides float32, or float32 if it names none."""
    marks = {
        "float16": (".half()", "torch.float16"),
        "bfloat16": ("torch.bfloat16",),
        "float64": ("torch.float64", ".double()"),
        "int8": ("torch.int8",),
        "uint8": ("torch.uint8",),
        "float8": ("torch.float8",),
        "complex64": ("torch.complex", ".rfft", "fft."),
    }
    names = [name for name, words in marks.items() if any(word in text for word in words)]
    return names or ["float32"]


def size_class(us: float) -> str:
    return next(name for name, most_us in SIZES if us < most_us)


def read() -> dict[str, Any]:
    rows: dict[str, Any] = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    return rows


def extend(names: list[str], seconds: float) -> None:
    """Describe the problems that are named, new or changed; none is begun after `seconds`."""
    deadline = time.monotonic() + seconds
    texts = {name: path.read_text(encoding="utf-8") for name, path in problem_files().items()}
    for name, text in texts.items():
        if (names and name not in names) or (not names and read().get(name, {}).get("hash") == text_hash(text)):
            continue
        if time.monotonic() > deadline:
            break
        row = described(name, text)
        rows = read() | {name: row}
        TABLE.write_text(json.dumps({each: rows[each] for each in sorted(rows) if each in texts}, indent=1) + "\n")
        print(name, row.get("reference_us"), row.get("limit"), row.get("refusal", ""), flush=True)


def page(rows: Mapping[str, Any]) -> str:
    """The table for people."""
    lines = ["| problem | what | operations | types | limit | reference, us | split |", "| --- |" + " --- |" * 6]
    for name, row in rows.items():
        if "refusal" in row:
            lines.append(f"| `{name}` | {row['summary']} | cannot be recorded | | | | {row['split']} |")
            continue
        operators = ", ".join(f"`{each}`" for each in row["operations"])
        about = f"{operators} | {', '.join(row['dtypes'])} | {row['limit']} | {row['reference_us']:.4g}"
        lines.append(f"| `{name}` | {row['summary']} | {about} | {row['split']} |")
    recorded = [row for row in rows.values() if "refusal" not in row]
    counts = [f"{len(rows)} problems, {len(recorded)} of them recorded."]
    for column in ("split", "size", "limit"):
        tally = Counter(row[column] for row in recorded)
        counts.append(f"By {column}: {', '.join(f'{n} {name}' for name, n in tally.most_common())}.")
    types = Counter(name for row in recorded for name in row["dtypes"])
    counts.append(f"By type: {', '.join(f'{n} {name}' for name, n in types.most_common())}.")
    return _HEAD + " ".join(counts) + "\n\n" + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--page", action="store_true", help="write the page from the table")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no further problem after that time")
    arguments = parser.parse_args()
    if arguments.page:
        PAGE.write_text(page(read()))
    else:
        extend(arguments.names, arguments.seconds)


if __name__ == "__main__":
    main()
