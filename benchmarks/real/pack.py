"""Check loose kernels and add them to data/real_kernels.parquet.

    python -m benchmarks.real.pack [FOLDER] [--seconds 100] [--processes 1] [--status FILE]

FOLDER/<problem>/<number>_<kind>.py, where kind is first, repair or improvement; a repair or improvement begins with the
comment `# parent: <number>`. Each kernel is recorded in the sandbox without a GPU, and if its problem has small sizes,
executed on them. What cannot be recorded is kept, with the reason: failures
are data. A file that does not parse, has a wrong name or a parent that is not there is left out. All others are added
at once; those that there is no time to check (`--seconds`), or whose recorder gives no answer, are checked when the
command is run again, which it can be without FOLDER. Of held-out problems only counts are shown.
"""

from __future__ import annotations

import argparse
import ast
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.real.listing import problem_files, tiny_sizes
from foretell.kernels.bench.gpu.builders import prepare_extensions
from foretell.kernels.corpus import real
from foretell.kernels.corpus.table import FOLDER as DATA
from foretell.kernels.corpus.table import MESSAGE_CHARACTERS
from foretell.kernels.devices import described
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.record.apart import record_apart
from foretell.kernels.small.apart import emulate_apart
from foretell.kernels.small.outcome import NOT_RUN
from foretell.kernels.tasks import kernelbench
from foretell.kernels.tasks.sizes import resized

DEVICE = "h200"
_AT_ONCE = 16  # kernels checked between two writes of the table
_NAME = re.compile(rf"(\d+)_({'|'.join(real.KINDS)})\.py")
_PARENT = re.compile(r"#\s*parent:\s*(\d+)")


@dataclass(frozen=True)
class Loose:
    """A kernel in a file, and what is wrong with the file."""

    problem: str
    path: Path
    number: int = 0
    kind: str = ""
    parent: int | None = None
    source: str = ""
    fault: str = ""


def loose_files(folder: Path, problems: Mapping[str, Path]) -> Iterator[Loose]:
    """The kernels below a folder in the order in which parents come first."""
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        numbers: set[int] = set()
        for path in sorted(place.glob("*.py"), key=lambda path: (len(path.name.partition("_")[0]), path.name)):
            item = _loose(place.name, path, numbers) if place.name in problems else _faulty(path, "no such problem")
            numbers.add(item.number)
            yield item


def _faulty(path: Path, fault: str) -> Loose:
    return Loose(path.parent.name, path, fault=fault)


