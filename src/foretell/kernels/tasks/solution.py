"""FlashInfer-Bench solutions as candidates: their files and entry point, in the form of one Python module.

The module defines `ModelNew`, whose `forward` calls the solution's entry point. Of outputs in destination-passing style
the shapes are worked out from the definition's axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from foretell.kernels.task import Task
from foretell.kernels.tasks import flashinfer
from foretell.received import parsed

_PYTHON = ("python", "triton")
_COMPILED = (".cu", ".cpp", ".cc", ".cxx")
_FORM = "a FlashInfer-Bench solution: definition, spec (language, entry_point) and sources"

_FILES = """\
import pathlib
import sys
import tempfile

_folder = pathlib.Path(tempfile.mkdtemp(prefix="solution-"))
for _name, _text in {files}.items():
    (_folder / _name).parent.mkdir(parents=True, exist_ok=True)
    (_folder / _name).write_text(_text, encoding="utf-8")
"""
_IMPORTED = """\
sys.path.insert(0, str(_folder))
from {module} import {function} as _entry
"""
_LOADED = """\
from torch.utils.cpp_extension import load

_entry = load(name="solution", sources=[str(_folder / name) for name in {sources}]).{function}
"""
_ENTRY = """

import torch as _torch


class ModelNew(_torch.nn.Module):
    def forward(self, *inputs):
{call}
        return [outputs[name] for name in {names}] if isinstance(outputs, dict) else outputs
"""
_MADE = """\
        device = next(x.device for x in inputs if isinstance(x, _torch.Tensor))
{sizes}
        outputs = [{outputs}]
        {entry}(*inputs, *outputs)"""


class BadSolution(ValueError):
    """A file that is not a solution, or one that cannot be run here. The message is what is wrong."""

    def __init__(self, what: str, expected: str = _FORM) -> None:
        super().__init__(what)
        self.what, self.expected = what, expected


def module_of(text: str, task: Task) -> str:
    """The Python module of a solution of the task. Raises BadSolution."""
    try:
        solution = parsed(text)
        spec, files = solution["spec"], {str(file["path"]): str(file["content"]) for file in solution["sources"]}
        path, _, function = str(spec["entry_point"]).partition("::")
        definition, language = solution["definition"], str(spec["language"]).lower()
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadSolution(f"the file is not a solution: {error!r}") from error
    if task.kind != flashinfer.KIND or definition != task.name:
        raise BadSolution(f"the solution is for {definition}, not for {task.name}", f"a solution of {task.name}")
    if path not in files or not function.isidentifier():
        raise BadSolution(f"the entry point {spec['entry_point']} is not among the sources", "FILE::FUNCTION")
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise BadSolution(f"the source {name} lies outside of the solution", "relative paths")
        if not PurePosixPath(name).name or not name.isprintable():
            raise BadSolution(f"a source has the path {name!r}, which names no file", "relative paths")
    head, entry = _loaded(files, path, function, language, str(spec.get("binding") or "tvm-ffi"))
    in_place = spec.get("destination_passing_style", True) is not False
    call = _made(task, entry) if in_place else f"        outputs = {entry}(*inputs)"
    return head + _ENTRY.format(call=call, names=[tensor.name for tensor in task.outputs])


def _loaded(files: Mapping[str, str], path: str, function: str, language: str, binding: str) -> tuple[str, str]:
    """The text that makes the entry point, and what it is called there."""
    if language in _PYTHON:
        if len(files) == 1:
            return files[path], function
        parts = PurePosixPath(path).with_suffix("").parts
        if not all(part.isidentifier() for part in parts):
            raise BadSolution(f"the entry point is in {path}, which cannot be imported", "the path of a Python module")
        module = ".".join(parts)
        return _FILES.format(files=repr(dict(files))) + _IMPORTED.format(module=module, function=function), "_entry"
    if language in ("cuda", "cpp", "c++") and binding == "torch":
        sources = [name for name in files if name.endswith(_COMPILED)]
        return _FILES.format(files=repr(dict(files))) + _LOADED.format(sources=sources, function=function), "_entry"
    raise BadSolution(
        f"the solution is in {language} with the binding {binding}, which is not run here",
        "python or triton, or cuda and cpp with the binding torch",
    )


def _made(task: Task, entry: str) -> str:
    """The call of an entry point that writes into outputs made beforehand."""
    definition = parsed(task.files[flashinfer.DEFINITION])
    axes = list(definition["axes"])
    lines = [
        f"        _size_{axes.index(axis)} = {_value(axis, definition, task)}"
        for axis in dict.fromkeys(str(axis) for tensor in task.outputs for axis in tensor.shape)
    ]
    outputs = []
    for tensor in task.outputs:
        shape = "".join(f"_size_{axes.index(str(axis))}, " for axis in tensor.shape)
        outputs.append(f"_torch.empty(({shape}), dtype=_torch.{tensor.dtype}, device=device)")
    return _MADE.format(sizes="\n".join(lines), outputs=", ".join(outputs), entry=entry)


def _value(axis: str, definition: Mapping[str, Any], task: Task) -> str:
    """The size of an axis as an expression over the inputs."""
    value = definition["axes"][axis].get("value")
    if value is not None:
        return str(value)
    for position, about in enumerate(definition["inputs"].values()):
        if axis in (about.get("shape") or ()):
            return f"inputs[{position}].shape[{about['shape'].index(axis)}]"
    what = f"the size {axis} of an output of {task.name} is not that of any input"
    raise BadSolution(what, "a solution that returns its outputs")
