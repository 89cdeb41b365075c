"""The reader of Triton programs: what the kernels do per loop level, how they touch memory, how they are launched.

Reads the Python syntax tree and evaluates nothing. Sizes that a launch gives as numbers are followed into the kernels,
so that the tile each program works on is known where the source says it. A text that is not Python has `parsed` 0 and
nothing else.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from foretell.kernels.forecast.host_code import FILLERS, MAKERS, bound_integers, number
from foretell.kernels.forecast.strides import CONTIGUOUS, Strides, strides_of
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
_COUNTED = (
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
NAMES: tuple[str, ...] = ()


@dataclass
class _Seen:
    """Counts over all kernels of a program."""

    total: Counter[str] = field(default_factory=Counter)
    looped: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)
    depth: int = 0
    tiles_log2: list[float] = field(default_factory=list)


def count_triton(source: str) -> dict[str, float]:
    """Features of a Triton program; the same names for every source, all finite. Never fails."""
    try:
        return _count_tree(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return dict.fromkeys(NAMES, 0.0)


def _count_tree(tree: ast.Module) -> dict[str, float]:
    parts = [(node, list(ast.walk(node))) for node in tree.body]
    remarks = sum(_is_remark(node) for _, nodes in parts for node in nodes)
    functions = [(node, nodes) for node, nodes in parts if isinstance(node, ast.FunctionDef)]
    kernels = [(node, nodes) for node, nodes in functions if _is_kernel(node)]
    host = [nodes for node, nodes in functions if not _is_kernel(node)]
    names = {kernel.name for kernel, _ in kernels}
    launches = list(_launches(host, names))
    tuned = _tuned([kernel for kernel, _ in kernels])
    known = _globals(tree, [node for _, nodes in parts for node in nodes])
    seen = _Seen()
    for kernel, nodes in kernels:
        sizes = dict(tuned)
        for launch in launches:
            if launch.kernel == kernel.name:
                sizes |= launch.sizes
        _read_kernel(kernel, nodes, sizes, names, known, seen)
    return {
        "parsed": 1.0,
        "tokens": float(1 + sum(len(nodes) for _, nodes in parts) - 2 * remarks),
        "kernels": float(len(kernels)),
        **{name: float(seen.total[name]) for name in _COUNTED},
        **{f"{name}_looped": float(seen.looped[name]) for name in _COUNTED},
        **{name: float(seen.facts[name]) for name in _FACTS},
        "loop_depth": float(seen.depth),
        "tile_log2": max(seen.tiles_log2, default=0.0),
        "tile_min_log2": min(seen.tiles_log2, default=0.0),
        **_launch_features(launches, tuned, max(seen.tiles_log2, default=0.0)),
        **_host(host),
    }


_FACTS = (
    "loops", "loops_over_programs", "load_masked", "load_filled", "store_masked", "evicting", "cached", "unknown_names",
    "undefined_names", "load_strided", "load_contiguous", "load_scalar", "store_strided", "store_contiguous",
    "load_gathered", "constexprs", "parameters", "branches", "float32", "float16", "float64", "int64", "atomic_looped",
    "exact", "while", "helpers",
)  # fmt: skip


def _is_remark(node: ast.AST) -> bool:
    """A string that stands by itself: a docstring, most likely."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(each) for each in node.decorator_list)


def _globals(tree: ast.Module, nodes: Sequence[ast.AST]) -> set[str]:
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


@dataclass(frozen=True)
class Launch:
    """One launch in the host code: which kernel, how many axes its grid has, and the numbers it is given."""

    kernel: str
    axes: int
    sizes: Mapping[str, int]
    warps: float
    stages: float
    looped: bool


def _launches(host: Sequence[Sequence[ast.AST]], kernels: set[str]) -> Iterator[Launch]:
    for nodes in host:
        known = bound_integers(nodes)
        inside = {
            id(call)
            for loop in nodes if isinstance(loop, ast.For | ast.While)
            for call in ast.walk(loop)
        }  # fmt: skip
        for node in nodes:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
                continue
            name = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if name not in kernels:
                continue
            given = {word.arg: number(word.value, known) for word in node.keywords if word.arg}
            numbers = {key: value for key, value in given.items() if value is not None}
            grid = node.func.slice
            axes = len(grid.elts) if isinstance(grid, ast.Tuple) else 1
            sizes = {k: v for k, v in numbers.items() if k not in ("num_warps", "num_stages", "num_ctas")}
            warps, stages = float(numbers.get("num_warps", 4)), float(numbers.get("num_stages", 3))
            yield Launch(name, axes, sizes, warps, stages, id(node) in inside)


def _tuned(kernels: list[ast.FunctionDef]) -> dict[str, int]:
    """Numbers of the first setting of an autotuner, where there is one."""
    for kernel in kernels:
        for decorator in kernel.decorator_list:
            for node in ast.walk(decorator):
                if isinstance(node, ast.Dict) and node.keys:
                    pairs = zip(node.keys, node.values, strict=True)
                    return {
                        key.value: value.value
                        for key, value in pairs
                        if isinstance(key, ast.Constant) and isinstance(key.value, str)
                        if isinstance(value, ast.Constant) and isinstance(value.value, int)
                    }
    return {}


def _read_kernel(
    kernel: ast.FunctionDef,
    nodes: Sequence[ast.AST],
    sizes: Mapping[str, int],
    kernels: set[str],
    known: set[str],
    seen: _Seen,
) -> None:
    parameters = [a.arg for a in (*kernel.args.args, *kernel.args.kwonlyargs)]
    named = [node for node in nodes if isinstance(node, ast.Name)]
    assigned = {node.id for node in named if isinstance(node.ctx, ast.Store)}
    loaded = {node.id for node in named if isinstance(node.ctx, ast.Load)}
    seen.facts["undefined_names"] += len(loaded - assigned - set(parameters) - known - _KNOWN)
    seen.facts["parameters"] += len(parameters)
    seen.facts["constexprs"] += sum("constexpr" in ast.unparse(a.annotation) for a in kernel.args.args if a.annotation)
    places: dict[str, Strides] = {}
    for statement in kernel.body:
        _read(statement, 0, sizes, kernels, places, seen)


