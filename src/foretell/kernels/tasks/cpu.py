"""Operations of the CPU from a user's module: their tensors, and input sets with what they must give.

Both come from running the module's `inputs` and `reference` with numpy in a process of its own (see `worker`). The
reference is run on inputs in double precision, so it judges candidates and the C++ reference alike.
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from foretell.kernels.task import Sizes, Task, Tensor, Workload
from foretell.kernels.tasks import module, worker
from foretell.kernels.tasks.arrays import Forged, bytes_of, lifted, packed, read_shapes, unpacked
from foretell.kernels.tasks.refusal import BadTask, Refusal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = list[NDArray[Any]]

DTYPES = ("float32", "float64", "int32", "int64", "uint8", "int8")  # what a C++ entry point may take
MOST_ARGUMENTS = 16  # of an entry point: what the runner passes
_HERE = "foretell.kernels.tasks.cpu"
_OF_TWO: tuple[tuple[str, Callable[[int, int], int]], ...] = (
    ("{} * {}", operator.mul),
    ("{} + {}", operator.add),
    ("{} - {}", operator.sub),
    ("{} - {} + 1", lambda a, b: a - b + 1),
    ("{} // {}", lambda a, b: a // b if b else -1),
)


def examined(task: Task) -> Task:
    """The task with its sizes, inputs and outputs, found by running it once at every workload. Raises BadTask."""
    every = (*task.workloads, *task.extra)
    names = tuple(every[0].sizes)
    if any(tuple(workload.sizes) != names or workload.arguments for workload in every):
        what = f"the workloads of {task.name} do not name the same sizes"
        raise BadTask(Refusal.NO_WORKLOADS, what, 'whole numbers such as [{"n": 1000}, {"n": 20}]')
    _check_arguments(task, 2 + len(names))
    answer = worker.call(f"{_HERE}:describe", _request(task, every, [0]), task.name)
    try:
        shapes = read_shapes(answer, len(every), DTYPES)
    except Forged:
        raise worker.forged(task.name) from None
    _check_arguments(task, len(shapes[0]["inputs"]) + len(shapes[0]["outputs"]) + len(names))
    sizes = [workload.sizes for workload in every]
    parameters = module.argument_names(task)
    inputs = _tensors(task.name, [each["inputs"] for each in shapes], sizes, parameters, "x")
    outputs = _tensors(task.name, [each["outputs"] for each in shapes], sizes, [], "out")
    return replace(task, sizes=names, inputs=inputs, outputs=outputs)


def _check_arguments(task: Task, count: int) -> None:
    """Raises BadTask if the entry point would have more arguments than are passed."""
    if count > MOST_ARGUMENTS:
        what = f"the entry point of {task.name} would have {count} arguments"
        raise BadTask(Refusal.ODD_INPUTS, what, f"at most {MOST_ARGUMENTS} inputs, outputs and sizes")


def draw(task: Task, workload: Workload, seeds: Sequence[int]) -> list[tuple[Arrays, Arrays]]:
    """For each seed the inputs and the outputs that are expected, these in double precision. Raises BadTask."""
    inputs = [(each.name, each.dtype, each.dims(workload.sizes)) for each in task.inputs]
    outputs = [(each.name, lifted(each.dtype), each.dims(workload.sizes)) for each in task.outputs]
    asked = _request(task, [workload], seeds) | {"forms": [inputs, outputs]}
    forms = (inputs + outputs) * len(seeds)
    answer = worker.call(f"{_HERE}:sample", asked, task.name, bytes_of(forms))
    try:
        arrays = unpacked(answer, forms)
    except Forged:
        raise worker.forged(task.name) from None
    sets = [arrays[k : k + len(inputs) + len(outputs)] for k in range(0, len(arrays), len(inputs) + len(outputs))]
    return [(drawn[: len(inputs)], drawn[len(inputs) :]) for drawn in sets]


def _request(task: Task, workloads: Sequence[Workload], seeds: Sequence[int]) -> dict[str, Any]:
    plain = [asdict(workload) for workload in workloads]
    return {"source": task.files[module.FILE], "name": task.name, "workloads": plain, "seeds": list(seeds)}


def _tensors(
    name: str, found: Sequence[Sequence[Any]], sizes: Sequence[Sizes], named: Sequence[str], prefix: str
) -> tuple[Tensor, ...]:
    """Tensors whose dimensions are written with the names of sizes, from their shapes at every workload."""
    if len({tuple((dtype, len(shape)) for dtype, shape in each) for each in found}) != 1:
        what = f"{name} has other numbers, types or ranks of arrays at some workloads"
        raise BadTask(Refusal.ODD_INPUTS, what, "the same arrays at every workload, in other sizes")
    count = len(found[0])
    names = list(named) if len(named) == count else [prefix] if count == 1 else [f"{prefix}{i}" for i in range(count)]
    tensors = []
    for position, (dtype, shape) in enumerate(found[0]):
        dims = []
        for axis in range(len(shape)):
            values = [each[position][1][axis] for each in found]
            dim = dimension(values, sizes)
            if dim is None:
                what = f"dimension {axis} of {names[position]} is {values} at the workloads of {name}"
                raise BadTask(Refusal.ODD_INPUTS, what, "a size, or a sum, product or quotient of two of them")
            dims.append(dim)
        tensors.append(Tensor(names[position], dtype, tuple(dims)))
    return tuple(tensors)


def dimension(values: Sequence[int], sizes: Sequence[Sizes]) -> str | int | None:
    """How a dimension that has these values at these sizes is written; None if no simple expression fits all."""

    def fits(rule: Callable[[Sizes], int]) -> bool:
        return all(rule(at) == value for at, value in zip(sizes, values, strict=True))

    names = list(sizes[0])
    for name in names:
        if fits(lambda at, name=name: at[name]):  # type: ignore[misc]
            return name
    if len(set(values)) == 1:
        return values[0]
    for one, other in itertools.product(names, names):
        for words, rule in _OF_TWO:
            if fits(lambda at, one=one, other=other, rule=rule: rule(at[one], at[other])):  # type: ignore[misc]
                return words.format(one, other)
    for name in names:
        first = sizes[0][name]
        for words, amount in (("+", values[0] - first), ("-", first - values[0])):
            if amount > 0 and fits(lambda at, name=name, to=values[0] - first: at[name] + to):  # type: ignore[misc]
                return f"{name} {words} {amount}"
        times, part = (values[0] // first, first // values[0]) if first and values[0] else (0, 0)
        if times > 1 and fits(lambda at, name=name, times=times: at[name] * times):  # type: ignore[misc]
            return f"{name} * {times}"
        if part > 1 and fits(lambda at, name=name, part=part: at[name] // part):  # type: ignore[misc]
            return f"{name} // {part}"
    return None


# What follows runs in the worker's process and executes the module.


def describe(request: Mapping[str, Any]) -> bytes:
    """Types and shapes of inputs and outputs at every workload, as JSON."""
    functions = _functions(request)
    shapes = []
    for plain in request["workloads"]:
        workload = Workload(**plain)
        inputs = _inputs(functions, workload, request)
        outputs = _outputs(functions, inputs, workload, request)
        again = _outputs(functions, inputs, workload, request)
        if not all(one.shape == other.shape and _same(one, other) for one, other in zip(outputs, again, strict=True)):
            what = f"the reference of {request['name']} gives other results for the same inputs at {workload.name}"
            raise BadTask(Refusal.NONDETERMINISTIC, what, "a function of its inputs alone")
        shapes.append({"inputs": _shapes(inputs), "outputs": _shapes(outputs)})
    return json.dumps(shapes).encode()


def sample(request: Mapping[str, Any]) -> bytes:
    """Inputs and outputs in double precision at the one workload for every seed, one after the other."""
    functions = _functions(request)
    [plain] = request["workloads"]
    workload = Workload(**plain)
    arrays: Arrays = []
    for seed in request["seeds"]:
        inputs = _inputs(functions, workload, request, seed)
        doubled = [x.astype("float64") if x.dtype.kind == "f" else x.copy() for x in inputs]
        outputs = _outputs(functions, doubled, workload, request)
        for found, forms in zip((inputs, outputs), request["forms"], strict=True):
            arrays += _in_form(found, forms, request["name"], workload)
    return packed(arrays)


def _in_form(found: Arrays, forms: Sequence[Sequence[Any]], task: str, workload: Workload) -> Arrays:
    """The arrays in the types and shapes that they had before. Raises BadTask if they have others now."""
    if len(found) != len(forms):
        what = f"{task} has {len(found)} arrays with another seed"
        raise BadTask(Refusal.NONDETERMINISTIC, what, f"{len(forms)} at {workload.name}")
    for array, (name, dtype, shape) in zip(found, forms, strict=True):
        if array.shape != tuple(shape) or lifted(array.dtype.name) != lifted(dtype):
            what = f"{name} of {task} is {array.dtype.name} of the shape {array.shape} with another seed"
            raise BadTask(Refusal.NONDETERMINISTIC, what, f"{dtype} of the shape {tuple(shape)} at {workload.name}")
    return [array.astype(dtype) for array, (_, dtype, _) in zip(found, forms, strict=True)]


def _functions(request: Mapping[str, Any]) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "task"}
    try:
        exec(compile(request["source"], f"{request['name']}.py", "exec"), space)
    except ModuleNotFoundError as error:
        what = f"{request['name']} imports {error.name}, which is not installed"
        raise BadTask(Refusal.MISSING_PACKAGE, what, "the packages that it imports", f"install {error.name}") from error
    except Exception as error:
        what = f"{request['name']} cannot be imported: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_IMPORT, what, "a module that can be imported") from error
    return space


def _inputs(functions: Mapping[str, Any], workload: Workload, request: Mapping[str, Any], seed: int = 0) -> Arrays:
    import numpy as np

    np.random.seed(seed % (1 << 32))
    try:
        given = functions["inputs"](seed, **workload.sizes)
    except Exception as error:
        what = f"inputs of {request['name']} fails at {workload.name}: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_RUN, what, "inputs(seed, ...) with the sizes of every workload") from error
    return _arrays(given, f"inputs of {request['name']}", Refusal.ODD_INPUTS)


def _outputs(functions: Mapping[str, Any], inputs: Arrays, workload: Workload, request: Mapping[str, Any]) -> Arrays:
    try:
        given = functions["reference"](*(x.copy() for x in inputs))
    except Exception as error:
        what = f"the reference of {request['name']} fails at {workload.name}: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_RUN, what, "reference(*inputs) for every workload") from error
    return _arrays(given, f"the reference of {request['name']}", Refusal.ODD_OUTPUTS)


def _arrays(given: Any, what: str, reason: Refusal) -> Arrays:
    import numpy as np

    items = given if isinstance(given, list | tuple) else [given]
    arrays = [np.ascontiguousarray(item) for item in items if isinstance(item, np.ndarray | np.generic)]
    if not items or len(arrays) != len(items):
        raise BadTask(reason, f"{what} returns something else than numpy arrays", "an array, or a tuple of arrays")
    odd = [array.dtype.name for array in arrays if array.dtype.name not in DTYPES]
    if odd:
        raise BadTask(reason, f"{what} returns an array of {odd[0]}", f"arrays of {', '.join(DTYPES)}")
    return arrays


def _same(one: Any, other: Any) -> bool:
    import numpy as np

    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _shapes(arrays: Arrays) -> list[list[Any]]:
    return [[array.dtype.name, list(array.shape)] for array in arrays]
