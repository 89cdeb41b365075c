"""Triton templates of the windows (pools, stencils, depthwise_conv2d): maps, marching down rows, two passes; slips."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source
from foretell.kernels.propose.triton.maps import MAP_KNOBS, MapOp, map_source, map_valid
from foretell.kernels.propose.windows import DEPTHWISE, POOLS, STENCILS, Dialect, Offset, Window

_DIALECT = Dialect("tl.maximum", "tl.minimum", "tl.sqrt", '-float("inf")', 'float("inf")')
_OUTSIDE = {"zero": "0.0", "low": _DIALECT.low, "high": _DIALECT.high}


def _plus(text: str, number: int, factor: str = "") -> str:
    """`text` plus a known number (times a factor)."""
    if number == 0:
        return text
    amount = factor if factor and abs(number) == 1 else f"{abs(number)}{f' * {factor}' if factor else ''}"
    return f"{text} {'+' if number > 0 else '-'} {amount}"


def _start(name: str, window: Window, shift: int = 0) -> str:
    """Where the window of output row or column `name` begins."""
    return _plus(name if window.stride == 1 else f"{name} * {window.stride}", shift - window.pad)


def _cast(window: Window) -> str:
    return "" if window.dtype == "float32" else ".to(tl.float32)"


def _conditions(window: Window, offset: Offset) -> list[str]:
    """What must hold for the input at `offset` to be there."""
    z, y, x = offset
    above, below, left, right = window.bounds(offset)
    found = [f"({_plus('p', z)} >= 0)"] if z < 0 else [f"({_plus('p', z)} < n_deep)"] if z > 0 else []
    found += [f"({_plus('y', y)} >= 0)"] if above else []
    found += [f"({_plus('y', y)} < n_high)"] if below else []
    found += [f"({_plus('q', x)} >= 0)"] if left else []
    return found + ([f"({_plus('q', x)} < n_wide)"] if right else [])


def _shifted(offset: Offset) -> str:
    z, y, x = offset
    return _plus(_plus(_plus("x + base", z, "n_high * n_wide"), y, "n_wide"), x)


def _outside(window: Window, slip: str) -> str:
    return "0.0" if slip == "border" else _OUTSIDE[window.outside]


def _loaded(window: Window, index: int, slip: str, others: str = "") -> str:
    """The load of input `index`; `others` stands for the conditions where it is given."""
    offset = window.reach[index]
    conditions = _conditions(window, offset)
    if slip == "border" and window.outside == "zero":
        conditions = [text for text in conditions if "q" not in text]
    mask = others or " & ".join(["inside", *conditions])
    return f"v{index} = tl.load({_shifted(offset)}, mask={mask}, other={_outside(window, slip)}){_cast(window)}"


def _clamped(window: Window, index: int) -> list[str]:
    z, y, x = window.reach[index]
    row = f"tl.minimum(tl.maximum({_plus('y', y)}, 0), n_high - 1)"
    column = f"tl.minimum(tl.maximum({_plus('q', x)}, 0), n_wide - 1)"
    deep = f"tl.minimum(tl.maximum({_plus('p', z)}, 0), n_deep - 1)" if z else "p"
    place = f"({deep} * n_high + {row}) * n_wide + {column}" if window.planes else f"{row} * n_wide + {column}"
    found = [f"v{index} = tl.load(x + {place}, mask=inside, other=0.0){_cast(window)}"]
    conditions = _conditions(window, (z, y, x))
    if conditions and not window.edge:
        found.append(f"v{index} = tl.where({' & '.join(conditions)}, v{index}, {_OUTSIDE[window.outside]})")
    return found


def _edge(window: Window, row: str) -> str:
    deep = "(p == 0) | (p == n_deep - 1) | " if window.solid else ""
    return f"edge = {deep}({row} == 0) | ({row} == n_high - 1) | (c == 0) | (c == n_cols - 1)"


def _value(window: Window, slip: str) -> str:
    combine = window.mistaken if slip == "mistaken" else window.combine
    value = combine([f"v{k}" for k in range(len(window.reach))], _DIALECT)
    if not window.edge or slip == "border":
        return value
    return f"tl.where(edge, {f'v{window.middle}' if window.edge == 'copy' else '0.0'}, {value})"


def _corner(window: Window, slip: str) -> list[str]:
    """`y`, `q` and `base`: where the window of row `r` and column `c` begins."""
    column = f"q = {_start('c', window, int(slip == 'shifted'))}"
    if window.flat:
        return [column, "base = r * n_wide + q"]
    if not window.planes:
        return [f"y = {_start('r', window)}", column, "base = y * n_wide + q"]
    row = f"y = {_start('r % n_tall', window)}"
    return ["p = r // n_tall", row, column, "base = (p * n_high + y) * n_wide + q"]


def _weight(k: str, masked: bool = True) -> str:
    return f"tl.load(weights + p % channels * 9 + {k}{'@ROW' if masked else ''}).to(tl.float32)"


def _walk(window: Window, knobs: Knobs) -> list[str]:
    """The window in a loop over its inputs."""
    assert window.step is not None
    rows, columns = window.size
    count = rows * columns
    y, x = ("", "k") if rows == 1 else (f" + k // {columns} * n_wide", f"k % {columns}")
    masks = ["inside"]
    if window.pad:
        masks += [f"(y + k // {columns} >= 0)", f"(y + k // {columns} < n_high)"]
        masks += [f"(q + {x} >= 0)", f"(q + {x} < n_wide)"]
    head = f"for k in tl.static_range({count}):" if knobs["form"] == "unrolled" else f"for k in range({count}):"
    body = [
        f"w = {_weight('k')}" if window.weighted else "",
        f"v = tl.load(x + base{y} + {x}, mask={' & '.join(masks)}, other={_OUTSIDE[window.outside]}){_cast(window)}",
        f"total = {window.step(('total', 'v'), _DIALECT)}",
    ]
    return [f"total = i * 0.0 + {_OUTSIDE[window.outside]}", nested(head, body)]


def _scalars(window: Window) -> tuple[tuple[str, str], ...]:
    given = [("n_wide", "x.shape[-1]")]
    if not window.flat:
        given += [("n_high", "x.shape[-2]"), ("n_tall", window.length(-2)), ("n_deep", "x.shape[0]")]
    return (*given, *((("channels", "x.shape[1]"),) if window.weighted else ()))


def _made(window: Window) -> str:
    if window.stride == 1 and 2 * window.pad == window.size[1] - 1:
        return "torch.empty_like(x)"
    lead = "*x.shape[:-1]" if window.flat else f"*x.shape[:-2], {window.length(-2)}"
    return f"torch.empty(({lead}, {window.length(-1)}), dtype=x.dtype, device=x.device)"


def _rows(window: Window) -> str:
    if window.flat or window.length(-2) == "x.shape[-2]":
        return "x.numel() // x.shape[-1]"
    return f"x.numel() // (x.shape[-2] * x.shape[-1]) * ({window.length(-2)})"


def _map(window: Window, knobs: Knobs) -> str:
    slip, form = knobs["slip"], knobs["form"]
    lines = _corner(window, slip)
    count = len(window.reach)
    value = _value(window, slip)
    if form in ("looped", "unrolled"):
        lines += _walk(window, knobs)
        value = window.close(("total",), _DIALECT)
    else:
        lines += [f"w{k} = {_weight(str(k))}" for k in range(count) if window.weighted]
        lines += ["f = tl.load(source + i, mask=inside, other=0.0)"] if window.source else []
        if window.edge:
            lines += [_edge(window, "r % n_tall" if window.planes else "r"), "near = inside & (edge == 0)"]
        for k in range(count):
            if form == "clamped":
                lines += _clamped(window, k)
            else:
                near = "inside" if window.reach[k] == (0, 1, 1) else "near"
                near = near if window.edge and slip != "border" else ""
                lines.append(_loaded(window, k, slip, near))
    stores = (("out + i", value),)
    outputs = (("out", _made(window)),)
    op = MapOp(window.inputs, outputs, _rows(window), window.length(-1), tuple(lines), stores, scalars=_scalars(window))
    return map_source(op, knobs)


def _march(window: Window, knobs: Knobs) -> str:
    slip = knobs["slip"]
    reach = window.reach
    earlier = [(z, y + window.stride, x) for z, y, x in reach]
    kept = {k: reach.index(place) for k, place in enumerate(earlier) if place in reach}
    order = sorted(range(len(reach)), key=lambda k: reach[k][1])
    corner = [f"y = {_start('row', window)}", f"base = ({'p * n_high + ' if window.planes else ''}y) * n_wide + q"]
    before = [_loaded(window, k, slip).replace(f"v{k} =", f"v{kept[k]} =") for k in order if k in kept]
    work = [*corner]
    for k in order:
        work.append(f"v{k} = v{kept[k]}" if k in kept else _loaded(window, k, slip))
    spot = f"({'p * n_tall + ' if window.planes else ''}row) * n_cols + c"
    work += [f"f = tl.load(source + {spot}, mask=inside, other=0.0)"] if window.source else []
    work += [_edge(window, "row")] if window.edge else []
    work.append(f"tl.store(out + {spot}, {_value(window, slip)}, mask=inside)")
    body = [
        "c = tl.program_id(1) * B + tl.arange(0, B)",
        "inside = c < n_cols",
        f"q = {_start('c', window, int(slip == 'shifted'))}",
        "chunks = tl.cdiv(n_tall, S)",
        "p = tl.program_id(0) // chunks" if window.planes else "",
        f"row = tl.program_id(0){' % chunks' if window.planes else ''} * S",
        *(f"w{k} = {_weight(str(k), masked=False)}" for k in range(len(reach)) if window.weighted),
        *(corner if kept else ()),
        *before,
        nested("for row in range(row, tl.minimum(row + S, n_tall)):", work),
    ]
    scalars = dict(_scalars(window))
    names = [*window.inputs, "out"]
    launch = [
        f"out = {_made(window)}",
        f"rows, cols = {_rows(window)}, {window.length(-1)}",
        f"tall = {window.length(-2)}",
        f"body[(rows // tall * triton.cdiv(tall, {knobs['height']}), triton.cdiv(cols, {knobs['block']}))](",
        f"    {', '.join([*names, 'cols', *scalars.values()])},",
        f"    S={knobs['height']}, B={knobs['block']}, num_warps={knobs['warps']},",
        ")",
        "return out",
    ]
    text = f"""@triton.jit
