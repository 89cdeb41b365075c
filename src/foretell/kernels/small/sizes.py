"""Sizes at which a task runs in a moment on the CPU and still means the same to a kernel.

Kernels are written for the sizes of their task: for the length of a row, the width of a head, multiples of a tile. So
only sizes are made smaller that neither the model's arguments nor its parameters depend on, first those of leading
dimensions (batches), and by halves, so that what divides them still does. Nothing here allocates: shapes are found
with fake tensors. The task's code runs: call it in the sandbox.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foretell.kernels.tasks import kernelbench
from foretell.kernels.tasks.refusal import BadTask
from foretell.kernels.tasks.sizes import adjustable, resized
from foretell.kernels.tasks.texts import parsed

if TYPE_CHECKING:
    from foretell.kernels.task import Task

ELEMENTS = 1 << 16  # of all inputs together, that sizes are halved down to
ELEMENTS_OF_ROWS = 1 << 20  # the same for the length of rows, which kernels are often written for
MOST_ELEMENTS = 1 << 25  # of inputs and parameters, beyond which a task is not run
_FEWEST_LEADING, _FEWEST = 2, 128
_LITERAL = "literal "  # before a size that the file writes out where inputs are drawn
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Form:
    """What a task's sizes decide: shapes of inputs and parameters, arguments of the model, and whether its reference
    runs, as far as shapes tell."""

    inputs: Shapes
    parameters: Shapes
    arguments: str
    runs: bool

    @property
    def input_elements(self) -> int:
        return sum(map(math.prod, self.inputs))

    @property
    def elements(self) -> int:
        return self.input_elements + sum(map(math.prod, self.parameters))


@dataclass(frozen=True)
class _Size:
    """A size that can be halved down to `fewest`; `is_row` if it is the length of rows."""

    name: str
    value: int
    fewest: int
    is_row: bool

    @property
    def enough(self) -> int:
        return ELEMENTS_OF_ROWS if self.is_row else ELEMENTS


Change = tuple[str, int, int]  # name of a size, its value and the new one


def changes(task: Task) -> list[Change] | None:
    """What makes a task small, in this order; None if no sizes that kernels do not rest on make it small enough."""
    form = form_of(task)
    if form is None:
        return None
    found: list[Change] = []
    options = [*adjustable(task), *_literals(task)]
    free = [size for name, value in options if (size := _free(task, form, name, value)) is not None]
    while free:
        size = min(free, key=lambda each: (each.is_row, each.fewest, -each.value))
        free.remove(size)
        half = _half(size.value)
        if form.input_elements <= size.enough or half < size.fewest:
            continue
        change = (size.name, size.value, half)
        smaller = _changed(task, change)
        its_form = form_of(smaller)
        if its_form is not None and its_form.runs == form.runs and its_form.input_elements < form.input_elements:
            task, form = smaller, its_form
            found.append(change)
            free.append(replace(size, value=half))
    return found if form.elements <= MOST_ELEMENTS else None


def changed(task: Task, found: Sequence[Change]) -> Task:
    """The task with its sizes changed. Raises BadTask if it does not have them."""
    for change in found:
        task = _changed(task, change)
    return task


def _half(value: int) -> int:
    """Half of a size; odd if it is."""
    return (value // 2) | (value % 2)


def _free(task: Task, form: Form, name: str, value: int) -> _Size | None:
    """A size as one that can be halved; None if arguments or parameters change with it, or no input does."""
    half = _half(value)
    if half == value:
        return None
    try:
        other = form_of(_changed(task, (name, value, half)))
    except BadTask:
        return None
    if other is None or replace(other, inputs=form.inputs) != form:
        return None
    if list(map(len, other.inputs)) != list(map(len, form.inputs)):
        return None
    places = [
        (place, len(before))
        for before, after in zip(form.inputs, other.inputs, strict=True)
        for place, pair in enumerate(zip(before, after, strict=True))
        if pair[0] != pair[1]
    ]
    if not places:
        return None
    is_batch = all(place == 0 for place, _ in places) and max(rank for _, rank in places) > 2
    is_row = any(place == rank - 1 > 0 for place, rank in places)
    return _Size(name, value, _FEWEST_LEADING if is_batch else _FEWEST, is_row)


def _literals(task: Task) -> list[tuple[str, int]]:
    """Numbers that are written out where a file draws its inputs, each once, by the places that it has there."""
    places: dict[int, list[str]] = {}
    for place, node in enumerate(_numbers(task)):
        assert isinstance(node.value, int)
        places.setdefault(node.value, []).append(str(place))
    return [(_LITERAL + ",".join(of_value), value) for value, of_value in sorted(places.items(), reverse=True)]


def _numbers(task: Task) -> list[ast.Constant]:
    if task.kind != kernelbench.KIND:
        return []
    tree = parsed(task.files[kernelbench.FILE], task.name)
    drawing = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "get_inputs"]
    nodes = [node for each in drawing for node in ast.walk(each) if isinstance(node, ast.Constant)]
    return [node for node in nodes if type(node.value) is int]


def _changed(task: Task, change: Change) -> Task:
    """The task with one size changed: a literal everywhere that it is written out."""
    name, other = change[0], change[2]
    if not name.startswith(_LITERAL):
        return resized(task, {name: other})
    before = task.files[kernelbench.FILE]
    lines = before.encode().splitlines(keepends=True)
    numbers = _numbers(task)
    places = [int(place) for place in name.removeprefix(_LITERAL).split(",")]
    for node in sorted((numbers[place] for place in places), key=lambda node: -node.col_offset):
        line = lines[node.lineno - 1]
        end = node.end_col_offset or len(line)
        lines[node.lineno - 1] = line[: node.col_offset] + str(other).encode() + line[end:]
    text = b"".join(lines).decode()
    references = {key: text if source == before else source for key, source in task.references.items()}
    return replace(task, files={**task.files, kernelbench.FILE: text}, references=references)


def form_of(task: Task) -> Form | None:
    """The form of a task at its first workload; None if its code does not run with fake tensors."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from foretell.kernels.tasks.runtime import runtime_of
    from foretell.kernels.tasks.trees import is_tensor, leaves

    moving = torch.nn.Module._apply
    torch.nn.Module._apply = lambda self, *_, **__: self  # fake parameters cannot be moved, and are there already
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            runtime = runtime_of(task)
            inputs = runtime.inputs(task.workloads[0], 0, "cpu")
            reference = runtime.reference("cpu")
            runs = _runs(reference, inputs)
    except Exception:  # whatever the task's code raises
        return None
    finally:
        torch.nn.Module._apply = moving
    shapes = tuple(tuple(map(int, each.shape)) for each in leaves(inputs) if is_tensor(each))
    model: Any = getattr(reference, "model", None)
    state = model.state_dict().values() if model is not None else ()
    arguments = repr([tuple(each.shape) if is_tensor(each) else each for each in leaves(list(runtime.init_inputs))])
    return Form(shapes, tuple(tuple(map(int, each.shape)) for each in state), arguments, runs)


def _runs(reference: Any, inputs: list[Any]) -> bool:
    try:
        reference(*inputs)
    except Exception:  # sizes that do not fit, or steps that depend on data
        return False
    return True
