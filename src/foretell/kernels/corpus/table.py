"""The corpus as Parquet: one row for every candidate measured on a device (`imports` makes them of catalogues).

Candidates of the library are in `corpus_KIND.parquet`, from which models are trained; those of other people's tasks,
with the spec of their task in the column `spec`, in `problems_KIND.parquet`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.extras import require
from foretell.kernels.candidate import Candidate, stripped
from foretell.kernels.corpus.check import CorpusDamaged, NotWritten, checked, odd
from foretell.kernels.corpus.splits import assign
from foretell.kernels.library import get
from foretell.kernels.store import Catalogue
from foretell.received import BadFile, listed, replacing
from foretell.received_table import read_rows

LICENCE = "Apache-2.0"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MESSAGE_CHARACTERS = 400
FOLDER = Path("data")
PROBLEM_SPLIT = "problem"


def arrow() -> Any:
    """pyarrow, which only the corpus needs. Raises MissingPackage if it is not installed."""
    require("pyarrow.parquet", "data")
    return require("pyarrow", "data")


def schema() -> Any:
    """The table's columns; `docs/corpus.md` says what each means."""
    pa = arrow()
    workload = pa.struct([
        ("name", pa.string()), ("pairs", pa.int16()), ("reference_us", pa.float32()), ("candidate_us", pa.float32()),
        ("speedup", pa.float32()), ("low", pa.float32()), ("high", pa.float32()),
        ("log2_ratio", pa.list_(pa.float32())),
    ])  # fmt: skip
    text, real = pa.string(), pa.float32()
    return pa.schema([
        ("id", text), ("key", text), ("task", text), ("family", text), ("kind", text), ("language", text),
        ("origin", text), ("detail", text), ("parents", pa.list_(text)), ("source", text), ("stripped", text),
        ("device", text), ("toolchain", text), ("status", text), ("message", text),
        ("speedup", real), ("low", real), ("high", real), ("stopped_early", pa.bool_()),
        ("workloads", pa.list_(workload)), ("features", pa.map_(text, real)),
        ("build_s", real), ("device_s", real), ("wall_s", real), ("method", text), ("conditions", text),
        ("measured_at", pa.float64()), ("licence", text), ("split", text),
    ])  # fmt: skip


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a catalogue, which may be named by a link; damaged ones are passed over. CatalogueDamaged if none."""
    return (row.to_record() for row in Catalogue(path.resolve(), received=True).rows())


def row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One catalogue record as a row of the table."""
    candidate, build, measured = record["candidate"], record["build"], record["measurement"]
    language = candidate["language"]
    kind = "cpu" if language == "cpp" else "gpu"
    name, _, toolchain = record["device"].partition(" | ")
    spec = record.get("spec")
    return {
        "id": Candidate(candidate["task"], language, candidate["source"]).likeness,
        "key": record["key"],
        "task": candidate["task"],
        "family": get(record["task"], kind).family if spec is None else spec["family"],
        "kind": kind,
        "language": language,
        "origin": candidate["origin"]["kind"],
        "detail": json.dumps(candidate["origin"]["detail"], sort_keys=True),
        "parents": candidate["parents"],
        "source": candidate["source"],
        "stripped": stripped(candidate["source"], language),
        "device": name,
        "toolchain": toolchain,
        "status": measured["status"],
        "message": measured["message"][:MESSAGE_CHARACTERS],
        "speedup": measured["speedup"],
        "low": measured["low"],
        "high": measured["high"],
        "stopped_early": measured["stopped_early"],
        "workloads": [_workload(timing) for timing in measured["timings"]],
        "features": sorted(build["features"].items()),
        "build_s": measured["cost"]["build_s"] or build["seconds"],
        "device_s": measured["cost"]["device_s"],
        "wall_s": measured["cost"]["wall_s"],
        "method": measured["method"],
        "conditions": json.dumps(measured.get("conditions", {}), sort_keys=True),
        "measured_at": record["t"],
        "licence": LICENCE,
        "spec": None if spec is None else json.dumps(spec),
    }


def _workload(timing: Mapping[str, Any]) -> dict[str, Any]:
    reference, candidate = np.array(timing["reference_us"]), np.array(timing["candidate_us"])
    return {
        "name": timing["workload"],
        "pairs": len(reference),
        "reference_us": float(np.median(reference)),
        "candidate_us": float(np.median(candidate)),
        "speedup": timing["speedup"],
        "low": timing["low"],
        "high": timing["high"],
        "log2_ratio": [float(q) for q in np.quantile(np.log2(reference / candidate), QUANTILES)],
    }


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a table, all or nothing, sorted by task and id, every row with its split; how many rows it has.

    Raises NotWritten if it could not be read again: what is written is read first, by the door for all tables.
    """
    pa = arrow()
    ordered = sorted(rows, key=lambda r: (r["kind"], r["task"], r["language"], r["id"], r["device"]))
    columns = schema()
    if any(r.get("spec") is not None for r in ordered):
        columns, splits = columns.append(pa.field("spec", pa.string())), [PROBLEM_SPLIT] * len(ordered)
    else:
        splits = assign(ordered)
    placed = [{**r, "split": split} for r, split in zip(ordered, splits, strict=True)]
    try:
        with replacing(path) as partial:
            table = pa.Table.from_pylist(placed, schema=columns)
            pa.parquet.write_table(table, partial, compression="zstd", compression_level=19)
            what = odd(read_rows(partial), schema().names)
            if what is not None:
                raise NotWritten(path, what)
    except (BadFile, pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise NotWritten(path, str(error)) from error
    return len(ordered)


def files(folder: Path = FOLDER) -> list[Path]:
    """The tables of the library's candidates in a folder. NotPlain if one is a link out of it."""
    return listed(folder, "corpus_*.parquet")


def read(folder: Path = FOLDER, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Rows of all tables in the folder; only some columns where those are named. CorpusDamaged where one is odd."""
    return [row for path in files(folder) for row in read_file(path, columns)]


def read_file(path: Path, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Rows of one table, as `read`."""
    try:
        found = read_rows(path, columns or None)
    except BadFile as error:
        raise CorpusDamaged(path, f"there is no Parquet table ({error})") from error
    return checked(path, found, columns or schema().names)


def known_ids(folder: Path = FOLDER) -> set[str]:
    """Candidates that are in the corpus; none where there is no table."""
    tables = (*files(folder), *listed(folder, "problems_*.parquet"))
    return {r["id"] for path in tables for r in read_file(path, ["id"])}


def table_of(row: Mapping[str, Any]) -> str:
    """The name of the table that a row belongs into."""
    return f"{'corpus' if row.get('spec') is None else 'problems'}_{row['kind']}"
