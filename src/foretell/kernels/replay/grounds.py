"""Grounds: where searches can be replayed, read from files of either kind. What a file is, is read off the file.

A corpus (a folder, or a table of its schema) has a ground for each operation on a device, a tuning space is one. A
ground is plain values, so that another process can be given it; its pool is made from them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from foretell.kernels.corpus import table
from foretell.kernels.corpus.check import checked
from foretell.kernels.evaluate import data, foreign, pools
from foretell.kernels.evaluate.data import ALL, Data
from foretell.kernels.evaluate.pools import BadTable, Pool
from foretell.kernels.measurement import Status
from foretell.kernels.replay import spaces
from foretell.kernels.replay.near import codes_of
from foretell.kernels.replay.space_pool import space_pool
from foretell.kernels.replay.spaces import Space
from foretell.received import BadFile, listed, parsed
from foretell.received_table import column_names, read_rows

Kind = Literal["corpus", "space"]
USUAL_SPLITS = ("held_operation", "held_family")
_FORMS = "a corpus (docs/corpus.md), a table of a tuning space with its card, or a cache file of Kernel Tuner"
MOST_SETTINGS, MOST_NAMES = 64, 1024  # of a candidate, and of all in a table: ours have 13 and 84
_SPACE_COLUMNS = frozenset(("time_ms", "status"))


@dataclass(frozen=True, eq=False)
class Ground:
    """One operation on one device with all that was measured of it. `knobs` are candidates' settings by row id."""

    name: str
    operation: str
    source: Data | Space
    knobs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def space(self) -> Space | None:
        return self.source if isinstance(self.source, Space) else None

    def pool(self) -> Pool:
        """The recorded candidates; BadTable where a row makes no sense."""
        if isinstance(self.source, Space):
            return space_pool(self.source)
        return self.source.pools(ALL, "build")[0]

    def codes(self, pool: Pool) -> NDArray[np.int64]:
        """The settings of the pool's candidates as whole numbers; see NearProposer."""
        if isinstance(self.source, Space):
            return self.source.codes
        return codes_of([self.knobs.get(i, {}) for i in pool.ids])


@dataclass(frozen=True)
class Source:
    """What files of one kind hold."""

    kind: Kind
    tables: tuple[Data, ...] = ()
    tuned: tuple[Space, ...] = ()

    def splits(self) -> tuple[str, ...]:
        """The splits that are taken unless told otherwise: those of operations never seen in training, or all rows."""
        known = {name for rows in self.tables for name in rows.splits()}
        return tuple(name for name in USUAL_SPLITS if name in known) or (ALL,)

    def grounds(self, splits: Sequence[str] = ()) -> list[Ground]:
        """The grounds on which something works, by split and name; BadTable where there is no such split."""
        if self.kind == "space":
            return [Ground(space.name, space.kernel, space) for space in self.tuned]
        known = list(dict.fromkeys(name for rows in self.tables for name in rows.splits()))
        for split in splits:
            if split not in known:
                raise BadTable(f"there is no split {split!r}", ", ".join(known))
        return [g for split in splits or self.splits() for rows in self.tables for g in _corpus_grounds(rows, split)]


def read(paths: Iterable[Path]) -> Source:
    """What is in the files; BadTable where one is of neither kind, or they are not all of one kind."""
    found = [_read(path) for path in dict.fromkeys(paths)]
    if len({source.kind for source in found}) != 1:
        raise BadTable("a corpus and a tuning space cannot be compared", "files of one kind")
    tables = tuple(rows for source in found for rows in source.tables)
    return Source(found[0].kind, tables, tuple(space for source in found for space in source.tuned))


def with_knobs(grounds: Sequence[Ground]) -> list[Ground]:
    """The grounds with the settings of their candidates; BadTable where a table does not tell them."""
    known: dict[Path, dict[str, Any]] = {}
    found = []
    for ground in grounds:
        if isinstance(ground.source, Data):
            path = ground.source.path
            if path not in known:
                known[path] = _knobs(path)
            rows = (row.get("id") or "" for row in ground.source.rows)
            ground = replace(ground, knobs={i: known[path][i] for i in rows if i in known[path]})
        found.append(ground)
    return found


def _read(path: Path) -> Source:
    if path.is_dir() and not table.files(path):
        files = listed(path, "*.parquet")
        if not files:
            raise BadTable(f"there is nothing to replay in {path}", _FORMS)
        return read(files)
    if not path.exists():
        raise BadTable(f"there is no {path}", _FORMS)
    if path.is_dir():
        return Source("corpus", (data.read(path),))
    if path.suffix == ".parquet":
        try:
            names = set(column_names(path))
        except BadFile as error:
            raise BadTable(str(error), _FORMS) from error
        if names.issuperset(pools.REQUIRED):
            return Source("corpus", (data.read(path),))
        if names.issuperset(foreign.REQUIRED):
            raise BadTable(f"{path} holds kernels of others, a few of each operation", f"{_FORMS}; see `foretell eval`")
        if not names.issuperset(_SPACE_COLUMNS):
            raise BadTable(f"{path} is neither a corpus nor a tuning space", _FORMS)
    try:
        return Source("space", tuned=(spaces.read(path),))
    except spaces.BadSpace as error:
        raise BadTable(str(error), _FORMS) from error
    except (ValueError, TypeError, LookupError, AttributeError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, PermissionError):
            raise
        raise BadTable(f"{path} cannot be read as a tuning space: {error}", _FORMS) from error


def _corpus_grounds(rows: Data, split: str) -> list[Ground]:
    grouped: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows.rows:
        if split in (ALL, row.get("split")):
            grouped.setdefault((row["kind"], row["task"], row["device"]), []).append(row)
    return [
        Ground(f"{task} on {device}", task, rows.of_rows(members))
        for (_, task, device), members in sorted(grouped.items(), key=lambda item: item[0])
        if any(row["status"] == Status.OK for row in members)
    ]


def _settings(path: Path, told: Mapping[str, Any]) -> Mapping[str, Any]:
    if len(told) > MOST_SETTINGS:
        raise BadTable(f"a candidate of {path} has more than {MOST_SETTINGS} settings", "those of templates")
    return told


def _knobs(path: Path) -> dict[str, Any]:
    """The settings of each candidate of a corpus that was made by a template, by row id."""
    found: dict[str, Any] = {}
    for file in table.files(path) if path.is_dir() else [path]:
        if {"id", "detail"}.issubset(column_names(file)):
            rows = checked(file, read_rows(file, ["id", "detail"]))
            details = ((row["id"], parsed(row["detail"] or "{}")) for row in rows)
            found |= {i: _settings(path, detail["knobs"]) for i, detail in details if "knobs" in detail}
            if len({name for each in found.values() for name in each}) > MOST_NAMES:
                raise BadTable(
                    f"candidates of {path} have more than {MOST_NAMES} settings in all", "those of templates"
                )
    if not found:
        raise BadTable(
            f"no row of {path} tells the settings it was made with", "the column detail of the corpus, or --anywhere"
        )
    return found
