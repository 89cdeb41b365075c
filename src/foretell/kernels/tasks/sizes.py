"""The same task at other sizes: those of its workloads, or whole numbers at the top level of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from foretell.kernels.task import Task, Workload
from foretell.kernels.tasks import kernelbench, module
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.texts import assigned, constants, parsed

_FILES = {kernelbench.KIND: kernelbench.FILE, module.KIND: module.FILE}


def resized(task: Task, sizes: Mapping[str, int]) -> Task:
    """The task with these sizes changed everywhere. Raises BadTask if it does not have them."""
    known = dict(adjustable(task))
    for name, value in sizes.items():
        if name not in known:
            expected = f"one of its sizes: {', '.join(known) or 'it has none'}"
            raise BadTask(Refusal.NO_WORKLOADS, f"{task.name} has no size {name}", expected)
        if value < 1:
            raise BadTask(Refusal.NO_WORKLOADS, f"{name} of {task.name} cannot be {value}", "a number above zero")
    in_workloads = {name: value for name, value in sizes.items() if name in _common(task)}
    in_file = {name: value for name, value in sizes.items() if name not in in_workloads}
    if in_file:
        main = _FILES[task.kind]
        before = text = task.files[main]
        for name, value in in_file.items():
            text = _with_constant(text, name, value)
        references = {key: text if source == before else source for key, source in task.references.items()}
        task = replace(task, files={**task.files, main: text}, references=references)
    if in_workloads:
        timed = tuple(_at(each, in_workloads) for each in task.workloads)
        checked = tuple(_at(each, in_workloads) for each in task.extra)
        task = replace(task, workloads=_distinct(timed), extra=_distinct(checked))
    return task


def adjustable(task: Task) -> list[tuple[str, int]]:
    """The sizes that can be changed with their largest values, the likeliest first: batches, then the largest."""
    found = _common(task)
    if task.kind in _FILES:
        given = constants(parsed(task.files[_FILES[task.kind]], task.name))
        found = {name: value for name, value in given.items() if type(value) is int and value > 1} | found
    return sorted(found.items(), key=lambda item: ("batch" not in item[0].lower(), -item[1]))


def _common(task: Task) -> dict[str, int]:
    """The sizes that every workload has, with their largest values."""
    every = (*task.workloads, *task.extra)
    names = [name for name in every[0].sizes if all(name in each.sizes for each in every)]
    return {name: max(each.sizes[name] for each in every) for name in names}


def _at(workload: Workload, sizes: Mapping[str, int]) -> Workload:
    return replace(workload, sizes={**workload.sizes, **sizes}, label="" if workload.sizes else workload.label)


def _distinct(workloads: tuple[Workload, ...]) -> tuple[Workload, ...]:
    found: list[Workload] = []
    for workload in workloads:
        if workload not in found:
            found.append(workload)
    return tuple(found)


def _with_constant(text: str, name: str, value: int) -> str:
    """The text with another value in the last assignment to a name at its top level."""
    nodes = [each for node in parsed(text, name).body for target, each in assigned(node) if target == name]
    node = nodes[-1]
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno is not None and node.end_col_offset is not None
    head, tail = lines[node.lineno - 1][: node.col_offset], lines[node.end_lineno - 1][node.end_col_offset :]
    lines[node.lineno - 1 : node.end_lineno] = [head + str(value).encode() + tail]
    return b"".join(lines).decode()