def body({", ".join([*names, "n_cols", *scalars])}, S: tl.constexpr, B: tl.constexpr):
{block(body)}


def kernel({", ".join(window.inputs)}):
{block(launch)}
"""
    return source(text, slip)


def _two(window: Window, knobs: Knobs, first: list[str], second: list[str], launch: list[str]) -> str:
    """A module of two kernels over consecutive elements, each with its parameters as the first statement."""
    place = ["i = tl.program_id(0) * B + tl.arange(0, B)", "inside = i < n"]
    text = "".join(
        f"@triton.jit\ndef {name}({body[0]}, B: tl.constexpr):\n{block([*place, *body[1:]])}\n\n\n"
        for name, body in (("first", first), ("second", second))
    )
    return source(f"{text}def kernel({', '.join(window.inputs)}):\n{block(launch)}\n", knobs["slip"])


def _launched(name: str, arguments: str, count: str, knobs: Knobs) -> str:
    width = knobs["block"]
    return f"{name}[(triton.cdiv({count}, {width}),)]({arguments}, {count}, B={width}, num_warps={knobs['warps']})"


def _passes(window: Window, knobs: Knobs) -> str:
    """Combine along rows into a matrix in between, then what that holds."""
    stages = window.stages
    assert stages is not None
    shift = int(knobs["slip"] == "shifted")
    first = ["x, mid, n_wide, n_mid, n", "r = i // n_mid", "c = i % n_mid", f"q = {_start('c', window, shift)}"]
    for k, (_, _, x) in enumerate(stages.first):
        mask = " & ".join(["inside", *(text for text in _conditions(window, (0, window.pad, x)) if window.pad)])
        place = _plus("x + r * n_wide + q", x)
        first.append(f"v{k} = tl.load({place}, mask={mask}, other={_outside(window, knobs['slip'])}){_cast(window)}")
    values = [f"v{k}" for k in range(len(stages.first))]
    first.append(f"tl.store(mid + i, {stages.across(values, _DIALECT)}, mask=inside)")
    second = ["mid, out, n_high, n_tall, n_mid, n_cols, n", "r = i // n_cols", "c = i % n_cols"]
    base = "base = r * n_mid + c"
    if not window.flat:
        second.append(f"y = {_start('r % n_tall' if window.planes else 'r', window)}")
        base = f"base = ({'r // n_tall * n_high + ' if window.planes else ''}y) * n_mid + c"
    second.append(base)
    for k, (_, y, x) in enumerate(stages.second):
        mask = " & ".join(["inside", *_conditions(window, (0, y, window.pad))])
        place = _plus(_plus("mid + base", y, "n_mid"), x)
        second.append(f"v{k} = tl.load({place}, mask={mask}, other={_OUTSIDE[window.outside]}).to(tl.float32)")
    values = [f"v{k}" for k in range(len(stages.second))]
    down = stages.down(values, _DIALECT)
    if knobs["slip"] == "mistaken":
        down = values[0]
    second.append(f"tl.store(out + i, {down}, mask=inside)")
    high, tall = ("1", "1") if window.flat else ("x.shape[-2]", window.length(-2))
    launch = [
        f"rows, cols = {_rows(window)}, {window.length(-1)}",
        f"high, tall, wide = {high}, {tall}, {_plus('cols', -stages.lost)}",
        f"mid = torch.empty((rows // tall * high, wide), dtype={_between(knobs)}, device=x.device)",
        f"out = {_made(window)}",
        _launched("first", "x, mid, x.shape[-1], wide", "mid.numel()", knobs),
        _launched("second", "mid, out, high, tall, wide, cols", "out.numel()", knobs),
        "return out",
    ]
    return _two(window, knobs, first, second, launch)


def _between(knobs: Knobs) -> str:
    return "x.dtype" if knobs["form"] == "same" else "torch.float32"


def _inner(window: Window, knobs: Knobs) -> str:
    """Fill the whole output, then write the points that are not on the border."""
    slip = knobs["slip"]
    value = "tl.load(x + i, mask=inside, other=0.0)" if window.edge == "copy" else "tl.zeros((B,), tl.float32)"
    first = ["x, out, n", f"tl.store(out + i, {value}, mask=inside)"]
    shift = int(slip == "shifted")
    second = [f"{', '.join(window.inputs)}, out, n_high, n_wide, n", f"q = i % (n_wide - 2){' + 1' * shift}"]
    second.append("r = i // (n_wide - 2)")
    base = "base = r * n_wide + q"
    if window.planes:
        second += ["y = r % (n_high - 2)", "p = r // (n_high - 2) + 1"]
        base = "base = (p * n_high + y) * n_wide + q"
    second += [base, "at = base + n_wide + 1"]
    second += [_loaded(window, k, "none", "inside") for k in range(len(window.reach))]
    second += ["f = tl.load(source + at, mask=inside, other=0.0)"] if window.source else []
    combine = window.mistaken if slip == "mistaken" else window.combine
    value = combine([f"v{k}" for k in range(len(window.reach))], _DIALECT)
    second.append(f"tl.store(out + at, {value}, mask=inside)")
    deep = "(x.shape[0] - 2) * " if window.solid else ""
    launch = [
        "high, wide = x.shape[-2:]",
        f"inner = {deep}(high - 2) * (wide - 2)",
        "out = torch.empty_like(x)",
        _launched("first", "x, out", "x.numel()", knobs),
        _launched("second", f"{', '.join(window.inputs)}, out, high, wide", "inner", knobs),
        "return out",
    ]
    return _two(window, knobs, first, second, launch)


def _render(window: Window) -> Callable[[Knobs], str]:
    def render(knobs: Knobs) -> str:
        if knobs["shape"] == "march":
            return _march(window, knobs)
        if knobs["shape"] == "passes":
            return _inner(window, knobs) if window.edge else _passes(window, knobs)
        return _map(window, knobs)

    return render


def _valid(knobs: Knobs) -> bool:
    shape, width, warps, slip = knobs["shape"], knobs["block"], knobs["warps"], knobs["slip"]
    if shape not in ("march", "passes"):
        if knobs["form"] == "same" or (width < 128 and shape != "tile"):
            return False
        if shape == "tile" and width < 128:
            return bool(knobs["height"] < 64 and map_valid({**knobs, "block": 128}))
        return map_valid(knobs)
    usual = knobs["steps"] == 1 and knobs["programs"] == 8 and knobs["lanes"] == "near" and knobs["offsets"] == "int32"
    if not usual or (knobs["height"] > 1) != (shape == "march") or slip == "floor":
        return False
    if shape == "march":
        fitting = width <= 1024 and width >= 32 * warps
        return bool(
            knobs["form"] == "plain" and fitting and (slip == "none" or (width, warps, knobs["height"]) == (128, 4, 16))
        )
    if width < 128 or knobs["form"] not in ("plain", "same") or (warps == 1 and width > 512):
        return False
    if slip == "border":
        return False
    return bool(slip == "none" or (knobs["form"] == "plain" and (width, warps) in ((1024, 4), (512, 2))))


def _template(window: Window) -> Template:
    shapes = list(MAP_KNOBS["shape"])
    if not window.flat:
        shapes.append("march")
    if window.edge or window.stages:
        shapes.append("passes")
    forms = ["plain"]
    if window.pad:
        forms.append("clamped")
    if window.step:
        forms += ["looped", "unrolled"]
    if window.stages and window.outside != "zero" and window.dtype != "float32":
        forms.append("same")
    slips = ["none", "undefined", "floor", "shifted", "mistaken", *(("border",) if window.pad else ())]
    widths = (*MAP_KNOBS["block"], 32, 64)
    knobs = {**MAP_KNOBS, "shape": tuple(shapes), "block": widths, "form": tuple(forms), "slip": tuple(slips)}
    return Template(window.task, "triton", knobs, _render(window), _valid)


TEMPLATES = tuple(_template(window) for window in (*POOLS, *STENCILS, DEPTHWISE))
