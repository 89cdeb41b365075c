"""The operations, by family. A family is one module with a tuple `TASKS`; adding it to `FAMILIES` registers it."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from foretell.errors import BadInput
from foretell.kernels.task import Task

FAMILIES = (
    "softmax",
    "normalisation",
    "elementwise",
    "activation",
    "broadcast",
    "reduction",
    "loss",
    "scan",
    "gather",
    "matmul",
    "convolution",
    "pooling",
    "attention",
    "stencil",
    "layout",
    "histogram",
    "rows",
)


_EXPECTED = ("the name of a task", "foretell tasks, or foretell tasks --kind gpu")


class UnknownTask(BadInput):
    """No task of that name; the message suggests the nearest."""


@cache
def tasks(kind: str = "cpu") -> dict[str, Task]:
    """All tasks for a kind of device (`cpu` or `gpu`) by name, in the order of their families.

    The same name on both kinds is the same operation at sizes that suit the device.
    """
    package = "foretell.kernels.library"
    if kind == "cpu":
        modules = [f"{package}.{family}" for family in FAMILIES]
    else:
        folder = import_module(f"{package}.gpu").__path__
        modules = [f"{package}.gpu.{found.name}" for found in iter_modules(folder)]
    found: dict[str, Task] = {}
    for module in modules:
        for task in getattr(import_module(module), "TASKS", ()):
            found[task.name] = task
    return found


def get(name: str, kind: str = "cpu") -> Task:
    """The task of that name, or UnknownTask with the nearest names."""
    known = tasks(kind)
    if name in known:
        return known[name]
    other = "gpu" if kind == "cpu" else "cpu"
    if name in tasks(other):
        what = f"the task {name!r} has no {kind.upper()} version: it is for a {other.upper()} only"
        raise UnknownTask(what, *_EXPECTED)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else "`foretell tasks` lists them all."
    raise UnknownTask(f"there is no task {name!r}; {hint}", *_EXPECTED)
