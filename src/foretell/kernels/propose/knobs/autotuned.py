"""Knobs of Triton's autotuner: its whole list of configurations becomes one configuration at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from foretell.kernels.propose.knobs.findings import Findings
from foretell.kernels.propose.knobs.kinds import Kind, kind_of
from foretell.kernels.propose.knobs.python_tree import Tree
from foretell.kernels.propose.knobs.space import Knob, Slot
from foretell.kernels.propose.knobs.triton_kernel import OPTIONS, Kernel, last_name, tile_values


def tuned(tree: Tree, kernel: Kernel, prefix: str, findings: Findings) -> None:
    """Add the knobs of an autotuner, whose whole list becomes one configuration at a time."""
    tuner = kernel.tuner
    if tuner is None:
        return
    listed = next((one.value for one in tuner.keywords if one.arg == "configs"), tuner.args[0] if tuner.args else None)
    configs = list(_configs(tree, listed)) if listed is not None else []
    if listed is None or not configs:
        return
    parsed = [_parsed(tree, config) for config in configs]
    names = list(dict.fromkeys(name for one in parsed for name in one))
    base = {name: next((one[name] for one in parsed if one.get(name) is not None), None) for name in names}
    base |= {option: base.get(option) or default for option, (_, default) in OPTIONS.items()}
    if not kernel.has_dot:
        del base["num_stages"]  # it is for the loops of tensor cores
    knobs, kept = [], {}
    for name, value in base.items():
        kind = OPTIONS[name][0] if name in OPTIONS else kind_of(name) or Kind.TILE
        if value is None or value < 1:
            return  # worked out in a way that is not understood
        listed_values = {number for one in parsed if (number := one.get(name)) is not None}
        values = sorted({*listed_values, *tile_values(kernel, kind, value)})
        chosen = findings.unused(prefix + name)
        kernel.knobs[name] = kept[name] = chosen
        knobs.append(Knob(chosen, kind, value, tuple(values)))
    meta: list[str | Slot] = []
    for name in names:
        if name not in OPTIONS:
            meta += [f'{", " if meta else ""}"{name}": ', Slot(kept[name])]
    function = tree.text(configs[0].func)
    rest = [f", {one.arg}={tree.text(one.value)}" for one in configs[0].keywords if one.arg and one.arg not in OPTIONS
            and one.arg != "kwargs"]  # fmt: skip
    options: list[str | Slot] = []
    for option in (one for one in OPTIONS if one in kept):
        options += [f", {option}=", Slot(kept[option])]
    findings.rewrite(*tree.span(listed), (f"[{function}({{", *meta, "}", *options, *rest, ")]"), knobs)
    complete = [{kept[name]: one.get(name) or base[name] for name in base} for one in parsed]
    if all(one[name] is not None for one in parsed for name in one):
        findings.start_with(complete)  # type: ignore[arg-type]


def _configs(tree: Tree, listed: ast.expr) -> Iterator[ast.Call]:
    """The calls of Config that a list comes from: in it, in what it was assigned, or in the function that makes it."""
    if isinstance(listed, ast.Name):
        values = tree.assigned(listed.id, listed)
        if len(values) == 1 and values[0] is not None:
            yield from _configs(tree, values[0])
        return
    roots: list[ast.AST] = [listed]
    if isinstance(listed, ast.Call) and isinstance(listed.func, ast.Name):
        maker = listed.func.id
        roots = [one for one in tree.root.body if isinstance(one, ast.FunctionDef) and one.name == maker]
    for root in roots:
        for node in ast.walk(root):
            if isinstance(node, ast.Call) and last_name(node.func) == "Config":
                yield node


def _parsed(tree: Tree, config: ast.Call) -> dict[str, int | None]:
    """The values of a configuration; for one that is made in a loop over numbers, the first; None if unknown."""
    meta = config.args[0] if config.args else next((k.value for k in config.keywords if k.arg == "kwargs"), None)
    found: dict[str, int | None] = {}
    if isinstance(meta, ast.Dict):
        for key, value in zip(meta.keys, meta.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = _number(tree, value)
    for keyword in config.keywords:
        if keyword.arg in OPTIONS:
            found[keyword.arg] = _number(tree, keyword.value)
    return found


def _number(tree: Tree, node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.Name):
        return None
    for around in tree.above(node):
        loops = around.generators if isinstance(around, ast.ListComp | ast.GeneratorExp) else [around]
        for loop in loops:
            if not isinstance(loop, ast.For | ast.comprehension):
                continue
            if isinstance(loop.target, ast.Name) and loop.target.id == node.id:
                return _first(loop.iter)
    return None


def _first(numbers: ast.expr) -> int | None:
    if isinstance(numbers, ast.List | ast.Tuple) and numbers.elts and isinstance(numbers.elts[0], ast.Constant):
        middle = numbers.elts[(len(numbers.elts) - 1) // 2]
        return middle.value if isinstance(middle, ast.Constant) and type(middle.value) is int else None
    return None
