"""Where runs live: `runs/TASK-NUMBER` below the working directory, unless the user says otherwise."""

from __future__ import annotations

import re
from pathlib import Path

from foretell.errors import BadInput

RUNS = Path("runs")
REPORT_NAME = "report.html"
SHOWN = 3
_NAME_CHARACTERS = 80


def new_run(task: str, named: Path | None) -> Path:
    """The directory for a new run: the named one, or the next free number, claimed so that no other process gets it."""
    if named is not None:
        if named.exists() and not named.is_dir():
            raise BadInput(f"{named} is a file", "a directory for the run", "give --run another path")
        return named
    RUNS.mkdir(exist_ok=True)
    task = re.sub(r"[^\w-]+", "_", task)[:_NAME_CHARACTERS]  # a received task may be called anything
    number = 1 + max((_number(path, task) for path in RUNS.glob(f"{task}-*")), default=0)
    while True:
        claimed = RUNS / f"{task}-{number}"
        try:
            claimed.mkdir()
        except FileExistsError:
            number += 1
        else:
            return claimed


def existing_run(given: str | Path) -> Path | None:
    """The directory of the run of that path or name, if there is one; a journal without a whole line is none."""
    from foretell.kernels.store.errors import NoRun
    from foretell.kernels.store.journal import JOURNAL_NAME, entries_of

    for path in (Path(given), RUNS / given):
        if path.is_file() and path.name != JOURNAL_NAME:
            raise BadInput(f"{path} is a file", "the directory of a run, there or not yet", "choose another path")
        folder = path.parent if path.name == JOURNAL_NAME and path.is_file() else path
        if (folder / JOURNAL_NAME).exists():
            try:
                next(iter(entries_of(folder)))
            except NoRun:
                continue
            return folder
    return None


def find_run(given: str) -> Path:
    """The directory of a run given by path or by its name below `runs/`; BadInput names runs that do exist."""
    from foretell.kernels.store.journal import JOURNAL_NAME

    for path in (Path(given), RUNS / given):
        if path.name == JOURNAL_NAME and path.is_file():
            return path.parent
        if path.is_dir():
            return path
    journals = sorted(RUNS.glob(f"*/{JOURNAL_NAME}"), key=lambda path: path.stat().st_mtime, reverse=True)
    near = ", ".join(str(path.parent) for path in journals[:SHOWN])
    what = f"{given} is a file" if Path(given).exists() else f"there is no run {given}"
    raise BadInput(
        what,
        "the directory of a run, or its name below runs/",
        f"choose one of {near}" if near else "foretell search TASK",
    )


def _number(path: Path, task: str) -> int:
    tail = path.name.removeprefix(f"{task}-")
    return int(tail) if tail.isdecimal() else 0
