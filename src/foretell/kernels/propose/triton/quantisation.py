"""Triton templates of the quantisation family: how rows are shared out, how powers of two are found; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import Load, MapOp
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Phase, RowOp, row_source, row_valid
from foretell.kernels.propose.triton.variants import (
    SLAB_KNOBS,
    STREAM_KNOBS,
    Slab,
    slab_source,
    slab_valid,
    stream_source,
    stream_valid,
)


def _quantize(knobs: Knobs) -> str:
    slip = knobs["slip"]
    after: tuple[str, ...] = ("scale = tl.exp2(tl.floor(tl.log2(top)) - 6.0)", "inverse = 1.0 / scale")
    if knobs["form"] == "bits":
        after = (
            "bits = top.to(tl.int32, bitcast=True) & 0x7F800000",
            "low = bits - 0x03000000",
            "scale = low.to(tl.float32, bitcast=True)",
            "inverse = (0x7F000000 - low).to(tl.float32, bitcast=True)",
        )
    level = "v * inverse" if slip == "truncated" else "tl.floor(v * inverse + 0.5)"
    if slip != "unclamped":
        level = f"tl.minimum({level}, 127.0)"
    op = RowOp(
        inputs=("x",),
        outputs=(
            ("levels", "torch.empty_like(x, dtype=torch.int8)"),
            ("scales", "torch.empty(rows, dtype=torch.float32, device=x.device)"),
        ),
        loads=(("v", "x + at", "0.0", ".to(tl.float32)"),),
        phases=(Phase((Fold("top", "v" if slip == "signed" else "tl.abs(v)", "max"),), after),),
        stores=(("levels + at", f"{level}.to(tl.int8)"),),
        row_stores=(("scales + r", "scale"),),
    )
    return row_source(op, knobs)


def _powers(form: str, over: int) -> tuple[str, ...]:
    """`scale`, the largest power of two within `top`, over 2^over; and its `inverse`."""
    if form == "bits":
        return (
            f"low = (top.to(tl.int32, bitcast=True) & 0x7F800000) - {over << 23}",
            "scale = low.to(tl.float32, bitcast=True)",
            "inverse = (0x7F000000 - low).to(tl.float32, bitcast=True)",
        )
    return f"scale = tl.exp2(tl.floor(tl.log2(top)) - {over}.0)", "inverse = 1.0 / scale"


def _scaled(knobs: Knobs, over: int, out: str, dtype: str, level: str, rows: str, cols: str, scales: str) -> str:
    slip = knobs["slip"]
    divided = level.replace("v * inverse", "v / scale") if knobs["form"] == "divided" else level
    op = RowOp(
        inputs=("x",),
        outputs=((out, f"torch.empty_like(x, dtype=torch.{dtype})"), ("scales", scales)),
        loads=(("v", "x + at", "0.0", ".to(tl.float32)"),),
        phases=(Phase((Fold("top", "v" if slip == "signed" else "tl.abs(v)", "max"),), _powers(knobs["form"], over)),),
        stores=((f"{out} + at", divided),),
        row_stores=(("scales + r", "inverse" if slip == "inverse" else "scale"),),
    )
    carried = "scale" if knobs["form"] == "divided" else "inverse"
    return slab_source(Slab(op, (carried,), rows, cols), knobs)


def _quantize_fp8(knobs: Knobs) -> str:
    level = "v" if knobs["slip"] == "unscaled" else "v * inverse"
    level = f"({level}).to(tl.float8e4nv).to(tl.uint8, bitcast=True)"
    scales = "torch.empty(rows, dtype=torch.float32, device=x.device)"
    return _scaled(knobs, 7, "codes", "uint8", level, "x.shape[0]", "x.shape[1]", scales)


def _quantize_block(knobs: Knobs) -> str:
    level = "v * inverse" if knobs["slip"] == "truncated" else "tl.floor(v * inverse + 0.5)"
    scales = "torch.empty((x.shape[0], x.shape[1] // 128), dtype=torch.float32, device=x.device)"
    return _scaled(
        knobs, 6, "levels", "int8", f"tl.minimum({level}, 127.0).to(tl.int8)", "x.numel() // 128", "128", scales
    )


def _dequantize_block(knobs: Knobs) -> str:
    slip, wide = knobs["slip"], ".to(tl.float32)"
    place = "r * 2 % blocks" if slip == "row" else "r"
    op = MapOp(
        inputs=("levels", "scales"),
        outputs=(("out", "torch.empty_like(levels, dtype=scales.dtype)"),),
        rows="levels.numel() // 128",
        cols="128",
        loads=(
            Load("v", "levels + i", "i", {"half": ".to(tl.float16)"}.get(knobs["form"], wide)),
            Load("s", f"scales + {place}", "r", "" if knobs["form"] == "half" else wide),
        ),
        lines=("v = v + 128.0",) if slip == "offset" else ("v = -v",) if slip == "sign" else (),
        stores=(("out + i", "v / (1.0 / s)" if knobs["form"] == "divided" else "v * s"),),
        scalars=(("blocks", "scales.numel()"),),
    )
    return stream_source(op, knobs)


def _dequantize_int4(knobs: Knobs) -> str:
    slip, form = knobs["slip"], knobs["form"]
    place = "scales + r * (n_cols // 64) + c // 64"
    pairs = form in ("pairs", "both")
    loads = (Load("v", "packed + i // 2"), Load("s", "scales + i // 64", "i", ".to(tl.float32)"))
    order = "1 - i % 2" if slip == "swapped" else "i % 2"
    lines: tuple[str, ...] = (f"v = (v.to(tl.int32) >> ({order}) * 4) & 15",)
    if form == "chosen":
        lines = ("v = tl.where(i % 2 == 0, v & 15, v >> 4).to(tl.int32)",)
    zero = "7" if slip == "zero" else "0" if slip == "unsigned" else "8"
    stores = [("out + i", f"(v - {zero}).to(tl.float32) * s")]
    if pairs:
        loads = (Load("v", "packed + i"), Load("s", "scales + i // 32", "i", ".to(tl.float32)"))
        lines = ("v = v.to(tl.int32)", "u = ((v & 15) - 8).to(tl.float32) * s", "w = ((v >> 4) - 8).to(tl.float32) * s")
        stores = [("out + 2 * i", "u"), ("out + 2 * i + 1", "w")]
        if form == "both":
            lines = (*lines, "k = tl.interleave(2 * i, 2 * i + 1)", "inside = tl.interleave(inside, inside)")
            stores = [("out + k", "tl.interleave(u, w)")]
    elif knobs["shape"].startswith(("row", "tile")) and form == "plain":
        loads = (loads[0], Load("s", place, "i", ".to(tl.float32)"))
    op = MapOp(
        inputs=("packed", "scales"),
        outputs=(("out", "torch.empty((rows, 2 * packed.shape[1]), dtype=scales.dtype, device=packed.device)"),),
        rows="packed.shape[0]",
        cols="packed.shape[1]" if pairs else "2 * packed.shape[1]",
        loads=loads,
        lines=lines,
        stores=tuple(stores),
    )
    return stream_source(op, knobs)


def _quantize_dequantize(knobs: Knobs) -> str:
    slip, form = knobs["slip"], knobs["form"]
    place = Load("e", "exponents + r % n_cols", "r") if slip == "row" else Load("e", "exponents + c", "c")
    scale: tuple[str, ...] = ("s = tl.exp2(e.to(tl.float32) - 5.0)", "t = 1.0 / s")
    if form == "bits":
        scale = ("s = (e + 122 << 23).to(tl.float32, bitcast=True)", "t = (132 - e << 23).to(tl.float32, bitcast=True)")
    level = "v / s" if form == "divided" else "v * t"
    level = level if slip == "unrounded" else f"tl.floor({level} + 0.5)"
    level = f"tl.minimum({level}, 127.0)" if slip == "unclamped" else f"tl.minimum(tl.maximum({level}, -128.0), 127.0)"
    op = MapOp(
        inputs=("x", "exponents"),
        outputs=(("out", "torch.empty_like(x)"),),
        rows="x.shape[0]",
        cols="x.shape[1]",
        loads=(Load("v", "x + i", "i", ".to(tl.float32)"), place),
        lines=scale,
        stores=(("out + i", f"{level} * s"),),
    )
    return stream_source(op, knobs)


_SLIPS = (*ROW_KNOBS["slip"], "truncated", "signed", "unclamped")

TEMPLATES = (
    Template("quantize_int8", "triton", {**ROW_KNOBS, "form": ("plain", "bits"), "slip": _SLIPS}, _quantize, row_valid),
    Template(
        "quantize_fp8_rows",
        "triton",
        {
            **SLAB_KNOBS,
            "form": ("plain", "bits", "divided"),
            "slip": (*SLAB_KNOBS["slip"], "signed", "unscaled", "inverse"),
        },
        _quantize_fp8,
        slab_valid(4096),
    ),
    Template(
        "quantize_block_int8",
        "triton",
        {
            **SLAB_KNOBS,
            "form": ("plain", "bits", "divided"),
            "slip": ("none", "undefined", "signed", "truncated", "inverse"),
        },
        _quantize_block,
        slab_valid(128),
    ),
    Template(
        "dequantize_block_int8",
        "triton",
        {
            **STREAM_KNOBS,
            "form": ("plain", "half", "divided"),
            "slip": (*STREAM_KNOBS["slip"], "row", "sign", "offset"),
        },
        _dequantize_block,
        stream_valid(),
    ),
    Template(
        "dequantize_int4",
        "triton",
        {
            **STREAM_KNOBS,
            "form": ("plain", "chosen", "pairs", "both"),
            "slip": (*STREAM_KNOBS["slip"], "swapped", "zero", "unsigned"),
        },
        _dequantize_int4,
        stream_valid(),
    ),
    Template(
        "quantize_dequantize",
        "triton",
        {
            **STREAM_KNOBS,
            "form": ("plain", "bits", "divided"),
            "slip": (*STREAM_KNOBS["slip"], "row", "unrounded", "unclamped"),
        },
        _quantize_dequantize,
        stream_valid(),
    ),
)
