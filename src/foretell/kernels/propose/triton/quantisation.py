"""Triton template of the quantisation to int8: how rows are shared out, how the power of two is found; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Phase, RowOp, row_source, row_valid


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


_SLIPS = (*ROW_KNOBS["slip"], "truncated", "signed", "unclamped")

TEMPLATES = (
    Template("quantize_int8", "triton", {**ROW_KNOBS, "form": ("plain", "bits"), "slip": _SLIPS}, _quantize, row_valid),
)
