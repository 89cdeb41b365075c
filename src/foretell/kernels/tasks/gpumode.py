"""GPU MODE problems: a folder with `reference.py` (`generate_input`, `ref_kernel`) and `task.yml`.

`benchmarks` of `task.yml` are timed, `tests` are only checked. Entries are the arguments of `generate_input`; their
seeds are left out, since every check draws fresh inputs. Python files that `files` lists (`utils.py`, `task.py`) are
there to import, for the reference and for submissions alike.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.limits import TASK_LIMITS
from foretell.kernels.task import Task, Tolerance, Workload, unknown_flops
from foretell.kernels.tasks.module import check_names, is_tolerance
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.texts import parsed, read_text
from foretell.received import name_as_text

KIND = "gpumode"
FILE = "reference.py"
LISTED = "task.yml"
TOLERANCE = Tolerance(1e-2, 1e-2, "what is accepted between programs that the problem sets no limits for")
_NEVER = ("submission.py", "eval.py", FILE)  # of `files`: the candidate's place, and the judge that we are ourselves
_MOST_VALUES = 10_000  # in an entry
_MOST_CHARACTERS = 1 << 18  # of task.yml, aliases written out
_MOST_FILES, _MOST_FILE_BYTES = 64, 16 << 20  # that `files` lists, and of all their texts together
_MOST_WHOLE = 1 << 64
_MOST_REASON = 300  # characters of why a text is not YAML
_MATCH = "make_match_reference"
# What YAML may make of a value that is not one of its type.
_NOT_AS_EXPECTED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def read(path: Path, source: str) -> Task:
    """The problem of a `reference.py` whose text was read before, with what lies beside it."""
    folder = path.parent
    listed = folder / LISTED
    if not listed.exists():
        what = f"there is no {LISTED} beside {path}"
        raise BadTask(Refusal.NO_WORKLOADS, what, "a folder with reference.py and task.yml")
    about = read_yaml(read_text(listed), str(listed))
    name = name_as_text(folder.resolve().name)
    return from_texts({FILE: source, **_beside(about, folder)}, name, about)


def from_texts(files: Mapping[str, str], name: str, about: Mapping[str, Any]) -> Task:
    """The task of these files and the content of `task.yml`."""
    timed, checked = (_workloads(about, group, name) for group in ("benchmarks", "tests"))
    if not timed:
        what = f"{LISTED} of {name} lists nothing under 'benchmarks'"
        raise BadTask(Refusal.NO_WORKLOADS, what, "at least one entry such as {size: 1024, seed: 1}")
    described = about.get("description")
    first_line = described.strip().partition("\n")[0] if isinstance(described, str) else ""
    summary = first_line or f"the GPU MODE problem {name}"
    return Task(
        name=name,
        family=KIND,
        summary=summary,
        sizes=(),
        inputs=(),
        outputs=(),
        workloads=timed,
        extra=tuple(workload for workload in checked if workload not in timed),
        tolerance=_tolerance(files[FILE], name),
        flops=unknown_flops,
        oracle=None,
        references={"torch": files[FILE]},
        kind=KIND,
        files=files,
    )


def read_yaml(text: str, name: str) -> dict[str, Any]:
    """The mapping in a YAML text, of plain values only. Raises BadTask if it is not one."""
    import yaml

    try:
        if len(text) > _MOST_CHARACTERS:
            raise ValueError(f"{len(text)} characters; at most {_MOST_CHARACTERS} are read")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if _written_out(node, {}) > _MOST_CHARACTERS:
            raise ValueError("its aliases stand for too much")
        content = yaml.SafeLoader("").construct_document(node) if node is not None else None
        _check_numbers(content)
    except (yaml.YAMLError, *_NOT_AS_EXPECTED) as error:
        what = f"{name} is not valid YAML: {' '.join(str(error).split())[:_MOST_REASON]}"
        raise BadTask(Refusal.NOT_READABLE, what, "a task.yml as GPU MODE has it") from error
    if not isinstance(content, dict):
        raise BadTask(Refusal.NOT_READABLE, f"{name} is not a mapping", "a task.yml as GPU MODE has it")
    return content


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many characters a node has if every alias in it is written out. Raises ValueError if it contains itself."""
    if node is None:
        return 0
    if id(node) not in known:
        known[id(node)] = -1
        children = [] if isinstance(node.value, str) else node.value
        parts = [part for child in children for part in (child if isinstance(child, tuple) else (child,))]
        own = 1 + (len(node.value) if isinstance(node.value, str) else 0)
        known[id(node)] = own + sum(_written_out(part, known) for part in parts)
    elif known[id(node)] < 0:
        raise ValueError("an alias stands for what it is part of")
    return known[id(node)]


def _check_numbers(content: Any) -> None:
    """Raises ValueError if a whole number in plain values, or in their names, is beyond 64 bits."""
    waiting = [content]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += (*each, *each.values())
        elif isinstance(each, list | tuple | set):
            waiting += each
        elif isinstance(each, int) and abs(each) >= _MOST_WHOLE:
            raise ValueError("it holds a whole number beyond 64 bits")


