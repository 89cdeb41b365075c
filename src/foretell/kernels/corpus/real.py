"""Kernels that language models wrote for problems in KernelBench form: `data/real_kernels.parquet`.

One row per text, correct or not, with the text of its problem, so that the table can be used without the repository.
Labels are apart, in `real_labels.parquet` (see `labels`): a kernel has one per device and toolchain.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.candidate import Candidate, stripped
from foretell.kernels.corpus.check import CorpusDamaged
from foretell.kernels.corpus.splits import ALIKE, alike, shingles, similarity
from foretell.kernels.corpus.table import FOLDER, LICENCE, arrow
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.small.outcome import AGREES, DIFFERS, NOT_RUN
from foretell.kernels.tasks import BadTask, kernelbench
from foretell.received import BadFile, inside, replacing
from foretell.received_table import read_rows

FILE = "real_kernels.parquet"
AUTHOR = "language model"
KINDS = ("first", "repair", "improvement")
KERNEL_LANGUAGES = ("triton", "cuda", "foretell_cuda", "mixed", "torch")
MOST_OF_A_PROBLEM = 2_000  # kernels, which are compared with each other
VERDICTS = (AGREES, DIFFERS, NOT_RUN)
SEED = 25
_MARKS = {
    "triton": ("triton.jit", "@jit"),
    "cuda": ("load_inline", "cpp_extension", "CUDAExtension"),
    "foretell_cuda": ("foretell.cuda", "from foretell import cuda"),
}
_HELD_OUT_IN = 3  # one problem of so many is held out


def split_of(problem: str) -> str:
    """The part that a problem belongs to: `development` or `held_out`, about a third, by its name alone."""
    return "held_out" if zlib.crc32(f"{SEED} {problem}".encode()) % _HELD_OUT_IN == 0 else "development"


def kernel_language(source: str) -> str:
    """What its kernels are written in; `mixed` for several languages, `torch` for none."""
    languages = [name for name, marks in _MARKS.items() if any(mark in source for mark in marks)]
    return "torch" if not languages else languages[0] if len(languages) == 1 else "mixed"


def shown(source: str) -> str:
    """What forecasters see of a source."""
    return stripped(source, language_of(source))


def candidate_of(row: Mapping[str, Any]) -> Candidate:
    """The candidate that a row describes, as the bench and the forecasters know it."""
    return Candidate(row["task"], language_of(row["source"]), row["source"])


def task_of(problem: str, reference: str) -> str:
    """The key of a problem's task. Raises BadTask if its text is not a problem."""
    return kernelbench.from_text(reference, problem).key


def schema() -> Any:
    """The table's columns; `docs/real_kernels.md` says what each means."""
    pa = arrow()
    text = pa.string()
    return pa.schema([
        ("id", text), ("problem", text), ("task", text), ("reference", text), ("language", text), ("source", text),
        ("stripped", text), ("author", text), ("kind", text), ("number", pa.int32()), ("parent", text),
        ("near", text), ("recorded", pa.bool_()), ("refusal", text), ("message", text), ("launches", pa.int32()),
        ("library_calls", pa.int32()), ("interpreter", text), ("difference", text), ("split", text),
        ("licence", text),
    ])  # fmt: skip


def new_row(problem: str, reference: str, source: str, kind: str, number: int, parent: str | None) -> dict[str, Any]:
    """A row that was not checked yet: `recorded` is None. `parent` is the id of a row of the same problem."""
    row: dict[str, Any] = {"problem": problem, "task": task_of(problem, reference), "reference": reference}
    row |= {"source": source, "language": kernel_language(source), "stripped": shown(source)}
    row |= {"author": AUTHOR, "kind": kind, "number": number, "parent": parent, "licence": LICENCE}
    row |= {"recorded": None, "refusal": "", "message": "", "launches": None, "library_calls": None}
    return row | {"interpreter": NOT_RUN, "difference": "", "id": candidate_of(row).likeness}


