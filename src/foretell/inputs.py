"""Tasks and candidates as people name them: a name, a path, a text; read, checked, and turned into values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.errors import BadInput, command_line
from foretell.received import name_as_text, read_plain

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.task import Task

MOST_BYTES = 1 << 20
_SIZE_DIGITS = 18
_GPU_TEXT = re.compile(r"__global__|^\s*(?:import|from)\s+\w", re.MULTILINE)
_LANGUAGES = {".cpp": "cpp", ".cc": "cpp", ".cxx": "cpp", ".cu": "cuda", ".py": "triton or torch"}


def load_task(reference: str, kind: str, sizes: Sequence[str] = (), do: str = "") -> Task:
    """The task of that name, file or folder, for a kind of device; BadInput, with what to `do`, if it is for the other.

    `sizes` are changes such as `rows=64`.
    """
    from foretell.kernels.tasks import load

    changed = {}
    for given in sizes:
        name, _, value = given.partition("=")
        if not value.isdecimal() or len(value) > _SIZE_DIGITS:
            raise BadInput(f"{given!r} is not a size", "NAME=NUMBER, such as --size batch_size=16")
        changed[name] = int(value)
    task = load(reference, kind, changed)
    if task.device_kind != kind:
        raise _other_kind(reference, task, kind, do)
    return task


def for_kind(task: Task, kind: str) -> Task:
    """A task at the sizes of a kind of device: one of the library has them for both, if it is there for both.

    Raises BadInput if the task is for the other kind.
    """
    if task.device_kind == kind:
        return task
    if task.kind == "library":
        from foretell.kernels import library

        return library.get(task.name, kind)
    raise _other_kind(task.name, task, kind)


def _other_kind(reference: str, task: Task, kind: str, do: str = "") -> BadInput:
    files = {"cpu": "kernels in C++", "gpu": "kernels in Python or CUDA"}[task.device_kind]
    return BadInput(
        f"{reference} is a task for a {task.device_kind.upper()}, and the kernels or the device beside it are those of "
        f"a {kind.upper()}",
        f"{files}, on a {task.device_kind.upper()}",
        do,
    )


def candidate_of(task: Task, given: Candidate | Path | str, device: Device) -> Candidate:
    """A candidate as it is, from a file, or from a text of more than one line."""
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    if isinstance(given, Candidate):
        return given
    if isinstance(given, str) and "\n" in given:
        language = "cpp" if device.kind == "cpu" else language_of(given)
        return Candidate(task.key, language, given, Origin("person"))
    path = Path(given)
    return read_candidate(task, device, path) if device.kind == "cpu" else read_gpu_candidate(task, path)


def start_kind(start: Candidate | Path | str, task: Task) -> str:
    """The kind of device that a kernel to start from is for: by its ending, else by its text or its language."""
    from foretell.kernels.candidate import Candidate

    if isinstance(start, Candidate):
        return "cpu" if start.language == "cpp" else "gpu"
    if isinstance(start, str) and "\n" in start:
        return task.device_kind if task.files else "gpu" if _GPU_TEXT.search(start) else "cpu"
    return "cpu" if _LANGUAGES.get(Path(start).suffix.lower()) == "cpp" else "gpu"


def start_of(task: Task, start: Candidate | Path | str) -> Candidate:
    """The kernel to start from, for a task of its kind of device. Raises BadInput if it cannot be one."""
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of

    if isinstance(start, Candidate):
        return start
    if isinstance(start, str) and "\n" in start:
        language = "cpp" if task.device_kind == "cpu" else language_of(start)
        return Candidate(task.key, language, start, Origin("person"))
    path = Path(start)
    if task.device_kind == "gpu":
        return read_gpu_candidate(task, path)
    text = read_text(path, "source text that defines the task's entry point")
    return Candidate(task.key, "cpp", text, Origin("person", {"file": name_as_text(path.name)}))


def read_gpu_candidate(task: Task, path: Path) -> Candidate:
    """The candidate in a Python or CUDA file or in a FlashInfer-Bench solution; its language is read off its text."""
    from foretell.kernels import library
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.tasks.solution import BadSolution, module_of

    expected = "a module with ModelNew, custom_kernel(data), kernel(*inputs) or run(*inputs), or a CUDA file"
    if path.suffix.lower() not in (".py", ".cu", ".json") and path.exists():
        on_both = task.kind == "library" and task.name in library.tasks("cpu")
        raise BadInput(
            f"{path} is not Python or CUDA by its ending",
            f"{expected}, for a GPU",
            f"this is a GPU task: give .py or .cu{'; for C++ leave --device out' if on_both else ''}",
        )
    text = read_text(path, expected, "" if task.files else command_line("tasks", task.name, "--kind", "gpu"))
    if path.suffix == ".json":
        try:
            text = module_of(text, task)
        except BadSolution as error:
            raise BadInput(f"{path}: {error.what}", error.expected) from error
    return Candidate(task.key, language_of(text), text, Origin("person", {"file": name_as_text(path.name)}))


def read_candidates(task: Task, device: Device, paths: Sequence[Path]) -> list[Candidate]:
    """One candidate a file, in order; BadInput names the first file that cannot be one."""
    return [read_candidate(task, device, path) for path in paths]


def read_candidate(task: Task, device: Device, path: Path) -> Candidate:
    """The candidate in a file; its language follows from the file's ending and must run on the device."""
    from foretell.kernels.candidate import Candidate, Origin

    language = _language(task, device, path)
    wanted = "source text that defines the task's entry point"
    text = read_text(path, wanted, "" if task.files else f"foretell tasks {task.name} --reference")
    return Candidate(task.key, language, text, Origin("person", {"file": name_as_text(path.name)}))


def _language(task: Task, device: Device, path: Path) -> str:
    endings = [ending for ending, language in _LANGUAGES.items() if language in device.languages]
    expected = f"a file ending in {' '.join(endings)} for {device.name}"
    if path.is_dir():
        raise BadInput(f"{path} is a directory", expected, "name the file in it")
    if not path.exists():
        near = [other.name for other in sorted(path.parent.glob("*")) if other.suffix in endings][:3]
        hint = f"did you mean {' or '.join(near)}?" if near else "check the path"
        raise BadInput(f"there is no file {path}", expected, hint)
    language = _LANGUAGES.get(path.suffix.lower())
    if language is None:
        what = f"cannot tell the language of {path} from its ending"
        raise BadInput(what, expected, "rename it if it is C++")
    if language not in device.languages:
        raise BadInput(
            f"{path} is {language}, which needs a GPU; this device runs {', '.join(device.languages)}",
            expected,
            f"start from C++: foretell tasks {task.name} --reference",
        )
    return language


def read_text(path: Path, wanted: str, hint: str = "") -> str:
    """A source file's text; BadInput where it is missing, too large, binary or empty."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}", wanted, "check the path")
    size_bytes = path.stat().st_size
    if size_bytes > MOST_BYTES:
        raise BadInput(
            f"{path} has {size_bytes} bytes", f"source text of at most {MOST_BYTES} bytes", "choose another file"
        )
    data = read_plain(path, MOST_BYTES)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text (byte {error.start} is not UTF-8)", "source text in UTF-8") from None
    if "\0" in text:
        raise BadInput(f"{path} is binary (byte {text.index(chr(0))} is zero)", "source text in UTF-8")
    if not text.strip():
        raise BadInput(f"{path} is empty", wanted, hint)
    return text
