"""Reading what forecasters are judged on: the corpus folder, one of its tables, or a table that others measured."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foretell.extras import require
from foretell.kernels.corpus import table
from foretell.kernels.corpus.check import MOST_SOURCE_CHARACTERS, checked
from foretell.kernels.corpus.splits import SPLITS
from foretell.kernels.evaluate import foreign, pools
from foretell.kernels.evaluate.controls import Past
from foretell.kernels.evaluate.pools import BadTable, Pool, Tier
from foretell.kernels.measurement import Status
from foretell.kernels.task import Task
from foretell.received import BadFile, read_json
from foretell.received_limits import size_of, within_limits
from foretell.received_table import column_names, read_table, rows_of

ALL = "all"
DEVELOPMENT = "development"
HELD_OUT = ("held_operation", "held_family", "held_written")
_MARKED = ("device", "id", "status", "speedup")
_KNOWN = "corpus_*.parquet, one table of that schema, or one with the columns of docs/evaluation.md"


@dataclass(frozen=True)
class Data:
    """Rows of one schema: the corpus's own, or (`foreign`) that of kernels measured elsewhere.

    `parts` names the problems (`split_group`) of each split of a foreign table that was split by a file; `own` are the
    tasks of the rows that have a spec, by its text.
    """

    path: Path
    rows: Sequence[Mapping[str, Any]]
    foreign: bool
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    own: Mapping[str, Task] = field(default_factory=dict)

    @property
    def default_tier(self) -> Tier:
        """What a forecaster is shown unless told otherwise; nothing was read off the builds of a foreign table."""
        return "source" if self.foreign else "build"

    def mark(self) -> str:
        """Of which candidates there are and how they turned out: another corpus has another."""
        told = sorted(" ".join(str(row.get(name)) for name in _MARKED) for row in self.rows)
        return f"{zlib.crc32(chr(10).join(told).encode()):08x}"

    def warnings(self) -> list[str]:
        """What of a foreign table cannot be judged, in sentences."""
        gpus = foreign.unknown_gpus(self.rows) if self.foreign else ()
        return [f"there is no description of the GPU {gpu}: its rows are left out" for gpu in gpus]

    def splits(self) -> tuple[str, ...]:
        """Names of the parts that can be judged by themselves: splits of the corpus, data sets of a foreign table."""
        if self.parts:
            return tuple(self.parts)
        named = {self._part(row) for row in self.rows} - {""}
        known = [name for name in SPLITS if name in named]
        return (*known, *sorted(named.difference(known)), ALL)

    def default_splits(self) -> tuple[str, ...]:
        """The held-out splits of a corpus; else all rows, or of a table split by a file those for development."""
        if self.parts:
            return (DEVELOPMENT,) if DEVELOPMENT in self.parts else ()
        return tuple(name for name in HELD_OUT if name in self.splits()) or (ALL,)

    def of_rows(self, rows: Sequence[Mapping[str, Any]]) -> Data:
        """Some of the rows, with what belongs to them."""
        specs = {row.get("spec") for row in rows}
        return replace(self, rows=rows, own={text: task for text, task in self.own.items() if text in specs})

    def pools(self, split: str, tier: Tier) -> list[Pool]:
        """The pools of one split by name; BadTable where there is no such split."""
        if split not in self.splits():
            raise BadTable(f"there is no split {split!r} in {self.path}", ", ".join(self.splits()))
        if self.parts:
            rows = [row for row in self.rows if row.get("split_group") in self.parts[split]]
        else:
            rows = [row for row in self.rows if split in (ALL, self._part(row))]
        with within_limits(self.path, size_of(self.path)):
            return foreign.foreign_pools(rows, tier) if self.foreign else pools.corpus_pools(rows, tier, self.own)

    def past(self) -> Past:
        """How the training rows turned out, by kind of device; empty for a foreign table, which is all held out."""
        found: dict[str, list[float | None]] = {}
        for row in () if self.foreign else self.rows:
            if self._part(row) == "train" and row["status"] != Status.INFRASTRUCTURE:
                worked = row["status"] == Status.OK
                found.setdefault(row["kind"], []).append(math.log2(row["speedup"]) if worked else None)
        return Past.of(found)

    def _part(self, row: Mapping[str, Any]) -> str:
        return (row.get("dataset" if self.foreign else "split")) or ""


def read(path: Path, parts: Path | None = None) -> Data:
    """The rows of a folder with a corpus, or of one Parquet file; BadTable says what is wrong with it.

    `parts` is a JSON file with the problems of each split of a table that others measured.
    """
    if path.is_dir():
        files = table.files(path)
        if not files:
            raise BadTable(f"there is no corpus in {path}", _KNOWN)
    elif path.is_file():
        files = [path]
    else:
        raise BadTable(f"there is no {path}", _KNOWN)
    with within_limits(path, size_of(path)):
        found = [_read_file(file) for file in files]
    rows = [row for data in found for row in data.rows]
    if not rows:
        raise BadTable(f"there is no row in {path}", "one row for every candidate measured")
    data = Data(path, rows, found[0].foreign, own={text: task for each in found for text, task in each.own.items()})
    return data if parts is None else replace(data, parts=_parts(parts, data))


def _parts(path: Path, data: Data) -> dict[str, frozenset[str]]:
    expected = 'a table with split_group, and JSON such as {"parts": {"development": ["problem/1"], "held_out": []}}'
    if not data.foreign or not any(row.get("split_group") for row in data.rows):
        raise BadTable(f"{data.path} has no problems that {path} could split", expected)
    try:
        parts = read_json(path.resolve())["parts"]
        found = {str(name): frozenset(map(str, groups)) for name, groups in parts.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadTable(f"{path} does not say which problem is in which split: {error}", expected) from error
    if sum(map(len, found.values())) != len(frozenset().union(*found.values())):
        raise BadTable(f"{path} has a problem in two splits", expected)
    return found


def _read_file(path: Path) -> Data:
    try:
        names = set(column_names(path))
        for is_foreign, form in ((False, pools), (True, foreign)):
            if names.issuperset(form.REQUIRED):
                columns = read_table(path, [name for name in (*form.REQUIRED, *form.OPTIONAL) if name in names])
                _check(path, columns, form.REQUIRED)
                _check_lengths(path, columns)
                _check_optional(path, columns, foreign.OPTIONAL if is_foreign else ())
                rows = rows_of(columns)
                if is_foreign:
                    return Data(path, rows, True)
                rows = checked(path, rows)
                return Data(path, rows, False, own=pools.own_tasks(row.get("spec") for row in rows))
    except BadFile as error:
        raise BadTable(str(error), _KNOWN) from error
    nearest = min((pools.REQUIRED, foreign.REQUIRED), key=lambda form: len(set(form) - names))
    missing = ", ".join(name for name in nearest if name not in names)
    raise BadTable(f"{path} has another schema: it lacks {missing}", f"the columns {', '.join(nearest)}")


def _check(path: Path, columns: Any, required: Sequence[str]) -> None:
    """Refuse needed columns of another type than text (`speedup`: numbers), and text that is missing in some row."""
    types = table.arrow().types
    for name in required:
        column = columns.column(name)
        if name == "speedup":
            if not (types.is_floating(column.type) or types.is_integer(column.type) or types.is_null(column.type)):
                raise BadTable(f"the column {name} of {path} holds {column.type}", "numbers")
        elif not (types.is_string(column.type) or types.is_large_string(column.type)):
            raise BadTable(f"the column {name} of {path} holds {column.type}", "text")
        elif column.null_count:
            raise BadTable(f"the column {name} of {path} is empty in {column.null_count} rows", "a value in each row")


def _check_lengths(path: Path, columns: Any) -> None:
    """Refuse texts that are longer than any kernel: whoever reads one takes hundreds of times as much memory."""
    compute, types = require("pyarrow.compute", "data"), table.arrow().types
    for name in columns.column_names:
        column = columns.column(name)
        if types.is_string(column.type) or types.is_large_string(column.type):
            longest = compute.max(compute.binary_length(column)).as_py() or 0
            if longest > MOST_SOURCE_CHARACTERS:
                what = f"the column {name} of {path} has a text of {longest} bytes"
                raise BadTable(what, f"texts of at most {MOST_SOURCE_CHARACTERS}")


def _check_optional(path: Path, columns: Any, names: Sequence[str]) -> None:
    """Refuse columns that need not be there and hold something else than text, numbers (`..._ms`) or truth values."""
    types = table.arrow().types
    for name in set(names).intersection(columns.column_names):
        kind = columns.column(name).type
        if name.endswith("_ms"):
            fits, expected = types.is_floating(kind) or types.is_integer(kind), "numbers"
        elif name == "clean":
            fits, expected = types.is_boolean(kind), "truth values"
        else:
            fits, expected = types.is_string(kind) or types.is_large_string(kind), "text"
        if not fits and not types.is_null(kind):
            raise BadTable(f"the column {name} of {path} holds {kind}", expected)