def _workloads(about: Mapping[str, Any], group: str, name: str) -> tuple[Workload, ...]:
    """The entries of a group, each once: those that differ in their seeds only are the same workload."""
    entries = about.get(group) or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        what = f"{group!r} in {LISTED} of {name} is not a list of mappings"
        raise BadTask(Refusal.NO_WORKLOADS, what, "entries such as {size: 1024, seed: 1}")
    if len(entries) > TASK_LIMITS.listed_workloads:
        what = f"{group} of {name} has {len(entries)} workloads"
        raise BadTask(Refusal.NO_WORKLOADS, what, f"at most {TASK_LIMITS.listed_workloads}")
    found: list[Workload] = []
    for entry in entries:
        given = {str(key): value for key, value in entry.items() if key != "seed"}
        check_names(given, f"an entry of {group!r} in {LISTED} of {name}")
        sizes = {key: value for key, value in given.items() if type(value) is int}
        others = {key: value for key, value in given.items() if type(value) is not int}
        if any(abs(size) >= TASK_LIMITS.size for size in sizes.values()):
            what = f"an entry of {group!r} in {LISTED} of {name} has a size of very many digits"
            raise BadTask(Refusal.NO_WORKLOADS, what, "sizes of arrays")
        if not _is_plain(others):
            what = f"an entry of {group!r} in {LISTED} of {name} has a value that is not plain"
            expected = "finite numbers, texts, and lists of those, at most some thousands"
            raise BadTask(Refusal.NO_WORKLOADS, what, expected)
        workload = Workload(sizes, others, "" if given else "as published")
        if workload not in found:
            found.append(workload)
    return tuple(found)


def _is_plain(value: Any) -> bool:
    """Whether a value is finite numbers and texts in lists and dicts, and not too many: aliases may make it endless."""
    waiting, seen = [value], 0
    while waiting:
        each = waiting.pop()
        seen += 1
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict) and all(isinstance(key, str) for key in each):
            waiting += each.values()
        elif isinstance(each, float):
            if not math.isfinite(each):
                return False
        elif not (each is None or isinstance(each, bool | int | str)):
            return False
        if seen > _MOST_VALUES:
            return False
    return True


def _beside(about: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The Python files that `files` lists besides the reference, by the name they are imported under.

    They lie in the folder, or right beside it, as what all problems of a set share does. Raises BadTask otherwise.
    """
    texts: dict[str, str] = {}
    known: dict[Path, str] = {}
    left = _MOST_FILE_BYTES
    entries: Sequence[Any] = about.get("files") or []
    if isinstance(entries, list) and len(entries) > _MOST_FILES:
        raise BadTask(Refusal.NOT_A_TASK, f"{LISTED} of {folder} lists {len(entries)} files", f"at most {_MOST_FILES}")
    for entry in entries if isinstance(entries, list) else ():
        name, source = (entry.get("name"), entry.get("source")) if isinstance(entry, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(source, str) or not source.endswith(".py"):
            continue
        if name in _NEVER or not name.endswith(".py") or not name.removesuffix(".py").isidentifier():
            continue
        try:
            path = (folder / source).resolve()
            is_there = path.exists()
        except (OSError, ValueError, RuntimeError):  # for names that no file can have, and links in a circle
            what = f"{LISTED} of {folder} lists {source[:200]!r}, which names no file"
            raise BadTask(Refusal.NOT_FOUND, what, "files in the folder or right beside it") from None
        if not is_there:
            continue
        if not path.is_relative_to(folder.resolve()) and path.parent != folder.resolve().parent:
            what = f"{LISTED} of {folder} lists {source}, which lies elsewhere"
            raise BadTask(Refusal.NOT_FOUND, what, "files in the folder or right beside it", "copy the file there")
        if path not in known:
            known[path] = read_text(folder / source)
        texts[name] = known[path]
        left -= len(texts[name].encode())
        if left < 0:
            what = f"the files that {LISTED} of {folder} lists have more than {_MOST_FILE_BYTES} bytes"
            raise BadTask(Refusal.NOT_A_TASK, what, "the files that the problem imports")
    return texts


def has_check(source: str) -> bool:
    """Whether a problem writes a check of its own, rather than comparing with the reference."""
    return any(
        isinstance(node, ast.FunctionDef) and node.name == "check_implementation" for node in parsed(source, FILE).body
    )


def _tolerance(source: str, name: str) -> Tolerance:
    """What the problem itself accepts, where it says so: `make_match_reference(ref_kernel, rtol=..., atol=...)`."""
    for node in ast.walk(parsed(source, name)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _MATCH:
            given = {word.arg: word.value for word in node.keywords}
            try:
                limits = [ast.literal_eval(given[key]) for key in ("rtol", "atol")]
            except (KeyError, ValueError, TypeError, RecursionError, MemoryError):
                return TOLERANCE
            if not all(map(is_tolerance, limits)):
                what = f"the rtol and atol of {_MATCH} in {name} are not two numbers"
                raise BadTask(Refusal.NOT_A_TASK, what, "such as rtol=1e-3, atol=1e-5")
            return Tolerance(float(limits[0]), float(limits[1]), "what the problem's own check accepts")
    return TOLERANCE
