"""Triton templates of the softmax family: one row a program, several, a loop over columns, online; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "shape": ("row", "rows", "loop", "online"),
    "block": (512, 1024, 2048, 4096),
    "rows": (1, 2, 4, 8),
    "warps": (4, 1, 2, 8, 16),
    "order": ("divide", "reciprocal"),
    "shift": ("max", "none"),
    "mask": ("full", "unmasked"),
}


def _valid(knobs: Knobs) -> bool:
    whole = knobs["shape"] in ("row", "rows")
    if whole and knobs["block"] != 512:
        return False
    if (knobs["shape"] == "rows") != (knobs["rows"] > 1):
        return False
    if knobs["shift"] == "none" and (knobs["order"] == "divide" or knobs["shape"] == "online"):
        return False
    return not (knobs["mask"] == "unmasked" and (knobs["order"] == "divide" or knobs["shift"] == "none"))


def _load(knobs: Knobs, pointer: str, mask: str) -> str:
    if knobs["mask"] == "unmasked":
        return f"tl.load({pointer})"
    return f'tl.load({pointer}, mask={mask}, other=-float("inf"))'


def _finish(knobs: Knobs, log: bool, value: str, peak: str, total: str) -> str:
    if log:
        return f"{value} - {peak} - tl.log({total})"
    if knobs["order"] == "divide":
        return f"tl.exp({value} - {peak}) / {total}"
    return f"tl.exp({value} - {peak}) * (1.0 / {total})"


def _whole(knobs: Knobs, log: bool) -> str:
    rows = knobs["rows"]
    peak = "tl.max(v, 1)[:, None]" if knobs["shift"] == "max" else "tl.zeros((R, 1), tl.float32)"
    return f"""@triton.jit
def body(x, out, n_rows, n_cols, R: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.arange(0, B)[None, :]
    at = r * n_cols + c
    inside = (r < n_rows) & (c < n_cols)
    v = {_load(knobs, "x + at", "inside")}
    peak = {peak}
    total = tl.sum(tl.exp(v - peak), 1)[:, None]
    tl.store(out + at, {_finish(knobs, log, "v", "peak", "total")}, mask=inside)


def kernel(x):
    out = torch.empty_like(x)
    rows, cols = x.shape
    B = triton.next_power_of_2(cols)
    body[(triton.cdiv(rows, {rows}),)](x, out, rows, cols, R={rows}, B=B, num_warps={knobs["warps"]})
    return out
"""


def _loop(knobs: Knobs, log: bool) -> str:
    load = _load(knobs, "x + r * n_cols + c", "c < n_cols")
    if knobs["shape"] == "online":
        first = f"""    peak = tl.full((B,), -float("inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    for start in range(0, n_cols, B):
        c = start + tl.arange(0, B)
        v = {load}
        best = tl.maximum(peak, v)
        safe = tl.where(best == -float("inf"), 0.0, best)
        total = total * tl.exp(peak - safe) + tl.exp(v - safe)
        peak = best
    top = tl.max(peak, 0)
    total = tl.sum(total * tl.exp(peak - top), 0)
"""
    else:
        peak = f"""    peak = tl.full((B,), -float("inf"), tl.float32)
    for start in range(0, n_cols, B):
        c = start + tl.arange(0, B)
        peak = tl.maximum(peak, {load})
    top = tl.max(peak, 0)
"""
        first = (
            (peak if knobs["shift"] == "max" else "    top = 0.0\n")
            + f"""    total = tl.zeros((B,), tl.float32)
    for start in range(0, n_cols, B):
        c = start + tl.arange(0, B)
        total += tl.exp({load} - top)
    total = tl.sum(total, 0)
"""
        )
    return f"""@triton.jit
def body(x, out, n_cols, B: tl.constexpr):
    r = tl.program_id(0)
{first}    for start in range(0, n_cols, B):
        c = start + tl.arange(0, B)
        v = {load}
        tl.store(out + r * n_cols + c, {_finish(knobs, log, "v", "top", "total")}, mask=c < n_cols)


def kernel(x):
    out = torch.empty_like(x)
    rows, cols = x.shape
    body[(rows,)](x, out, cols, B={knobs["block"]}, num_warps={knobs["warps"]})
    return out
"""


def _render(knobs: Knobs, log: bool) -> str:
    head = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
    return head + (_whole if knobs["shape"] in ("row", "rows") else _loop)(knobs, log)


TEMPLATES = (
    Template("softmax", "triton", _KNOBS, lambda knobs: _render(knobs, log=False), _valid),
    Template("log_softmax", "triton", _KNOBS, lambda knobs: _render(knobs, log=True), _valid),
)