def _loose(problem: str, path: Path, numbers: set[int]) -> Loose:
    match = _NAME.fullmatch(path.name)
    if match is None:
        return _faulty(path, "its name is not NUMBER_KIND.py")
    number, kind = int(match[1]), match[2]
    try:
        source = path.read_text(encoding="utf-8")
        names = {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    except (SyntaxError, ValueError) as error:
        return _faulty(path, f"it does not parse: {error}")
    stated = _PARENT.match(source)
    parent = int(stated[1]) if stated else None
    if "ModelNew" not in names:
        return _faulty(path, "it does not define ModelNew")
    if (parent is None) != (kind == "first"):
        return _faulty(path, f"a {kind} that {'names no' if parent is None else 'names a'} parent")
    if number in numbers or (parent is not None and parent not in numbers):
        return _faulty(path, f"number {number} occurs twice" if number in numbers else f"there is no parent {parent}")
    return Loose(problem, path, number, kind, parent, source)


def recorded(row: Mapping[str, Any]) -> dict[str, Any]:
    """What recording a kernel shows; nothing if its recorder gave no answer, which may be a busy machine's fault."""
    task, source = kernelbench.from_text(row["reference"], row["problem"]), row["source"]
    recording = record_apart(task, task.workloads[0], source, language_of(source), described(DEVICE))
    program, refusal = recording.program, recording.refusal
    if program is None and recording.cpu_seconds == 0:
        return {}
    return {
        "recorded": program is not None,
        "refusal": str(refusal.reason) if refusal else "",
        "message": refusal.sentence[:MESSAGE_CHARACTERS] if refusal else "",
        "launches": len(program.launches()) if program else None,
        "library_calls": len(program.library_calls()) if program else None,
    }


def emulated(row: Mapping[str, Any]) -> dict[str, Any]:
    """How a kernel does at its problem's small sizes without a GPU."""
    task = kernelbench.from_text(row["reference"], row["problem"])
    outcome = emulate_apart(resized(task, tiny_sizes(row["reference"])), row["source"], language_of(row["source"]))
    return {"interpreter": outcome.verdict, "difference": outcome.sentence}


def is_to_be_emulated(row: Mapping[str, Any]) -> bool:
    """Whether a kernel can be executed at small sizes and was not yet."""
    untried = row["interpreter"] == NOT_RUN and not row["difference"]
    return untried and row["recorded"] is not False and bool(tiny_sizes(row["reference"]))


def checks(row: Mapping[str, Any]) -> dict[str, Any]:
    """What running a kernel without a GPU shows, as far as it is not known yet."""
    found = recorded(row) if row["recorded"] is None else {}
    return found | (emulated(row) if is_to_be_emulated({**row, **found}) else {})


def add(folder: Path, rows: list[dict[str, Any]]) -> list[Loose]:
    """Append the kernels of a folder that are new, unchecked; return the files that are left out.

    The kernel of a file that was changed takes the place of the one that the file held before.
    """
    problems = problem_files()
    ids = {row["id"] for row in rows}
    numbered = {(row["problem"], row["number"]): row for row in rows}
    faulty = []
    for item in loose_files(folder, problems):
        parent = numbered.get((item.problem, item.parent)) if item.parent is not None else None
        if item.fault or (item.parent is not None and parent is None):
            faulty.append(item if item.fault else replace(item, fault=f"its parent {item.parent} is left out"))
            continue
        reference = problems[item.problem].read_text(encoding="utf-8")
        row = real.new_row(
            item.problem, reference, item.source, item.kind, item.number, parent["id"] if parent else None
        )
        before = numbered.get((item.problem, item.number))
        if before is not None and before["id"] == row["id"]:
            before["parent"] = row["parent"]
            continue
        if row["id"] in ids:
            faulty.append(replace(item, fault="another file has the same text"))
            continue
        if before is not None:
            rows.remove(before)
        rows.append(row)
        ids.add(row["id"])
        numbered[item.problem, item.number] = row
    return faulty


def check_all(rows: list[dict[str, Any]], data: Path, seconds: float, processes: int) -> None:
    """Check the rows that were not, so many at a time, and write the table every few; none is begun after `seconds`."""
    prepare_extensions("cuda")  # once, before several threads ask for it
    deadline = time.monotonic() + seconds
    waiting = [row for row in rows if row["recorded"] is None or is_to_be_emulated(row)]
    with ThreadPoolExecutor(processes) as pool:
        for start in range(0, len(waiting), _AT_ONCE):
            if time.monotonic() > deadline:
                return
            for row, found in zip(part := waiting[start : start + _AT_ONCE], pool.map(checks, part), strict=True):
                row.update(found)
            real.write(data, rows)


def status(rows: Sequence[Mapping[str, Any]], faulty: Sequence[Loose]) -> str:
    """Counts for people, and the reasons of what failed in development problems, by hundreds of the files' numbers."""
    distinct, waiting = len({row["near"] for row in rows}), sum(row["recorded"] is None for row in rows)
    lines = [f"{len(rows)} kernels of {len({row['problem'] for row in rows})} problems, {distinct} distinct"]
    lines.append(f"{waiting} are not checked yet, {len(faulty)} files left out")
    writers: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        writers[row["number"] // 100].append(row)
    for writer, own in sorted(writers.items()):
        checked = [row["recorded"] for row in own if row["recorded"] is not None]
        share = f"{sum(checked) / len(checked):.0%}" if checked else "none checked"
        languages = ", ".join(f"{n} {name}" for name, n in Counter(row["language"] for row in own).most_common())
        kinds = ", ".join(f"{n} {name}" for name, n in Counter(row["kind"] for row in own).most_common())
        verdicts = ", ".join(f"{n} {name}" for name, n in Counter(row["interpreter"] for row in own).most_common())
        lines.append(f"numbers {writer}xx: {len(own)} kernels, {sum(checked)} of {len(checked)} recorded ({share})")
        lines.append(f"  {languages}; {kinds}; at small sizes: {verdicts}")
    lines += [f"left out: {item.problem}/{item.path.name}: {item.fault}" for item in faulty]
    for row in rows:
        if real.split_of(row["problem"]) == "held_out":
            continue
        name = f"{row['problem']}/{row['number']}_{row['kind']}"
        if row["recorded"] is False:
            lines.append(f"not recorded: {name}: {row['refusal']}: {' '.join(row['message'].split())}")
        elif row["interpreter"] == "differs":
            lines.append(f"differs at small sizes: {name}: {row['difference']}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="default: only check what is in the table")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no further checks after that time")
    parser.add_argument("--processes", type=int, default=1, help="checks at a time")
    parser.add_argument("--status", type=Path, help="write counts and reasons to this file")
    arguments = parser.parse_args()
    rows = [row | {"stripped": real.shown(row["source"])} for row in real.read(arguments.data)]
    faulty = add(arguments.folder, rows) if arguments.folder else []
    real.write(arguments.data, rows)
    check_all(rows, arguments.data, arguments.seconds, arguments.processes)
    text = status(real.read(arguments.data), faulty)
    if arguments.status:
        arguments.status.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