def read(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The rows; none if there is no table. Raises CorpusDamaged if the file is something else."""
    path = folder / FILE
    return read_table(inside(folder, FILE), schema().names) if path.exists() else []


def read_table(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table that has these columns. Raises CorpusDamaged if it does not."""
    try:
        return read_rows(path, columns)
    except BadFile as error:
        raise CorpusDamaged(path, f"there is no such table ({error})") from error


def write(folder: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write the table, all or nothing, with splits and near-duplicates found anew; how many rows it has."""
    ordered = sorted(rows, key=lambda row: (row["problem"], row["number"]))
    placed = [
        {**row, "split": split, "near": near}
        for row, split, near in zip(ordered, splits(ordered), nearest(ordered), strict=True)
    ]
    write_table(folder / FILE, placed, schema())
    return len(placed)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], columns: Any) -> None:
    """Write a table, all or nothing."""
    pa = arrow()
    table = pa.Table.from_pylist(list(rows), schema=columns)
    with replacing(path) as partial:
        pa.parquet.write_table(table, partial, compression="zstd", compression_level=19)


def splits(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The split of every row: that of its problem, or `near` for a development row too much like a held-out one."""
    parts = [split_of(row["problem"]) for row in rows]
    held = [i for i, part in enumerate(parts) if part == "held_out"]
    for i in alike(rows, [i for i, part in enumerate(parts) if part == "development"], held):
        parts[i] = "near"
    return parts


def nearest(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """For every row the id of the first row of its problem that is nearly the same text: its own, if there is none.

    Rows that share it count once.
    """
    most = max(Counter(row["problem"] for row in rows).values(), default=0)
    if most > MOST_OF_A_PROBLEM:
        raise BadFile(f"a problem has {most} kernels, more than {MOST_OF_A_PROBLEM}")
    leaders: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    found = []
    for row in rows:
        own = shingles(row["stripped"])
        near = next((i for i, other in leaders[row["problem"]] if similarity(own, other) >= ALIKE), None)
        if near is None:
            leaders[row["problem"]].append((row["id"], own))
        found.append(near or row["id"])
    return found


def problems(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Everything that is wrong with the rows, in words; nothing if all is well."""
    ids = {row["id"]: row for row in rows}
    texts = {(row["problem"], row["task"], row["reference"]) for row in rows}
    for problem, count in Counter(problem for problem, _, _ in texts).items():
        if count > 1:
            yield f"{problem} has {count} texts or tasks"
    for problem, task, reference in sorted(texts):
        try:
            if task_of(problem, reference) != task:
                yield f"{problem}: its task is not that of its text"
        except BadTask as error:
            yield f"{problem}: {error.what}"
    for identity, count in Counter(row["id"] for row in rows).items():
        if count > 1:
            yield f"{ids[identity]['problem']} {identity} occurs {count} times"
    for (problem, number), count in Counter((row["problem"], row["number"]) for row in rows).items():
        if count > 1:
            yield f"{problem} has {count} kernels with the number {number}"
    for row, split, near in zip(rows, splits(rows), nearest(rows), strict=True):
        for fault in _faults(row, ids, split, near):
            yield f"{row['problem']} {row['number']}: {fault}"


def _faults(row: Mapping[str, Any], ids: Mapping[str, Mapping[str, Any]], split: str, near: str) -> Iterator[str]:
    if candidate_of(row).likeness != row["id"]:
        yield "its id is not that of its source"
    if row["stripped"] != shown(row["source"]):
        yield "its stripped source is not its source stripped"
    for name, allowed in (("kind", KINDS), ("language", KERNEL_LANGUAGES), ("interpreter", VERDICTS)):
        if row[name] not in allowed:
            yield f"its {name} is {row[name]!r}, expected one of {', '.join(allowed)}"
    if row["language"] != kernel_language(row["source"]):
        yield f"its language is {row['language']}, its source's {kernel_language(row['source'])}"
    if (row["parent"] is None) != (row["kind"] == "first"):
        yield f"a {row['kind']} with parent {row['parent']}"
    elif row["parent"] is not None and ids.get(row["parent"], {}).get("problem") != row["problem"]:
        yield f"its parent {row['parent']} is not a kernel of the same problem"
    if (row["recorded"] is False) != bool(row["refusal"]):
        yield f"recorded {row['recorded']} with the refusal {row['refusal']!r}"
    if row["split"] != split:
        yield f"it is in {row['split']}, expected {split}"
    if row["near"] != near:
        yield f"it is near {row['near']}, expected {near}"
