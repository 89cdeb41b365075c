"""Mutations of stored files that keep their checksums valid, and the verbs that read those files.

A mutation changes one value somewhere in one row: another type, missing, null, not finite, huge, deeply nested, empty,
another word, negative, odd characters. Whatever reads the file must answer with a message or go on; `Fuzz.once` returns
the signature of a traceback, or None.
"""

from __future__ import annotations

import base64
import json
import math
import os
import random
import shutil
import sqlite3
import struct
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from foretell.cli.app import app
from foretell.kernels.store.catalogue import _checksum
from foretell.kernels.store.lines import _CRC_OPEN
from foretell.kernels.typed import finite

VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1e308, -0.5, 2**70, 10**30, float("nan"), float("inf"), float("-inf"), "", "ok",
    "wrong", "no such word", "\u202e\x00\U0001f600", "x" * 5000, "[bold", "../..", "1.5", [], [[]], [None], {},
    {"": None}, {"a": 1}, ["", 1, None], json.loads("[" * 60 + "]" * 60),
)  # fmt: skip
FILES = ("journal", "catalogue", "corpus")


def mutate(value: Any, rng: random.Random) -> Any:
    """A copy of a JSON value with one change at a random place; long lists of numbers are not favoured."""
    if isinstance(value, dict) and value and rng.random() < 0.93:
        key = rng.choice(list(value))
        if rng.random() < 0.08:
            return {name: one for name, one in value.items() if name != key}
        if rng.random() < 0.03:
            return value | {"unheard of": rng.choice(VALUES)}
        return value | {key: mutate(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        i = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:i] + value[i + 1 :]
        return [*value[:i], mutate(value[i], rng), *value[i + 1 :]]
    if isinstance(value, str) and (packed := _doubles(value)) and rng.random() < 0.7:
        return _mutate_packed(packed, rng)
    if finite(value) and rng.random() < 0.3:
        return rng.choice((-value, value * 1e12, int(value), float(value), str(value), value + 1))
    return rng.choice(VALUES)


def _doubles(text: str) -> list[float]:
    """The numbers of a packed text; none where it is another text."""
    try:
        packed = base64.b64decode(text, validate=True)
    except ValueError:
        return []
    return list(struct.unpack(f"<{len(packed) // 8}d", packed)) if len(packed) >= 16 and len(packed) % 8 == 0 else []


def _mutate_packed(values: list[float], rng: random.Random) -> str:
    i = rng.randrange(len(values))
    change = rng.random()
    if change < 0.1:
        del values[i]
    elif change < 0.2:
        values.reverse()
    else:
        values[i] = rng.choice((0.0, -values[i], values[i] * 1e12, 1e308, math.nan, math.inf, -math.inf, values[i] + 1))
    return base64.b64encode(struct.pack(f"<{len(values)}d", *values)).decode()


def encoded(record: Mapping[str, Any]) -> bytes:
    """A line with a valid checksum, whatever is in it."""
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")[:-1]
    return b'%b%b%08x"}' % (body, _CRC_OPEN, zlib.crc32(body))


def mutate_journal(path: Path, rng: random.Random) -> None:
    """Change payload or details of one event (now and then another member), of a finished run or one that was cut."""
    lines = path.read_bytes().splitlines()
    if rng.random() < 0.6:
        lines = lines[: rng.randrange(1, len(lines))]
    i = rng.choice((0, rng.randrange(len(lines)), rng.randrange(len(lines))))
    record = json.loads(lines[i])
    del record["crc"]
    part = rng.choice([name for name in ("payload", "details") if name in record])
    changed = mutate(record, rng) if rng.random() < 0.1 else record | {part: mutate(record[part], rng)}
    lines[i] = encoded(changed)
    path.write_bytes(b"\n".join(lines) + b"\n")


def mutate_catalogue(path: Path, rng: random.Random) -> None:
    """Change the record of one row, or one of its columns."""
    columns = ["key", "definition", "task", "device", "candidate", "measured_at", "source", "record", "samples"]
    with closing(sqlite3.connect(path)) as connection, connection:
        ids = [i for (i,) in connection.execute("SELECT id FROM measurements")]
        i = rng.choice(ids)
        row = list(connection.execute(f"SELECT {', '.join(columns)} FROM measurements WHERE id = ?", (i,)).fetchone())
        if rng.random() < 0.75:
            row[7] = json.dumps(mutate(json.loads(row[7]), rng), ensure_ascii=False)
        elif rng.random() < 0.5:
            value = rng.choice([value for value in VALUES if value is not None and not isinstance(value, (list, dict))])
            place = rng.randrange(len(row))
            row[place] = "huge" if isinstance(value, int) and abs(value) >= 2**63 else value
        else:
            other = rng.choice(("status", "speedup", "low", "high"))
            value = rng.choice((-1.0, 1e308, "odd", b"\xff\xfe", float("inf"), 0))
            connection.execute(f"UPDATE measurements SET {other} = ? WHERE id = ?", (value, i))
        crc = _checksum(row) if isinstance(row[-1], bytes) else 0
        marks = ", ".join(f"{name} = ?" for name in (*columns, "crc"))
        with suppress(sqlite3.IntegrityError, UnicodeEncodeError):  # refused by the database itself
            connection.execute(f"UPDATE measurements SET {marks} WHERE id = ?", (*row, crc, i))


def mutate_corpus(path: Path, rng: random.Random) -> None:
    """Change values of one column within its type, or the type of a whole column, or drop it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    rows = table.to_pylist()
    name = rng.choice(table.schema.names)
    kind = rng.random()
    if kind < 0.1:
        pq.write_table(table.drop([name]), path)
        return
    if kind < 0.2:
        column = pa.array([rng.choice(("1", "text", None)) for _ in rows]) if rng.random() < 0.5 else pa.array(
            [rng.choice((1.5, -1.0, None)) for _ in rows]
        )  # fmt: skip
        pq.write_table(table.set_column(table.schema.get_field_index(name), name, column), path)
        return
    for _ in range(rng.choice((1, 1, 3))):
        i = rng.randrange(len(rows))
        for _ in range(20):
            value = rows[i][name]
            if isinstance(value, list) and value and isinstance(value[0], tuple):
                changed: Any = [(key, rng.choice((None, -1.0, float("nan"), 1e30))) for key, _ in value]
            else:
                changed = mutate(value, rng)
            try:
                pa.array([changed], table.schema.field(name).type)
            except (
                pa.ArrowInvalid,
                pa.ArrowTypeError,
                pa.ArrowNotImplementedError,
                OverflowError,
                ValueError,
                TypeError,
            ):
                continue
            rows[i][name] = changed
            break
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)


class Fuzz:
    """Whole files to begin with, in `base` (`run/`, `cache/catalogue.sqlite`, `data/`), and a place to spoil copies."""

    def __init__(self, base: Path, work: Path, source: Path, task: str = "softmax") -> None:
        self.base, self.work, self.source, self.task = base, work, source, task
        self.traces: dict[str, str] = {}
        self.exits: Counter[tuple[str, int]] = Counter()

    def verbs(self, file: str) -> Sequence[tuple[str, ...]]:
        run, data, task, source = str(self.work / "run"), str(self.work / "data"), self.task, str(self.source)
        quick = ("--policy", "random", "--measurements", "3", "--forecaster", "roofline")
        return {
            "journal": (
                ("report", run),
                ("search", task, "--resume", run, "--no-report"),
                ("ask", run, "--json"),
                ("tell", run, source, "--json"),
                ("tell", run, "--finish", "--json"),
                ("data", "import", run, "--data", data),
            ),
            "catalogue": (
                ("catalogue", "list"),
                ("catalogue", "list", "--json"),
                ("catalogue", "show", "", "--json"),
                ("search", task, "--warm-start", "--no-report", "--profile", "quick", *quick),
                ("forecast", task, source, "--json", "--forecaster", "online:roofline"),
                ("data", "import", str(self.work / "cache" / "catalogue.sqlite"), "--data", data),
            ),
            "corpus": (
                ("data", "stats", "--data", data),
                ("data", "stats", "--json", "--data", data),
                ("data", "verify", "--data", data),
                ("data", "split", "--out", str(self.work / "split.json"), "--data", data),
                ("data", "export", "--out", str(self.work / "rows.jsonl"), "--data", data),
                ("data", "import", str(self.work / "cache" / "catalogue.sqlite"), "--data", data),
                ("eval", "--data", data, "--forecaster", "constant", "--resamples", "5", "--split", "all"),
                ("eval", "--data", data, "--forecaster", "roofline", "--resamples", "5", "--split", "all"),
                ("replay", data, "--seeds", "1", "--split", "all", "--policy", "random", "--forecaster", "roofline",
                 "--pools", "1", "--measurements", "4", "--jobs", "1", "--near"),
            ),
        }[file]  # fmt: skip

    def once(self, file: str, seed: int, verb: tuple[str, ...] | None = None) -> str | None:
        """Spoil one file and run one verb that reads it; the signature of a traceback, or None."""
        rng = random.Random(f"{file} {seed}")
        if self.work.exists():
            shutil.rmtree(self.work)
        shutil.copytree(self.base, self.work)
        path, change = self._target(file)
        change(path, rng)
        chosen = verb or rng.choice(self.verbs(file))
        if chosen[:2] == ("catalogue", "show"):
            with closing(sqlite3.connect(path)) as connection:
                [(i,)] = connection.execute("SELECT candidate FROM measurements ORDER BY random() LIMIT 1").fetchall()
            chosen = ("catalogue", "show", str(i), *chosen[3:])
        os.environ["FORETELL_CACHE"] = str(self.work / "cache")
        os.environ["FORETELL_TRACEBACK"] = "1"
        result = CliRunner().invoke(app, list(chosen))
        self.exits[file, result.exit_code] += 1
        error = result.exception
        if error is None or isinstance(error, SystemExit):
            return None
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "foretell" in frame.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        signature = f"{file}: {type(error).__name__} at {place}"
        self.traces.setdefault(signature, f"{chosen} seed {seed}\n" + "".join(traceback.format_exception(error)))
        return signature

    def _target(self, file: str) -> tuple[Path, Callable[[Path, random.Random], None]]:
        if file == "journal":
            return self.work / "run" / "journal.jsonl", mutate_journal
        if file == "catalogue":
            return self.work / "cache" / "catalogue.sqlite", mutate_catalogue
        return self.work / "data" / "corpus_cpu.parquet", mutate_corpus


def prepare(base: Path) -> Path:
    """Make a small run, its catalogue and a corpus of it in `base`; the path of a source to forecast and tell.

    The bench must be a fake one already.
    """
    runner = CliRunner()
    os.environ["FORETELL_CACHE"] = str(base / "cache")
    source = base / "kernel.cpp"
    base.mkdir(parents=True, exist_ok=True)
    reference = runner.invoke(app, ["tasks", "softmax", "--reference"])
    source.write_text(reference.stdout.replace("{", "{ int odd = 1; (void)odd;", 1))
    search = ["search", "softmax", "--profile", "quick", "--measurements", "12", "--run", str(base / "run")]
    for arguments in (
        [*search, "--no-report", "--forecaster", "online:roofline"],
        ["data", "import", str(base / "run"), "--data", str(base / "data")],
    ):
        done = runner.invoke(app, arguments)
        if done.exit_code != 0:
            raise RuntimeError(f"{arguments} failed: {done.output}")
    with closing(sqlite3.connect(base / "cache" / "catalogue.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return source
