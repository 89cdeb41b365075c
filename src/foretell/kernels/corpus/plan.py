"""A plan: which candidates of which tasks are to be measured, one JSON object a line.

Templates are named by their knobs and rendered where they are measured, so that a plan of forty thousand candidates
travels as a file of a few megabytes. Kernels written by a language model are named by their file. Kernels of tasks that
are not in the library are there as text, with the spec of their task.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.corpus.check import MOST_SOURCE_CHARACTERS
from foretell.kernels.library import get, tasks
from foretell.kernels.propose.template import Template
from foretell.kernels.task import Task
from foretell.kernels.tasks import from_spec
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.received import inside, open_plain, parsed, read_plain, values_in

LANGUAGES = {"cpu": ("cpp",), "gpu": ("triton", "cuda")}
TEMPLATE_LANGUAGES = frozenset(itertools.chain(*LANGUAGES.values()))
WRITTEN = Path("data/written")
MOST_PLAN_BYTES = 1 << 30  # of text, inflated
FEW_PLAN_BYTES, TIMES_FILE = 64 << 20, 50  # inflated, of a file of this size
MOST_NAME_CHARACTERS = 4096
MOST_VALUES = 2_000_000  # of all lines; each takes some 500 bytes with what is made of it
MOST_LINE_BYTES = 16 << 20


@dataclass(frozen=True)
class Item:
    """One candidate to be: a template's knobs, a file below `WRITTEN`, or a text with the spec of its task.

    `task` is the key of the task.
    """

    task: str
    language: str
    knobs: Mapping[str, Any] | None = None
    file: str = ""
    source: str = ""
    spec: Mapping[str, Any] | None = None

    def definition(self, kind: str) -> Task:
        """The task, at the sizes of a kind of device; UnknownTask, or BadTask if its spec makes no sense."""
        own = self.own_task
        if isinstance(own, BadTask):
            raise own
        return own or get(self.task, kind)

    @cached_property
    def own_task(self) -> Task | BadTask | None:
        """The task of its spec, or why there is none; None for a task of the library."""
        if self.spec is None:
            return None
        try:
            return from_spec(self.spec)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            what = f"the task {self.task!r} of the plan cannot be read: {type(error).__name__}: {error}"
            return BadTask(Refusal.NOT_A_TASK, what, "a task as foretell data plan writes it")

    def candidate(self, written: Path = WRITTEN) -> Candidate:
        """The candidate itself; OSError, KeyError, TypeError or ValueError if its file or template has no such one."""
        if self.spec is not None:
            return Candidate(self.task, self.language, self.source, Origin("person", {"file": self.file}))
        if self.knobs is not None:
            if self.language not in TEMPLATE_LANGUAGES:
                raise KeyError(f"there are no templates in {self.language}")
            template = templates(self.language)[self.task]
            knobs = template.own_knobs(self.knobs)
            if knobs is None:
                raise KeyError(f"the template of {self.task} in {self.language} has no such knobs")
            return template.candidate(knobs)
        if Path(self.task).name != self.task or Path(self.file).name != self.file:
            raise KeyError(f"{self.task}/{self.file} names no file below {written}")
        source = read_plain(inside(written, f"{self.task}/{self.file}"), MOST_SOURCE_CHARACTERS).decode("utf-8")
        return Candidate(self.task, self.language, source, Origin("model", {"by": "language model", "file": self.file}))


def templates(language: str) -> dict[str, Template]:
    found: dict[str, Template] = import_module(f"foretell.kernels.propose.{language}").templates()
    return found


def foreign_items(task: Task, candidates: Sequence[Candidate]) -> list[Item]:
    """Items for candidates of a task that is not in the library."""
    return [
        Item(task.key, each.language, file=str(each.origin.detail.get("file", "")), source=each.source, spec=task.spec)
        for each in candidates
    ]


def make_plan(
    kind: str, per_language: int, rounds: int = 1, seed: int = 0, wanted: Sequence[str] = (), written: Path = WRITTEN
) -> list[Item]:
    """Up to `per_language` settings of every template, drawn at random, and every written kernel of these tasks.

    The plan goes through all tasks `rounds` times, so that one cut short has seen all of them. The tasks come in a
    random order: those of one family take long to build, or to measure, together.
    """
    names = list(wanted) or list(tasks(kind))
    np.random.default_rng(seed).shuffle(names)
    parts: list[list[Item]] = [[] for _ in range(rounds)]
    for name in names:
        items = _written(name, kind, written)
        for language in LANGUAGES[kind]:
            template = templates(language).get(name)
            if template is not None:
                items += [Item(name, language, knobs) for knobs in _drawn(template, per_language, seed)]
        # Whatever the round, a task's candidates are a fair mixture.
        order = np.random.default_rng([seed, zlib.crc32(name.encode())]).permutation(len(items))
        for place, index in enumerate(order):
            parts[place * rounds // len(items)].append(items[int(index)])
    return [item for part in parts for item in part]


def _drawn(template: Template, count: int, seed: int) -> list[dict[str, Any]]:
    settings = template.settings()
    key = f"{template.task} {template.language}".encode()
    chosen = np.random.default_rng([seed, zlib.crc32(key)]).permutation(len(settings))[:count]
    return [settings[int(index)] for index in sorted(chosen)]


def _written(task: str, kind: str, folder: Path) -> list[Item]:
    if kind != "gpu":
        return []
    files = [inside(folder, f"{task}/{path.name}") for path in sorted((folder / task).glob("*.py"))]
    return [Item(task, "cuda" if file.name.startswith("cuda") else "triton", file=file.name) for file in files]


def write_plan(path: Path, items: Iterable[Item]) -> int:
    """Write the plan, gzipped, and say how many candidates it has."""
    count = 0
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for item in items:
            named: dict[str, Any] = {"task": item.task, "language": item.language}
            named |= {"file": item.file} if item.knobs is None else {"knobs": dict(item.knobs)}
            named |= {} if item.spec is None else {"source": item.source, "spec": dict(item.spec)}
            file.write(json.dumps(named, separators=(",", ":")) + "\n")
            count += 1
    return count


def read_plan(path: Path) -> Iterator[Item]:
    """The items of a plan, in order; ValueError if the file is not a plan or inflates beyond a stated size."""
    try:
        left, former = MOST_VALUES, None
        with os.fdopen(open_plain(path), "rb") as packed, gzip.open(packed, "rb") as file:
            most = min(MOST_PLAN_BYTES, FEW_PLAN_BYTES + TIMES_FILE * os.fstat(packed.fileno()).st_size)
            while line := file.readline(MOST_LINE_BYTES + 1):
                if len(line) > MOST_LINE_BYTES or file.tell() > most:
                    raise ValueError(f"more than {MOST_LINE_BYTES} bytes in a line, or {most} in all")
                left -= values_in(line)
                if left < 0:
                    raise ValueError(f"more than {MOST_VALUES:,} values")
                item = _item(parsed(line))
                if former is None or item.task != former.task:
                    _ = item.own_task  # made here, within the limits of who reads; of a run it is that of the first
                former = item
                yield item
    except (ValueError, KeyError, OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise
        raise ValueError(f"{path} is not a plan: {error}") from error


def _item(named: Any) -> Item:
    """The item of one line; KeyError or ValueError if it is not one."""
    if not isinstance(named, dict):
        raise ValueError(f"a line is not an object but a {type(named).__name__}")
    item = Item(
        named["task"],
        named["language"],
        named.get("knobs"),
        named.get("file", ""),
        named.get("source", ""),
        named.get("spec"),
    )
    if not all(isinstance(text, str) for text in (item.task, item.language, item.file, item.source)):
        raise ValueError("a task, language, file or source is not text")
    if max(len(item.task), len(item.language), len(item.file)) > MOST_NAME_CHARACTERS:
        raise ValueError(f"a name has more than {MOST_NAME_CHARACTERS} characters")
    if len(item.source) > MOST_SOURCE_CHARACTERS:
        raise ValueError(f"a source has more than {MOST_SOURCE_CHARACTERS} characters")
    if not all(value is None or isinstance(value, dict) for value in (item.knobs, item.spec)):
        raise ValueError("knobs or a spec are not an object")
    return item
