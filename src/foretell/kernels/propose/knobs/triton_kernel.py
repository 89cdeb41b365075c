"""Triton kernels of a source: their parameters and loops, and how large their tiles may get."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from foretell.kernels.propose.knobs.kinds import Kind, kind_of, ladder
from foretell.kernels.propose.knobs.python_tree import Tree
from foretell.kernels.propose.knobs.space import Setting
from foretell.kernels.tune.encode import Value

DEFAULT_WARPS, DEFAULT_STAGES = 4, 3  # what Triton takes where a launch does not say
LEAST_DOT = 16  # the smallest side of a tile that tensor cores take
MOST_ELEMENTS = 1 << 15  # of a tile, unless that of the source is larger
MOST_PER_THREAD = 128
SHARED_BYTES = 227 << 10
OPTIONS = {"num_warps": (Kind.WARPS, DEFAULT_WARPS), "num_stages": (Kind.STAGES, DEFAULT_STAGES)}


@dataclass
class Kernel:
    """A Triton kernel of the source: its parameters, and which knobs set them."""

    node: ast.FunctionDef
    parameters: list[str]
    constants: frozenset[str]
    has_dot: bool
    loops: list[ast.Call]  # calls of range in loops that load
    accesses: list[ast.Call]  # calls of tl.load and tl.store
    tuner: ast.Call | None
    knobs: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.node.name


def kernels(tree: Tree) -> list[Kernel]:
    """The kernels of a source; what a helper does that a kernel calls counts as the kernel's."""
    functions = {
        node.name: node
        for node in ast.walk(tree.root)
        if isinstance(node, ast.FunctionDef)
        and "jit" in {last_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list}
    }
    found = []
    for node in functions.values():
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        annotations = {one.arg: ast.dump(one.annotation) for one in arguments if one.annotation is not None}
        constants = frozenset(name for name, annotation in annotations.items() if "constexpr" in annotation)
        bodies = _with_helpers(node, functions)
        calls = [one for body in bodies for one in ast.walk(body) if isinstance(one, ast.Call)]
        decorators = (one for one in node.decorator_list if isinstance(one, ast.Call))
        found.append(
            Kernel(
                node,
                [one.arg for one in arguments],
                constants,
                any(last_name(one.func).startswith("dot") for one in calls),
                [loop for body in bodies for loop in _loading_loops(body)],
                [one for one in calls if _is_access(one)],
                next((one for one in decorators if last_name(one.func) == "autotune"), None),
            )
        )
    return found


def _with_helpers(node: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> list[ast.FunctionDef]:
    """A function and those of the others that it calls, directly or not."""
    found = [node]
    for one in found:
        for call in ast.walk(one):
            helper = functions.get(last_name(call.func)) if isinstance(call, ast.Call) else None
            if helper is not None and helper not in found:
                found.append(helper)
    return found


def _is_access(call: ast.Call) -> bool:
    return (
        last_name(call.func) in ("load", "store")
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "tl"
    )


def _loading_loops(node: ast.FunctionDef) -> list[ast.Call]:
    """The innermost loops over `range` or `tl.range` whose body loads."""
    found = []
    for loop in ast.walk(node):
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            continue
        inner = [one for statement in loop.body for one in ast.walk(statement)]
        loads = any(isinstance(one, ast.Call) and last_name(one.func) == "load" for one in inner)
        if loads and not any(isinstance(one, ast.For) for one in inner) and last_name(loop.iter.func) == "range":
            found.append(loop.iter)
    return found


def last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def tile_values(kernel: Kernel, kind: Kind, value: int) -> tuple[Value, ...]:
    values = ladder(kind, value)
    if kind is Kind.TILE and kernel.has_dot:
        return tuple(one for one in values if one >= LEAST_DOT or one == value)
    return tuple(values)


def fits(kernel: Kernel, knobs: dict[str, str], setting: Setting) -> bool:
    """Whether tiles are of a size that compiles in good time and, with tensor cores, may fit in shared memory."""

    def value(parameter: str, default: int) -> int:
        found = setting.get(knobs.get(parameter, ""), default)
        return found if isinstance(found, int) else default

    tiles = {name: setting[knob] for name, knob in knobs.items() if name not in OPTIONS and knob in setting}
    sides = {name: int(side) for name, side in tiles.items() if kind_of(name) in (Kind.TILE, Kind.ITEMS, None)}
    warps, stages = value("num_warps", DEFAULT_WARPS), value("num_stages", DEFAULT_STAGES)
    if kernel.has_dot:
        m, n, k = (next((s for name, s in sides.items() if name.upper().endswith(end)), 0) for end in "MNK")
        if m * n > 256 * 256 or m * n / (32 * warps) > 2 * MOST_PER_THREAD:
            return False
        return (m + n) * k * 2 * max(1, stages - 1) <= SHARED_BYTES
    elements = math.prod(side for name, side in sides.items() if kind_of(name) is not Kind.ITEMS)
    return elements <= MOST_ELEMENTS and elements / (32 * warps) <= MOST_PER_THREAD
