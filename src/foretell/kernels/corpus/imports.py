"""Measurements on their way into the corpus: from catalogues and runs, which may be anyone's, into the tables.

A row that the reader of the tables would refuse, or that contradicts itself, is left out with the reason. The key of a
row says which other measurements it is combined with, so none is believed: it is worked out anew from what was
measured. One that comes out otherwise was made for an earlier definition of the task; it then counts only beside
measurements of that very source on that very device.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.errors import BadInput
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.check import odd
from foretell.kernels.corpus.combined import PARTS, combined
from foretell.kernels.corpus.table import arrow, read_file, records, row, schema, table_of, write
from foretell.kernels.corpus.verify import contradictions
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.store import catalogue_key
from foretell.kernels.store.catalogue import key_on
from foretell.kernels.store.journal import JOURNAL_NAME
from foretell.kernels.tasks import from_spec, of_run
from foretell.received_table import rows_of

_ROWS_AT_ONCE = 500
_KEY_CHARACTERS = 32
_REASON_CHARACTERS = 200
_SAME = ("task", "language", "source", "device", "toolchain")  # of rows that are measurements of one thing
_ODD = (BadInput, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
LeftOut = Callable[[str], None]


def merge(folder: Path, sources: Sequence[Path], left_out: LeftOut = lambda reason: None) -> dict[str, int]:
    """Add catalogues (files) and runs (folders) to the tables; rows of each table that was changed, by its name.

    Several measurements with one key are combined into one row (see `combined`). `left_out` gets a sentence for each
    measurement that is not taken.
    """
    fresh = [each for path in sources for each in _sound(path, _rows(path, left_out), left_out)]
    counts = {}
    for name in sorted({table_of(each) for each, _ in fresh}):
        path = folder / f"{name}.parquet"
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for each in read_file(path) if path.exists() else ():
            groups.setdefault(_group(each), []).append(each)
        for each, own_key in fresh:
            if table_of(each) == name:
                if _group(each) not in groups:
                    each = {**each, "key": own_key}
                groups.setdefault(_group(each), []).append(each)
        folder.mkdir(parents=True, exist_ok=True)
        counts[name] = write(path, [combined(rows) for rows in groups.values()])
    return counts


def run_records(run_dir: Path) -> Iterator[dict[str, Any]]:
    """What a search measured, as a catalogue would have it.

    Faults of the machine, reused results and measurements that other processes disturbed are left out.
    """
    from foretell.kernels.search.load import load_run

    state = load_run(run_dir)
    if state.started is None:
        return
    device = state.started.device
    journal = run_dir / JOURNAL_NAME
    task = of_run(state.config, device.kind)
    for node in state.nodes.values():
        outcome = node.measurement
        if outcome is None or node.reused or outcome.status is Status.INFRASTRUCTURE:
            continue
        if outcome.conditions.get("disturbed") is True:
            continue
        yield {
            "key": catalogue_key(task, node.candidate, device),
            "t": journal.stat().st_mtime,
            "task": task.name,
            "device": device.id,
            "candidate": node.candidate.to_dict() | {"parents": list(node.parents)},
            "build": node.build.to_dict(),
            "measurement": outcome.to_dict(),
            "spec": task.spec if task.files else None,
        }


def _group(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Rows of one group are measurements of one thing."""
    return tuple(row[name] for name in ("key", *_SAME))


def _rows(path: Path, left_out: LeftOut) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows of a catalogue or run, each with the key that it has a right to."""
    for record in run_records(path) if path.is_dir() else records(path):
        try:
            with np.errstate(all="ignore"):
                made = row(record)
            own_key = _own_key(record, made)
            if PARTS in record["measurement"].get("conditions", {}):
                raise ValueError("its conditions list measurements that it was combined of, and it is a single one")
            if record["measurement"].get("conditions", {}).get("disturbed") is True:
                raise ValueError("other processes disturbed it")
        except _ODD as error:
            left_out(_sentence(path, record["task"], record["candidate"]["id"], str(error) or type(error).__name__))
        else:
            yield made, own_key


def _own_key(record: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """The key of a record, worked out from what it holds; another if that is not the one it states.

    Raises BadInput, KeyError, TypeError or ValueError if its task is none.
    """
    spec = record.get("spec")
    task = get(record["task"], made["kind"]) if spec is None else from_spec(spec)
    if (task.name, task.key) != (record["task"], made["task"]):
        raise ValueError("its candidate is of another task")
    key = key_on(task, Candidate.from_dict(record["candidate"]), record["device"])
    if key == record["key"]:
        return key
    text = json.dumps([record["key"], *(made[name] for name in _SAME)])
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_CHARACTERS]


def _sound(
    path: Path, rows: Iterable[tuple[dict[str, Any], str]], left_out: LeftOut
) -> Iterator[tuple[dict[str, Any], str]]:
    """The rows that a reader of the table will accept; several are looked at together, which takes far less time."""
    waiting = iter(rows)
    while some := list(itertools.islice(waiting, _ROWS_AT_ONCE)):
        if _fault([made for made, _ in some]) is None:
            yield from some
            continue
        for made, own_key in some:
            reason = _fault([made])
            if reason is None:
                yield made, own_key
            else:
                left_out(_sentence(path, made["task"], made["id"], reason.removeprefix("row 1 ").removesuffix(",")))


def _fault(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with rows as the table would keep them; None if nothing is."""
    pa = arrow()
    columns = schema().append(pa.field("spec", pa.string()))
    try:
        kept = rows_of(pa.Table.from_pylist([{**each, "split": ""} for each in rows], schema=columns))
    except (pa.ArrowException, *_ODD) as error:
        return (str(error).splitlines() or [type(error).__name__])[0]
    return odd(kept, schema().names) or next((words for each in kept for words in contradictions(each)), None)


def _sentence(path: Path, task: str, candidate: str, reason: str) -> str:
    return f"{path}: a measurement of {task} ({candidate[:12]}) is left out: {reason[:_REASON_CHARACTERS]}"
