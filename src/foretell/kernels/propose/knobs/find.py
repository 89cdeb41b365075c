"""The space of variations of a given source, whatever it is written in."""

from __future__ import annotations

import ast
import re

from foretell.kernels.propose.knobs import c_source, triton_source
from foretell.kernels.propose.knobs.findings import Findings
from foretell.kernels.propose.knobs.kinds import Kind, kind_of
from foretell.kernels.propose.knobs.python_tree import Tree
from foretell.kernels.propose.knobs.space import Site, Space

_QUOTES = re.compile(r"""(?s)[a-zA-Z]{0,2}(\"{3}|'{3}|"|')""")
_C_SOURCE = re.compile(r"__global__|<<<|#\s*(?:define|include)|__device__")
_FLAG = re.compile(r"-D(\w+)=(\d+)")


class NoKnobs(ValueError):
    """The source has no tunable constants that are recognised."""


def find_space(source: str, language: str) -> Space:
    """The knobs of a source. Raises NoKnobs if it has none."""
    findings = Findings(source)
    tree = None if language == "cpp" else _parsed(source)
    if tree is None:
        c_source.find(source, [(0, len(source))], findings)
    else:
        triton_source.find(tree, findings)
        _host_constants(tree, findings)
        c_source.find(source, _c_texts(tree), findings)
    space = findings.space()
    if not space.knobs:
        raise NoKnobs(
            "no tunable constant is found in the kernel to start from; one or more of: numbers that reach tl.constexpr "
            "parameters, num_warps, num_stages, triton.Config, #define or constexpr int tile sizes, block sizes of "
            "launches, __launch_bounds__, #pragma unroll N"
        )
    return space


def _parsed(source: str) -> Tree | None:
    """The source as Python; None for a bare CUDA file, or what is not Python at all."""
    try:
        return Tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _c_texts(tree: Tree) -> list[tuple[int, int]]:
    """Spans of the C texts in strings that are used: no docstrings, no strings that nothing refers to."""
    loaded = {node.id for node in ast.walk(tree.root) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    found = []
    for node in ast.walk(tree.root):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) for one in node.values if isinstance(one, ast.Constant))
        elif isinstance(node, ast.Constant) and any(isinstance(one, ast.JoinedStr) for one in tree.above(node)):
            continue
        if not isinstance(text, str) or not _C_SOURCE.search(text) or tree.is_statement(node):
            continue
        if not _is_used(tree, node, loaded):
            continue
        start, end = tree.span(node)  # type: ignore[arg-type]
        quote = _QUOTES.match(tree.source, start)
        if quote is not None:
            found.append((quote.end(), end - len(quote[1])))
    return sorted(found)


def _is_used(tree: Tree, node: ast.AST, loaded: set[str]) -> bool:
    assignment = next((one for one in tree.above(node) if isinstance(one, ast.stmt)), None)
    if not isinstance(assignment, ast.Assign):
        return True
    names = [one.id for one in assignment.targets if isinstance(one, ast.Name)]
    return len(names) < len(assignment.targets) or any(name in loaded for name in names)


def _host_constants(tree: Tree, findings: Findings) -> None:
    """Constants of host code: `BLOCK = 256`, `-DBLOCK=256` among compiler options, and sizes of launches."""
    for node in ast.walk(tree.root):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant):
                    _constant(tree, target.id, node.value, findings)
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(name, ast.Name) and isinstance(value, ast.Constant):
                            _constant(tree, name.id, value, findings)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("-D"):
            start, end = tree.span(node)
            flag = _FLAG.search(tree.source[start:end])
            kind = kind_of(flag[1]) if flag is not None else None
            if flag is not None and kind is not None:
                site = Site(start + flag.start(2), start + flag.end(2))
                findings.add(flag[1], kind, int(flag[2]), [site])
        elif isinstance(node, ast.Call) and _is_launch(node):
            _launch(tree, node, findings)


def _constant(tree: Tree, name: str, value: ast.Constant, findings: Findings) -> None:
    kind = kind_of(name)
    if kind is not None and type(value.value) is int and value.value >= 1:
        findings.add(name, kind, value.value, [Site(*tree.span(value))])


def _is_launch(node: ast.Call) -> bool:
    """Whether a call looks like that of a compiled kernel: `program.name(grid, (256,), (x, out, n))`."""
    return (
        isinstance(node.func, ast.Attribute)
        and len(node.args) >= 3
        and isinstance(node.args[1], ast.Tuple)
        and isinstance(node.args[2], ast.Tuple | ast.List)
    )


def _launch(tree: Tree, node: ast.Call, findings: Findings) -> None:
    sizes = node.args[1]
    if not isinstance(sizes, ast.Tuple) or len(sizes.elts) != 1 or not isinstance(sizes.elts[0], ast.Constant):
        return
    number = sizes.elts[0]
    if type(number.value) is not int:
        return
    sites = [Site(*tree.span(number))]
    grids: list[ast.expr | None] = [node.args[0]]
    if isinstance(node.args[0], ast.Name):
        grids = tree.assigned(node.args[0].id, node)
    in_grid = [one for grid in grids if grid is not None for one in ast.walk(grid) if isinstance(one, ast.Constant)]
    if any(one.value == number.value for one in in_grid):
        for one in in_grid:
            if type(one.value) is int and one.value in (number.value, number.value - 1):
                sites.append(Site(*tree.span(one), offset=one.value - number.value))
    findings.add("threads", Kind.THREADS, number.value, sites)
