"""Bare CUDA files: their entry is the last host function that returns a tensor."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.kernels.languages.extension.errors import ExtensionError, Reason
from foretell.kernels.languages.extension.sources import ExtensionSources

_REMARKS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*(?:\"|(?=\n)|\Z)", re.DOTALL)
_TENSOR = r"(?:(?:torch|at)::)?Tensor"
_ENTRY = re.compile(
    rf"(?<![\w:<,(&])(?P<result>{_TENSOR}|std::vector<\s*{_TENSOR}\s*>|std::tuple<[^;{{}}()]*{_TENSOR}[^;{{}}()]*>)\s+"
    r"(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^(){}]*)\)\s*\{"
)
_OPENINGS = ("#include", "#define", "#pragma", "#if", "__global__", "template", "extern", "using ", "namespace")
_PYTHON = re.compile(r"^(?:import|from)[ \t]+\w", re.MULTILINE)
_CUDA = re.compile(r"__global__|\b(?:torch|at)::")
_BOUND = r"\.def\(\s*\"(?P<python>\w+)\"\s*,\s*&?\s*{name}\b"


@dataclass(frozen=True)
class BareEntry:
    """The entry of a bare file: its name in C++ and to Python, and which of its parameters are tensors."""

    function: str
    name: str
    tensors: tuple[bool, ...]
    bound: bool


def is_bare(source: str) -> bool:
    """Whether a source is CUDA C++ and not a Python module that holds some."""
    if _PYTHON.search(source) or not _CUDA.search(source):
        return False
    head = _REMARKS.sub(" ", source).lstrip()
    return head.startswith(_OPENINGS)


def entry_in(source: str) -> BareEntry:
    """Raises ExtensionError if no host function returns a tensor."""
    text = _REMARKS.sub(" ", source)
    matches = list(_ENTRY.finditer(text))
    if not matches:
        raise ExtensionError(Reason.NO_ENTRY, "no host function of the CUDA source returns a torch::Tensor")
    last = matches[-1]
    parameters = [part.strip() for part in last["parameters"].split(",") if part.strip()]
    bound = re.search(_BOUND.format(name=re.escape(last["name"])), source)
    tensors = tuple(re.search(rf"\b{_TENSOR}\b", parameter) is not None for parameter in parameters)
    return BareEntry(last["name"], bound["python"] if bound else last["name"], tensors, bound is not None)


def bare_sources(source: str) -> ExtensionSources:
    """The extension that a bare file becomes, with its entry bound."""
    entry = entry_in(source)
    name = f"bare_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    functions = () if entry.bound else ((entry.function, ""),)
    return ExtensionSources(name, cuda=(source,), functions=functions)


def arguments(
    entry: BareEntry, inputs: Sequence[Any], parameters: Mapping[str, Any] | None = None, settings: Iterable[Any] = ()
) -> list[Any]:
    """What a bare entry is called with: the inputs, then parameters in `state_dict` order where it takes tensors and
    the numbers that the model was made with where it takes numbers.

    Raises:
        ExtensionError: If the entry takes more than there is.
    """
    rest = list(entry.tensors[len(inputs) :])
    given = list(inputs[: len(entry.tensors)])
    weights = iter((parameters or {}).values())
    numbers = iter([value for value in settings if isinstance(value, bool | int | float)])
    for is_tensor in rest:
        value = next(weights if is_tensor else numbers, None)
        if value is None:
            raise ExtensionError(
                Reason.NO_ENTRY,
                f"{entry.function} takes more {'tensors' if is_tensor else 'numbers'} than the task has",
            )
        given.append(value)
    return given


def bound_entry(
    module: Any, source: str, parameters: Mapping[str, Any] | None, settings: Iterable[Any]
) -> Callable[..., Any]:
    """The entry of a loaded bare file as a function of the task's inputs."""
    entry = entry_in(source)
    function, kept = getattr(module, entry.name), list(settings)

    def kernel(*inputs: Any) -> Any:
        return function(*arguments(entry, inputs, parameters, kept))

    return kernel
