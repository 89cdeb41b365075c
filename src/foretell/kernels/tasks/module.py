"""The plain form: a Python module with `reference(*inputs)` and `inputs(seed)`.

Optional, as literals: `workloads` and `extra` (lists of further arguments of `inputs`, timed and only checked) and
`tolerance` (relative, absolute). With a C++ reference in `cpp` (its text, or the name of a file beside the module) it
is an operation for the CPU, with numpy in `inputs` and `reference`; without, one for a GPU, with torch.
"""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.limits import TASK_LIMITS
from foretell.kernels.task import Task, Tolerance, Workload, unknown_flops
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.texts import constants, parsed, read_text, top_level_names
from foretell.received import name_as_text

KIND = "module"
FILE = "module.py"
CPP_FILE = "reference.cpp"
GPU_TOLERANCE = Tolerance(1e-2, 1e-2, "the default of modules that set none: what KernelBench accepts")
CPU_TOLERANCE = Tolerance(1e-3, 1e-5, "the default of modules that set none: float32 sums in any order")
ONLY = Workload(label="as given")
MOST_NAMES, MOST_CHARACTERS = 64, 64  # in a workload, in a name
_FORM = "a module with reference(*inputs) and inputs(seed)"


def read(path: Path, source: str) -> Task:
    """The task of a module whose text was read before."""
    given = constants(parsed(source, str(path)))
    cpp = given.get("cpp")
    if isinstance(cpp, str) and "\n" not in cpp.strip() and cpp.strip().endswith((".cpp", ".cc", ".cxx")):
        cpp = read_text(path.parent / Path(cpp.strip()).name)
    return from_texts({FILE: source} | ({CPP_FILE: cpp} if isinstance(cpp, str) else {}), name_as_text(path.stem))


def from_texts(files: Mapping[str, str], name: str) -> Task:
    """The task of a module's text and, for an operation of the CPU, its C++ reference. Executes nothing."""
    tree = parsed(files[FILE], name)
    given = constants(tree)
    for option in ("workloads", "extra", "tolerance", "cpp"):
        if option in top_level_names(tree) and option not in given:
            what = f"{option} of {name} is not a literal, and nothing is executed to read it"
            raise BadTask(Refusal.NOT_READABLE, what, f"{option} = ... with numbers, texts, lists and dicts")
    for needed, reason in (("inputs", Refusal.NO_INPUTS), ("reference", Refusal.NOT_A_TASK)):
        if _function(tree, needed) is None:
            raise BadTask(reason, f"{name} does not define the function {needed}", _FORM)
    if "cpp" in given and CPP_FILE not in files:
        raise BadTask(Refusal.NOT_A_TASK, f"cpp of {name} is not a text", "C++ text, or the name of a file beside it")
    on_cpu = CPP_FILE in files
    workloads = _workloads(given, "workloads", name) or (ONLY,)
    references = {"cpp": files[CPP_FILE]} if on_cpu else {"torch": files[FILE]}
    return Task(
        name=name,
        family=KIND,
        summary=(ast.get_docstring(tree) or f"the operation of {name}").partition("\n")[0],
        sizes=(),
        inputs=(),
        outputs=(),
        workloads=workloads,
        extra=_workloads(given, "extra", name),
        tolerance=_tolerance(given, name, CPU_TOLERANCE if on_cpu else GPU_TOLERANCE),
        flops=unknown_flops,
        oracle=None,
        references=references,
        kind=KIND,
        files=dict(files),
    )


def argument_names(task: Task) -> list[str]:
    """What the parameters of `reference` are called; empty if it takes any number of them."""
    function = _function(parsed(task.files[FILE], task.name), "reference")
    if function is None or function.args.vararg is not None:
        return []
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _workloads(given: Mapping[str, Any], group: str, name: str) -> tuple[Workload, ...]:
    entries: Any = given.get(group, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        what = f"{group} of {name} is not a list of dicts"
        raise BadTask(Refusal.NO_WORKLOADS, what, f'such as {group} = [{{"rows": 4096, "cols": 1024}}]')
    if len(entries) > TASK_LIMITS.listed_workloads:
        raise BadTask(
            Refusal.NO_WORKLOADS,
            f"{group} of {name} has {len(entries)} entries",
            f"at most {TASK_LIMITS.listed_workloads}",
        )
    found: list[Workload] = []
    for entry in entries:
        check_names(entry, f"a workload of {name}")
        check_plain(entry, f"a workload of {name}")
        sizes = {key: value for key, value in entry.items() if type(value) is int}
        if any(abs(size) >= TASK_LIMITS.size for size in sizes.values()):
            raise BadTask(Refusal.NOT_A_TASK, f"{group} of {name} has a size of very many digits", "sizes of arrays")
        workload = Workload(sizes, {key: value for key, value in entry.items() if key not in sizes})
        if workload not in found:
            found.append(workload if workload.name else ONLY)
    return tuple(found)


def check_plain(entry: Mapping[str, Any], what: str) -> None:
    """Raises BadTask unless the values of a workload are such as JSON has, as which tasks are kept."""
    try:
        json.dumps(entry, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        expected = "finite numbers, texts, truth values, and lists and dicts of them"
        raise BadTask(Refusal.NO_WORKLOADS, f"{what} has a value that no workload has: {error}", expected) from None


def check_names(entry: Mapping[str, Any], what: str) -> None:
    """Raises BadTask unless the names of a workload are few, and such as parameters of `inputs` have.

    Dimensions are written with them, so that a name must not read as an expression.
    """
    if len(entry) > MOST_NAMES:
        raise BadTask(Refusal.NO_WORKLOADS, f"{what} has {len(entry)} names", f"at most {MOST_NAMES} names")
    for key in entry:
        short = len(key) <= MOST_CHARACTERS and key.isascii()
        if not short or not key.isidentifier() or keyword.iskeyword(key):
            expected = f"names of parameters of inputs, of at most {MOST_CHARACTERS} characters"
            raise BadTask(Refusal.NO_WORKLOADS, f"{what} has the name {key[:MOST_CHARACTERS]!r}", expected)


def _tolerance(given: Mapping[str, Any], name: str, default: Tolerance) -> Tolerance:
    if "tolerance" not in given:
        return default
    limits: Sequence[Any] = given["tolerance"] if isinstance(given["tolerance"], list) else ()
    if len(limits) != 2 or not all(map(is_tolerance, limits)):
        what = f"tolerance of {name} is not two numbers"
        raise BadTask(Refusal.NOT_A_TASK, what, "relative and absolute, such as tolerance = (1e-3, 1e-5)")
    return Tolerance(float(limits[0]), float(limits[1]), "set by the task")


def is_tolerance(limit: Any) -> bool:
    """Whether this is a number that a difference may be allowed to have."""
    return type(limit) in (int, float) and 0 <= limit < TASK_LIMITS.size
