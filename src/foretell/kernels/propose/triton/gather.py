"""Triton templates of the gather family: blocks, strides, rows or tiles of the gathered rows, cache hints; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, MapOp, map_source, map_valid

_HINTS = {"plain": "", "first": ', eviction_policy="evict_first"', "last": ', eviction_policy="evict_last"'}


def _picked(knobs: Knobs) -> list[str]:
    place = "c * n_cols + at" if knobs["slip"] == "swapped" else "at * n_cols + c"
    at = "at = tl.load(index + r@ROW)"
    if knobs["slip"] == "repeated":
        at = "at = tl.load(index + r // 2@ROW)"
    return [at, f"v = tl.load(table + {place}, mask=inside, other=0.0{_HINTS[knobs['form']]})"]


def _embedding(knobs: Knobs) -> str:
    op = MapOp(
        inputs=("table", "index"),
        outputs=(("out", "torch.empty((rows, cols), dtype=table.dtype, device=table.device)"),),
        rows="index.shape[0]",
        cols="table.shape[1]",
        lines=tuple(_picked(knobs)),
        stores=(("out + i", "v"),),
    )
    return map_source(op, knobs)


def _gather_rows_add(knobs: Knobs) -> str:
    op = MapOp(
        inputs=("x", "table", "index"),
        outputs=(("out", "torch.empty_like(x)"),),
        rows="x.shape[0]",
        cols="x.shape[1]",
        lines=(*_picked(knobs), "v += tl.load(x + i, mask=inside, other=0.0)"),
        stores=(("out + i", "v"),),
    )
    return map_source(op, knobs)


_KNOBS = {**MAP_KNOBS, "form": tuple(_HINTS), "slip": (*MAP_KNOBS["slip"], "swapped", "repeated")}

TEMPLATES = (
    Template("embedding", "triton", _KNOBS, _embedding, map_valid),
    Template("gather_rows_add", "triton", _KNOBS, _gather_rows_add, map_valid),
)
