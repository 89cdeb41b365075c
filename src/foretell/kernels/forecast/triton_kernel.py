"""One Triton kernel read off its syntax tree: what it does per loop level and how it touches memory.

What depends on the rest of the program (sizes that a launch gives, names that are defined elsewhere) is kept by name.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.forecast.host_code import number
from foretell.kernels.forecast.strides import CONTIGUOUS, Strides, strides_of
from foretell.kernels.forecast.syntax import LEAVES, Nodes, children, speaks_of, walk
from foretell.kernels.forecast.triton_names import LANGUAGE

_GROUPS = {
    "load": "load",
    "store": "store",
    "dot": "dot dot_scaled",
    "reduce": "sum max min reduce argmax argmin xor_sum reduce_or",
    "scan": "cumsum cumprod associative_scan",
    "sort": "sort topk histogram gather flip",
    "exp": "exp exp2 sigmoid softmax",
    "log": "log log2",
    "root": "sqrt rsqrt sqrt_rn",
    "divide_exact": "div_rn fdiv",
    "trig": "sin cos erf",
    "pick": "maximum minimum where abs clamp",
    "shape": "reshape view trans permute broadcast broadcast_to expand_dims join split interleave cat ravel",
    "zeros": "zeros full zeros_like",
    "arange": "arange",
    "program": "program_id num_programs",
    "descriptor": "make_tensor_descriptor make_block_ptr advance load_tensor_descriptor store_tensor_descriptor",
    "hint": "multiple_of max_contiguous max_constancy assume",
    "barrier": "debug_barrier",
    "assembly": "inline_asm_elementwise",
    "fused": "fma",
    "fixed_range": "static_range",
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names.split()}
COUNTED = (
    *_GROUPS,
    "atomic",
    "cast",
    "multiply",
    "add",
    "divide",
    "floor_divide",
    "modulo",
    "compare",
    "bits",
    "call",
)
_BINARY: dict[type[ast.operator], str] = {
    ast.Mult: "multiply", ast.Add: "add", ast.Sub: "add", ast.Div: "divide", ast.FloorDiv: "floor_divide",
    ast.Mod: "modulo", ast.BitAnd: "bits", ast.BitOr: "bits", ast.BitXor: "bits", ast.LShift: "bits",
    ast.RShift: "bits",
}  # fmt: skip
_KNOWN = frozenset((*dir(builtins), "tl", "triton", "torch", "math"))
FACTS = (
    "loops", "loops_over_programs", "load_masked", "load_filled", "store_masked", "evicting", "cached", "unknown_names",
    "undefined_names", "load_strided", "load_contiguous", "load_scalar", "store_strided", "store_contiguous",
    "load_gathered", "constexprs", "parameters", "branches", "float32", "float16", "float64", "int64", "atomic_looped",
    "exact", "while", "helpers",
)  # fmt: skip


@dataclass
class Kernel:
    """Counts of a kernel, in all and within loops; `extents` are the numbers, or the names of numbers, it ranges to.

    `tuned` has the numbers of the first setting of its autotuner, where there is one.
    """

    name: str
    tuned: Mapping[str, int] | None
    undefined: frozenset[str]
    total: Counter[str] = field(default_factory=Counter)
    looped: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)
    depth: int = 0
    extents: list[int | str] = field(default_factory=list)


def is_kernel(node: ast.FunctionDef) -> bool:
    return any(speaks_of(each, "jit") for each in node.decorator_list)


def read_kernel(node: ast.FunctionDef, nodes: Nodes) -> Kernel:
    """Read a kernel, given with all its nodes."""
    parameters = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
    assigned = {name.id for name in nodes[ast.Name] if isinstance(name.ctx, ast.Store)}
    loaded = {name.id for name in nodes[ast.Name] if isinstance(name.ctx, ast.Load)}
    undefined = frozenset(loaded - assigned - set(parameters) - _KNOWN)
    kernel = Kernel(node.name, _tuned(node), undefined)
    kernel.facts["parameters"] = len(parameters)
    kernel.facts["constexprs"] = sum(speaks_of(a.annotation, "constexpr") for a in node.args.args if a.annotation)
    body = _Body(kernel)
    for statement in node.body:
        body.read(statement, 0)
    return kernel


def _tuned(kernel: ast.FunctionDef) -> dict[str, int] | None:
    for decorator in kernel.decorator_list:
        for node in walk(decorator):
            if isinstance(node, ast.Dict) and node.keys:
                pairs = zip(node.keys, node.values, strict=True)
                return {
                    key.value: value.value
                    for key, value in pairs
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)
                    if isinstance(value, ast.Constant) and isinstance(value.value, int)
                }
    return None


class _Body:
    """A reader of one kernel's statements, which remembers how far apart the lanes of each name are."""

    def __init__(self, seen: Kernel) -> None:
        self.seen = seen
        self.places: dict[str, Strides] = {}

    def read(self, node: ast.AST, depth: int) -> None:
        """Read a node at this depth of loops, and all below it."""
        kind = type(node)
        if kind in _LOOPS:
            depth += 1
            self._loop(node, depth)
        elif kind in _READ:
            _READ[kind](self, node, depth)
        for child in children(node):
            if type(child) not in LEAVES:
                self.read(child, depth)
        if kind is ast.Assign:
            self._assign(node)

    def _count(self, name: str, depth: int) -> None:
        self.seen.total[name] += 1
        if depth:
            self.seen.looped[name] += 1

    def _loop(self, node: Any, depth: int) -> None:
        facts = self.seen.facts
        self.seen.depth = max(self.seen.depth, depth)
        facts["loops"] += 1
        if isinstance(node, ast.While):
            facts["while"] += 1
        elif speaks_of(node.iter, "num_programs"):
            facts["loops_over_programs"] += 1

    def _branch(self, node: Any, depth: int) -> None:
        self.seen.facts["branches"] += 1

    def _binary(self, node: Any, depth: int) -> None:
        self._count(_BINARY.get(type(node.op), "bits"), depth)

    def _changed(self, node: Any, depth: int) -> None:
        if isinstance(node.target, ast.Name):
            self._binary(node, depth)

    def _compare(self, node: Any, depth: int) -> None:
        self._count("compare", depth)

    def _attribute(self, node: Any, depth: int) -> None:
        if node.attr in _TYPES:
            self.seen.facts[node.attr] += 1

    def _assign(self, node: Any) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.places[node.targets[0].id] = strides_of(node.value, self.places)

    def _call(self, node: Any, depth: int) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            self.seen.called[function.id] += 1
        if not isinstance(function, ast.Attribute):
            return
        name = function.attr
        if name == "to":
            self._count("cast", depth)
        if isinstance(function.value, ast.Name) and function.value.id == "tl":
            self._language(name, node, depth)

    def _language(self, name: str, node: ast.Call, depth: int) -> None:
        """A call of `tl.name`."""
        facts = self.seen.facts
        if name not in LANGUAGE:
            facts["unknown_names"] += 1
        if name.startswith("atomic"):
            self._count("atomic", depth)
            facts["atomic_looped"] += depth > 0
        self._count(_GROUP_OF.get(name, "call"), depth)
        if name in ("load", "store") and node.args:
            words = {word.arg for word in node.keywords}
            facts[f"{name}_masked"] += "mask" in words or len(node.args) > (1 if name == "load" else 2)
            facts["load_filled"] += "other" in words
            facts["evicting"] += "eviction_policy" in words
            facts["cached"] += "cache_modifier" in words
            _read_place(name, strides_of(node.args[0], self.places), facts)
        elif name == "dot":
            facts["exact"] += any(speaks_of(word.value, "ieee") for word in node.keywords)
        elif name == "arange" and len(node.args) == 2:
            end = node.args[1]
            extent = end.id if isinstance(end, ast.Name) else number(end, {})
            if extent is not None:
                self.seen.extents.append(extent)


_TYPES = frozenset({"float32", "float16", "float64", "int64"})
_LOOPS = frozenset({ast.For, ast.While})
_READ: dict[type[ast.AST], Callable[[_Body, Any, int], None]] = {
    ast.If: _Body._branch,
    ast.IfExp: _Body._branch,
    ast.BinOp: _Body._binary,
    ast.AugAssign: _Body._changed,
    ast.Compare: _Body._compare,
    ast.Attribute: _Body._attribute,
    ast.Call: _Body._call,
}


def _read_place(name: str, strides: Strides, facts: Counter[str]) -> None:
    if strides.gathered and name == "load":
        facts["load_gathered"] += 1
    if not strides.lanes:
        facts["load_scalar"] += name == "load"
    elif CONTIGUOUS in strides.lanes:
        facts[f"{name}_contiguous"] += 1
    else:
        facts[f"{name}_strided"] += 1
