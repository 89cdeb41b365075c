"""Triton templates of maps over neighbours and other layouts: stencil5, depthwise_conv1d, rotary, dequantize_int8."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_source, map_valid

_WIDE = ".to(tl.float32)"
_LIKE_X = (("out", "torch.empty_like(x)"),)


def _stencil5(knobs: Knobs) -> str:
    edge = "edge = (r == 0) | (r == n_rows - 1) | (c == 0) | (c == n_cols - 1)"
    lines = [edge, "near = inside & (edge == 0)", "centre = tl.load(x + i, mask=inside, other=0.0)"]
    for name, place in (("up", "i - n_cols"), ("down", "i + n_cols"), ("left", "i - 1"), ("right", "i + 1")):
        lines.append(f"{name} = tl.load(x + {place}, mask=near, other=0.0)")
    if knobs["form"] == "clamped":
        lines = [
            edge,
            "centre = tl.load(x + i, mask=inside, other=0.0)",
            "up = tl.load(x + tl.maximum(i - n_cols, 0), mask=inside, other=0.0)",
            "down = tl.load(x + tl.minimum(i + n_cols, n_rows * n_cols - 1), mask=inside, other=0.0)",
            "left = tl.load(x + tl.maximum(i - 1, 0), mask=inside, other=0.0)",
            "right = tl.load(x + tl.minimum(i + 1, n_rows * n_cols - 1), mask=inside, other=0.0)",
        ]
    moved = "0.6 * centre + 0.1 * (up + down + left + right)"
    if knobs["slip"] == "half":
        moved = "0.5 * centre + 0.125 * (up + down + left + right)"
    value = moved if knobs["slip"] == "border" else f"tl.where(edge, centre, {moved})"
    op = MapOp(("x",), _LIKE_X, "x.shape[0]", "x.shape[1]", tuple(lines), (("out + i", value),))
    return map_source(op, knobs)


def _depthwise_conv1d(knobs: Knobs) -> str:
    def tap(k: str, shift: str) -> str:
        weight = f"3 - {k}" if knobs["slip"] == "mirrored" else k
        mask = "inside" if knobs["slip"] == "wrapped" else f"inside & (c >= {shift})"
        other = f"tl.load(x + i - {shift}, mask={mask}, other=0.0){_WIDE}"
        return f"total += tl.load(weights + r * 4 + {weight}@ROW){_WIDE} * {other}"

    narrow = knobs["slip"] == "narrow"
    lines = ["total = i * 0.0"]
    if knobs["form"] == "plain":
        lines += [tap(str(k), str(3 - k)) for k in range(4)]
    else:
        loop = "tl.static_range(4)" if knobs["form"] == "unrolled" else "range(4)"
        lines += [f"for k in {loop}:\n    {tap('k', '(3 - k)')}"]
    value = "total.to(tl.bfloat16)" if narrow else "total"
    op = MapOp(("x", "weights"), _LIKE_X, "x.shape[0]", "x.shape[1]", tuple(lines), (("out + i", value),))
    return map_source(op, knobs)


def _rotary(knobs: Knobs) -> str:
    slip = knobs["slip"]
    near, far = "r * 2 * n_cols + c", "r * 2 * n_cols + n_cols + c"
    if slip == "pairs":
        near, far = "r * 2 * n_cols + 2 * c", "r * 2 * n_cols + 2 * c + 1"
    angle = "r // heads * n_cols + c"
    first, second = "a * u - b * w", "b * u + a * w"
    if slip == "sign":
        first, second = "a * u + b * w", "b * u - a * w"
    if knobs["form"] == "fused":
        first, second = "tl.fma(a, u, -b * w)", "tl.fma(b, u, a * w)"
    loads = (
        Load("a", f"x + {near}", "i", _WIDE),
        Load("b", f"x + {far}", "i", _WIDE),
        Load("u", f"cos + {angle}", "i", _WIDE),
        Load("w", f"sin + {angle}", "i", _WIDE),
    )
    op = MapOp(
        inputs=("x", "cos", "sin"),
        outputs=_LIKE_X,
        rows="x.shape[0] * x.shape[1]",
        cols="x.shape[2] // 2",
        lines=(),
        stores=((f"out + {near}", first), (f"out + {far}", second)),
        loads=loads,
        scalars=(("heads", "x.shape[1]"),),
    )
    return map_source(op, knobs)


def _dequantize(knobs: Knobs) -> str:
    cast = ".to(tl.float16)" if knobs["form"] == "half" else _WIDE
    scale = Load("s", "scales + r", "r", cast)
    if knobs["slip"] == "column":
        scale = Load("s", "scales + c % n_rows", "c", cast)
    op = MapOp(
        inputs=("levels", "scales"),
        outputs=(("out", "torch.empty_like(levels, dtype=scales.dtype)"),),
        rows="levels.shape[0]",
        cols="levels.shape[1]",
        lines=(),
        stores=(("out + i", "v / s" if knobs["slip"] == "inverse" else "v * s"),),
        loads=(Load("v", "levels + i", "i", cast), scale),
    )
    return map_source(op, knobs)


def _template(task: str, render: Callable[[Knobs], str], forms: tuple[str, ...], slips: tuple[str, ...]) -> Template:
    knobs = {**MAP_KNOBS, "form": ("plain", *forms), "slip": (*MAP_KNOBS["slip"], *slips)}
    return Template(task, "triton", knobs, render, map_valid)


TEMPLATES = (
    _template("stencil5", _stencil5, ("clamped",), ("border", "half")),
    _template("depthwise_conv1d", _depthwise_conv1d, ("looped", "unrolled"), ("mirrored", "wrapped", "narrow")),
    _template("rotary", _rotary, ("fused",), ("pairs", "sign")),
    _template("dequantize_int8", _dequantize, ("half",), ("column", "inverse")),
)
