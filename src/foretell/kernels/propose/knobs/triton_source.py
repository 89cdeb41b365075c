"""Knobs of Triton kernels: constants that reach constexpr parameters, warps, stages, autotuned configurations."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial

from foretell.kernels.propose.knobs.autotuned import tuned
from foretell.kernels.propose.knobs.findings import Findings
from foretell.kernels.propose.knobs.kinds import Kind, kind_of, ladder
from foretell.kernels.propose.knobs.python_tree import Tree
from foretell.kernels.propose.knobs.space import AS_WRITTEN, Site
from foretell.kernels.propose.knobs.triton_kernel import OPTIONS, Kernel, fits, kernels, last_name, tile_values
from foretell.kernels.tune.encode import Value

_BOUNDED = ("min", "max")
_LOOPS = ("num_stages=2", "num_stages=3", "num_stages=4", "loop_unroll_factor=2", "loop_unroll_factor=4")
_HINTS = {"load": ("eviction_policy", '"evict_first"', "loads"), "store": ("cache_modifier", '".cs"', "stores")}
_BOTH = "loads and stores"


def find(tree: Tree, findings: Findings) -> None:
    """Add the knobs of the Triton kernels in a source."""
    known = {kernel.name: kernel for kernel in kernels(tree)}
    launches: dict[str, list[ast.Call]] = {}
    for node in ast.walk(tree.root):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            name = last_name(node.func.value)
            if name in known:
                launches.setdefault(name, []).append(node)
    for kernel in known.values():
        if kernel.name not in launches:
            continue
        prefix = f"{kernel.name}." if len(launches) > 1 else ""
        if kernel.tuner is not None:
            tuned(tree, kernel, prefix, findings)
        for parameter in sorted(kernel.constants, key=kernel.parameters.index):
            _constant(tree, kernel, parameter, prefix, launches[kernel.name], findings)
        if kernel.tuner is None:
            for option in OPTIONS:
                _option(tree, kernel, option, prefix, launches[kernel.name], findings)
            _registers(tree, kernel, prefix, launches[kernel.name], findings)
        if not kernel.has_dot:
            _loops(tree, kernel, prefix, findings)
        findings.limit((), partial(fits, kernel, dict(kernel.knobs)))
    _hints(tree, (known[name] for name in launches), findings)


def _argument(kernel: Kernel, launch: ast.Call, parameter: str) -> ast.expr | None:
    """What a launch passes for a parameter."""
    for keyword in launch.keywords:
        if keyword.arg == parameter:
            return keyword.value
    if parameter in kernel.parameters:
        at = kernel.parameters.index(parameter)
        if at < len(launch.args) and not any(isinstance(one, ast.Starred) for one in launch.args[: at + 1]):
            return launch.args[at]
    return None


def _constant(
    tree: Tree, kernel: Kernel, parameter: str, prefix: str, launches: list[ast.Call], findings: Findings
) -> None:
    """Add the knob of a constexpr parameter: the number that reaches it, wherever that is written."""
    kind = kind_of(parameter)
    if parameter in kernel.knobs or parameter in OPTIONS:
        return
    for launch in launches:
        argument = _argument(kernel, launch, parameter)
        if argument is None:
            argument = _own_default(kernel, parameter)
        if argument is None:
            continue
        for number, name in _sources(tree, argument, parameter):
            value = number.value
            its_kind = kind or kind_of(name) or (Kind.TILE if _makes_tile(kernel, parameter) else None)
            if type(value) is not int or value < 1 or its_kind is None:
                continue
            literal = name == parameter and number is argument
            sites = [Site(*tree.span(number))]
            if literal:
                sites += _in_grid(tree, launch, value)
            values = tile_values(kernel, its_kind, value)
            chosen = findings.add(prefix + name if literal else name, its_kind, value, sites, values)
            if chosen is None and not literal:
                chosen = name  # another kernel has it already
            if chosen is not None:
                kernel.knobs[parameter] = chosen


def _makes_tile(kernel: Kernel, parameter: str) -> bool:
    """Whether a parameter is the length of an arange, and its name does not say that it is part of the problem."""
    if len(parameter) == 1:
        return False
    words = kind_of(f"block_{parameter}")  # None if a word in it is of the problem: HEAD_DIM, ...
    return words is not None and any(
        isinstance(call, ast.Call)
        and last_name(call.func) == "arange"
        and any(isinstance(one, ast.Name) and one.id == parameter for one in ast.walk(call))
        for call in ast.walk(kernel.node)
    )


def _own_default(kernel: Kernel, parameter: str) -> ast.expr | None:
    arguments = kernel.node.args
    ordered = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(ordered) - len(arguments.defaults)) + list(arguments.defaults)
    both = [*zip(ordered, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return next((default for one, default in both if one.arg == parameter), None)


def _sources(
    tree: Tree, expression: ast.expr, name: str, depth: int = 4, through_bounds: bool = True
) -> list[tuple[ast.Constant, str]]:
    """The number that an expression comes from, with the name that it has there; none if it is worked out.

    With `through_bounds` that includes the number in `min(number, ...)` and `max(number, ...)`.
    """
    match expression:
        case ast.Constant():
            return [(expression, name)]
        case ast.Name(id=other) if depth:
            values = tree.assigned(other, expression)
        case ast.Attribute(value=ast.Name(id="self"), attr=other) if depth:
            values = tree.attribute(other, expression)
        case ast.Call(func=func, args=[first, second]) if (
            last_name(func) in ("min", "max") and depth and through_bounds
        ):
            numbers = [one for one in (first, second) if isinstance(one, ast.Constant)]
            named = [one for one in (first, second) if isinstance(one, ast.Name)]
            if len(numbers) == 1:
                return [(numbers[0], name)]
            found = [source for one in named for source in _sources(tree, one, name, depth - 1)]
            return found if len(found) == 1 else []
        case _:
            return []
    if len(values) != 1 or values[0] is None:
        return []
    return _sources(tree, values[0], other, depth - 1, through_bounds)


def _in_grid(tree: Tree, launch: ast.Call, value: int) -> list[Site]:
    """The same number in the grid of a launch, which has to follow: `kernel[(cdiv(n, 1024),)](..., BLOCK=1024)`."""
    if value < 8 or not isinstance(launch.func, ast.Subscript):
        return []
    grids: list[ast.expr | None] = [launch.func.slice]
    if isinstance(launch.func.slice, ast.Name):
        grids = tree.assigned(launch.func.slice.id, launch)
    numbers = [one for grid in grids if grid is not None for one in ast.walk(grid) if isinstance(one, ast.Constant)]
    sites = [Site(*tree.span(one)) for one in numbers if type(one.value) is int and one.value == value]
    if sites:
        sites += [
            Site(*tree.span(one), offset=-1) for one in numbers if type(one.value) is int and one.value == value - 1
        ]
    return sites


def _option(tree: Tree, kernel: Kernel, option: str, prefix: str, launches: list[ast.Call], findings: Findings) -> None:
    """Add the knob of `num_warps` or `num_stages`, also where launches leave it out or work it out."""
    kind, default = OPTIONS[option]
    if option == "num_stages" and not kernel.has_dot:
        return
    for launch in launches:
        value = next((one.value for one in launch.keywords if one.arg == option), None)
        if value is None:
            if any(one.arg is None for one in launch.keywords):
                continue  # it may come with **options
            name = findings.add(prefix + option, kind, default, [_appended(tree, launch, option)])
        else:
            sources = _sources(tree, value, option, through_bounds=False)
            number = sources[0][0] if len(sources) == 1 else None
            if number is not None and type(number.value) is int and number.value >= 1:
                sites = [Site(*tree.span(number))]
                name = findings.add(prefix + sources[0][1], kind, number.value, sites)
                name = name or sources[0][1]
            else:
                values: tuple[Value, ...] = (AS_WRITTEN, *ladder(kind, default))
                name = findings.add(prefix + option, kind, AS_WRITTEN, [Site(*tree.span(value))], values)
        if name is not None:
            kernel.knobs[option] = name


def _appended(tree: Tree, call: ast.Call, option: str) -> Site:
    """The place of another keyword argument at the end of a call."""
    _, end = tree.span(call)
    last = max((tree.span(one)[1] for one in [*call.args, *(k.value for k in call.keywords)]), default=end - 1)
    between = tree.source[last : end - 1]
    code = "\n".join(line.partition("#")[0] for line in between.split("\n"))
    empty = not call.args and not call.keywords
    if "," in code:
        at = last + between.index(",", _comment_end(between)) + 1
        return Site(at, at, f" {option}=", ",")
    if code.strip():  # a bracket around the last argument
        at = last + len(between.rstrip())
        return Site(at, at, f", {option}=")
    return Site(last, last, f"{option}=" if empty else f", {option}=")


def _comment_end(between: str) -> int:
    """Where to look for the comma: after a comment on the line of the last argument, if one comes before the comma."""
    line = between.split("\n")[0]
    mark = line.find("#")
    return len(line) if mark >= 0 and "," not in line[:mark] else 0


def _loops(tree: Tree, kernel: Kernel, prefix: str, findings: Findings) -> None:
    """Add the knob of streaming loops, which Triton pipelines or unrolls only if it is asked to."""
    sites: list[Site] = []
    for call in kernel.loops:
        if call.keywords or not call.args or any(isinstance(one, ast.Starred) for one in call.args):
            continue
        start, _ = tree.span(call)
        last = tree.span(call.args[-1])[1]
        if isinstance(call.func, ast.Name):
            sites.append(Site(start, start, texts=tuple((value, "tl.") for value in _LOOPS)))
        sites.append(Site(last, last, texts=tuple((value, f", {value}") for value in _LOOPS)))
    if sites:
        findings.add(f"{prefix}loop", Kind.LOOP, AS_WRITTEN, sites, (AS_WRITTEN, *_LOOPS))


def _hints(tree: Tree, launched: Iterable[Kernel], findings: Findings) -> None:
    """Add the knob of cache hints: whether loads, stores or both are marked as used once."""
    accesses = {id(call): call for kernel in launched for call in kernel.accesses}
    sites: dict[str, list[Site]] = {}
    for call in accesses.values():
        named = {one.arg for one in call.keywords}
        if named & {"cache_modifier", "eviction_policy", None} or not call.args:
            continue
        option, hint, which = _HINTS[last_name(call.func)]
        at = _appended(tree, call, option)
        text = f"{at.before}{hint}{at.after}"
        sites.setdefault(which, []).append(Site(at.start, at.end, texts=((which, text), (_BOTH, text))))
    values = (AS_WRITTEN, *sites, *((_BOTH,) if len(sites) > 1 else ()))
    findings.add("used_once", Kind.HINT, AS_WRITTEN, [site for each in sites.values() for site in each], values)


def _registers(tree: Tree, kernel: Kernel, prefix: str, launches: list[ast.Call], findings: Findings) -> None:
    """Add the knob of the most registers per thread, which launches rarely say."""
    if any(one.arg in ("maxnreg", None) for launch in launches for one in launch.keywords):
        return
    sites = [_appended(tree, launch, "maxnreg") for launch in launches]
    findings.add(f"{prefix}maxnreg", Kind.REGISTERS, 0, sites)
