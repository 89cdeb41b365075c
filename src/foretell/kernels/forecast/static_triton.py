"""The reader of Triton programs: what the kernels do per loop level, how they touch memory, how they are launched.

Reads the Python syntax tree and evaluates nothing. Sizes that a launch gives as numbers are followed into the kernels,
so that the tile each program works on is known where the source says it. A text that is not Python has `parsed` 0 and
nothing else.

Candidates of one search share most of their functions, so each top-level statement is read by itself and remembered.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from foretell.kernels.forecast.syntax import Nodes, by_kind, size, walk
from foretell.kernels.forecast.triton_host import Host, Launch, read_host
from foretell.kernels.forecast.triton_kernel import COUNTED, FACTS, Kernel, is_kernel, read_kernel
from foretell.kernels.python_text import check_size, tree

_LOOPED = tuple((name, f"{name}_looped") for name in COUNTED)
# A line that begins a statement, unless it is within brackets or a string; decorators belong to what follows.
_STATEMENT = re.compile(r"\n(?=[^\s)\]}#])")
_REMEMBERED = 4096
NAMES: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A top-level statement: how many nodes it has, remarks aside, the names it defines, and the function it is."""

    size: int
    defines: frozenset[str]
    function: Kernel | Host | None


def count_triton(source: str) -> dict[str, float]:
    """Features of a Triton program; the same names for every source, all finite. Never fails."""
    try:
        check_size(source)
        return _count(_parts(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return dict.fromkeys(NAMES, 0.0)


def _parts(source: str) -> Sequence[Part]:
    """The program's statements. Where every piece of the text is Python, so is the whole, and it means the same."""
    try:
        return [part for text in _pieces(source) for part in read_statements(text)]
    except SyntaxError:
        return read_statements(source)


def _pieces(source: str) -> Iterator[str]:
    held = ""
    for text in _STATEMENT.split(source):
        held += text
        if text.startswith("@"):
            held += "\n"
        else:
            yield held
            held = ""
    yield held


@lru_cache(maxsize=_REMEMBERED)
def read_statements(text: str) -> Sequence[Part]:
    """The statements of a text; SyntaxError where it is not Python."""
    return tuple(_part(node, by_kind(node)) for node in tree(text).body)


def _part(node: ast.stmt, nodes: Nodes) -> Part:
    function: Kernel | Host | None = None
    if isinstance(node, ast.FunctionDef):
        function = read_kernel(node, nodes) if is_kernel(node) else read_host(nodes)
    return Part(size(nodes) - 2 * sum(map(_is_remark, nodes[ast.Expr])), _defined(node, nodes), function)


def _is_remark(node: ast.Expr) -> bool:
    """A string that stands by itself: a docstring, most likely."""
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _defined(statement: ast.stmt, nodes: Nodes) -> frozenset[str]:
    found = {node.name for node in (*nodes[ast.FunctionDef], *nodes[ast.ClassDef])}
    for node in (*nodes[ast.Import], *nodes[ast.ImportFrom]):
        found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    if isinstance(statement, ast.Assign):
        found |= {name.id for target in statement.targets for name in walk(target) if isinstance(name, ast.Name)}
    return frozenset(found)


def _count(parts: Sequence[Part]) -> dict[str, float]:
    kernels = [part.function for part in parts if isinstance(part.function, Kernel)]
    host = [part.function for part in parts if isinstance(part.function, Host)]
    names = {kernel.name for kernel in kernels}
    launches = [launch for function in host for launch in function.launches if launch.kernel in names]
    tuned = next((kernel.tuned for kernel in kernels if kernel.tuned is not None), {})
    total, looped, facts = _together(kernels, frozenset().union(*(part.defines for part in parts)))
    tiles_log2 = [tile for kernel in kernels for tile in _tiles_log2(kernel, launches, tuned)]
    largest = max(tiles_log2, default=0.0)
    return {
        "parsed": 1.0,
        "tokens": float(1 + sum(part.size for part in parts)),
        "kernels": float(len(kernels)),
        **{name: float(total.get(name, 0)) for name in COUNTED},
        **{inside: float(looped.get(name, 0)) for name, inside in _LOOPED},
        **{name: float(facts.get(name, 0)) for name in FACTS},
        "loop_depth": float(max((kernel.depth for kernel in kernels), default=0)),
        "tile_log2": largest,
        "tile_min_log2": min(tiles_log2, default=0.0),
        **_launch_features(launches, tuned, largest),
        "host_makes": float(sum(function.makes for function in host)),
        "host_fills": float(sum(function.fills for function in host)),
        "host_moves": float(sum(function.moves for function in host)),
        "host_loops": float(sum(function.loops for function in host)),
    }


def _together(kernels: Sequence[Kernel], defined: frozenset[str]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Counts of all kernels: in all, within loops, and facts."""
    total: Counter[str] = Counter()
    looped: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    names = {kernel.name for kernel in kernels}
    for kernel in kernels:
        total.update(kernel.total)
        looped.update(kernel.looped)
        facts.update(kernel.facts)
        facts["undefined_names"] += len(kernel.undefined - defined)
        facts["helpers"] += sum(kernel.called[name] for name in kernel.called.keys() & names)
    return total, looped, facts


def _tiles_log2(kernel: Kernel, launches: Sequence[Launch], tuned: Mapping[str, int]) -> list[float]:
    sizes = dict(tuned)
    for launch in launches:
        if launch.kernel == kernel.name:
            sizes |= launch.sizes
    known = [sizes.get(extent) if isinstance(extent, str) else extent for extent in kernel.extents]
    return [math.log2(max(1, abs(extent))) for extent in known if extent]


def _launch_features(launches: Sequence[Launch], tuned: Mapping[str, int], tile_log2: float) -> dict[str, float]:
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


NAMES = tuple(count_triton(""))