def _read(
    node: ast.AST, depth: int, sizes: Mapping[str, int], kernels: set[str], places: dict[str, Strides], seen: _Seen
) -> None:
    if isinstance(node, ast.For | ast.While):
        depth += 1
        seen.depth = max(seen.depth, depth)
        seen.facts["loops"] += 1
        seen.facts["while"] += isinstance(node, ast.While)
        if isinstance(node, ast.For) and "num_programs" in ast.unparse(node.iter):
            seen.facts["loops_over_programs"] += 1
    elif isinstance(node, ast.If | ast.IfExp):
        seen.facts["branches"] += 1
    elif isinstance(node, ast.BinOp):
        _count(_BINARY.get(type(node.op), "bits"), depth, seen)
    elif isinstance(node, ast.Compare):
        _count("compare", depth, seen)
    elif isinstance(node, ast.Attribute) and node.attr in ("float32", "float16", "float64", "int64"):
        seen.facts[node.attr] += 1
    elif isinstance(node, ast.Call):
        _read_call(node, depth, sizes, kernels, places, seen)
    for child in ast.iter_child_nodes(node):
        _read(child, depth, sizes, kernels, places, seen)
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        places[node.targets[0].id] = strides_of(node.value, places)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        _count(_BINARY.get(type(node.op), "bits"), depth, seen)


def _count(name: str, depth: int, seen: _Seen) -> None:
    seen.total[name] += 1
    if depth:
        seen.looped[name] += 1


def _read_call(
    node: ast.Call, depth: int, sizes: Mapping[str, int], kernels: set[str], places: dict[str, Strides], seen: _Seen
) -> None:
    function = node.func
    if isinstance(function, ast.Name):
        seen.facts["helpers"] += function.id in kernels
        return
    if not isinstance(function, ast.Attribute):
        return
    name = function.attr
    words = {word.arg for word in node.keywords}
    from_language = isinstance(function.value, ast.Name) and function.value.id == "tl"
    if name == "to":
        _count("cast", depth, seen)
    if not from_language:
        return
    if name not in LANGUAGE:
        seen.facts["unknown_names"] += 1
    if name.startswith("atomic"):
        _count("atomic", depth, seen)
        seen.facts["atomic_looped"] += depth > 0
    group = _GROUP_OF.get(name)
    _count(group or "call", depth, seen)
    if name in ("load", "store") and node.args:
        seen.facts[f"{name}_masked"] += "mask" in words or len(node.args) > (1 if name == "load" else 2)
        seen.facts["load_filled"] += "other" in words
        seen.facts["evicting"] += "eviction_policy" in words
        seen.facts["cached"] += "cache_modifier" in words
        _read_place(name, strides_of(node.args[0], places), seen)
    if name == "dot":
        seen.facts["exact"] += any("ieee" in ast.unparse(word.value) for word in node.keywords)
    if name == "arange" and len(node.args) == 2:
        extent = number(node.args[1], sizes)
        if extent:
            seen.tiles_log2.append(math.log2(max(1, abs(extent))))


def _read_place(name: str, strides: Strides, seen: _Seen) -> None:
    if strides.gathered and name == "load":
        seen.facts["load_gathered"] += 1
    if not strides.lanes:
        seen.facts["load_scalar"] += name == "load"
    elif CONTIGUOUS in strides.lanes:
        seen.facts[f"{name}_contiguous"] += 1
    else:
        seen.facts[f"{name}_strided"] += 1


def _launch_features(launches: list[Launch], tuned: Mapping[str, int], tile_log2: float) -> dict[str, float]:
    numbers = [v for launch in launches for v in launch.sizes.values() if v > 1] + [v for v in tuned.values() if v > 1]
    logs = sorted(math.log2(v) for v in numbers)
    warps = max((launch.warps for launch in launches), default=4.0)
    area = max((sum(math.log2(v) for v in launch.sizes.values() if v > 1) for launch in launches), default=0.0)
    return {
        "launches": float(len(launches)),
        "launches_looped": float(sum(launch.looped for launch in launches)),
        "grid_axes": float(max((launch.axes for launch in launches), default=0)),
        "warps_log2": math.log2(max(1.0, warps)),
        "stages": max((launch.stages for launch in launches), default=3.0),
        "size_max_log2": logs[-1] if logs else 0.0,
        "size_min_log2": logs[0] if logs else 0.0,
        "size_product_log2": min(area, 64.0),
        "items_per_thread_log2": tile_log2 - math.log2(32.0 * max(1.0, warps)) if tile_log2 else 0.0,
        "tuned": float(bool(tuned)),
    }


def _host(functions: Sequence[Sequence[ast.AST]]) -> dict[str, float]:
    makes = fills = others = loops = 0
    for nodes in functions:
        for node in nodes:
            loops += isinstance(node, ast.For | ast.While)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                makes += name in MAKERS or name in ("ones", "full_like", "new_zeros")
                fills += name in FILLERS or name == "ones"
                others += name in (
                    "contiguous",
                    "to",
                    "clone",
                    "sum",
                    "float",
                    "half",
                    "t",
                    "transpose",
                    "copy_",
                    "view",
                )
    return {
        "host_makes": float(makes),
        "host_fills": float(fills),
        "host_moves": float(others),
        "host_loops": float(loops),
    }


NAMES = tuple(count_triton(""))
