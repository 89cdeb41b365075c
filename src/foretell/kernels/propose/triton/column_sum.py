"""Triton template of column sums: one program a column block, or rows split with atomics or in two stages; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source

_KNOBS = {
    "shape": ("columns", "atomic", "stages"),
    "width": (64, 32, 128, 256),
    "depth": (16, 1, 4, 64),
    "splits": (1, 16, 64, 256),
    "warps": (4, 2, 8),
    "carry": ("tile", "line"),
    "slip": ("none", "undefined", "unmasked", "empty", "narrow", "axis", "short"),
}


def _valid(knobs: Knobs) -> bool:
    shape, depth, warps, splits = knobs["shape"], knobs["depth"], knobs["warps"], knobs["splits"]
    if (shape == "columns") != (splits == 1):
        return False
    if knobs["width"] * depth > 64 * 128 or (knobs["width"] == 256 and warps == 2):
        return False
    if shape != "columns" and (depth == 1 or warps == 2 or (depth == 64 and warps == 4)):
        return False
    if knobs["carry"] == "line" and not (depth in (4, 16) and knobs["width"] == 128 and warps == 4):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if slip == "empty" and shape != "atomic":
        return False
    if slip == "short" and shape == "columns":
        return False
    depth_fits = depth == (4 if slip == "unmasked" else 16)
    return bool(depth_fits and knobs["width"] == 128 and warps == 4 and knobs["carry"] == "tile" and splits != 16)


def _render(knobs: Knobs) -> str:
    shape, slip, splits = knobs["shape"], knobs["slip"], knobs["splits"]
    dtype = "tl.float16" if slip == "narrow" else "tl.float32"
    mask = "c < n_cols" if slip == "unmasked" else "(r < n_rows) & (c < n_cols)"
    loaded = f"v = tl.load(x + r * n_cols + c, mask={mask}, other=0.0)"
    first, last, step = "0", "n_rows", "H"
    if splits > 1:
        first, step = "tl.program_id(1) * H", "tl.num_programs(1) * H"
        if slip == "short":
            last = "n_rows - H"
    line = knobs["carry"] == "line"
    update = "total += tl.sum(v, 0)" if line else f"total += v.to({dtype})" if slip == "narrow" else "total += v"
    loop = nested(
        f"for start in range({first}, {last}, {step}):", ["r = start + tl.arange(0, H)[:, None]", loaded, update]
    )
    axis = "1" if slip == "axis" else "0"
    result = "total" if line else f"tl.sum(total, {axis})"
    spot = "tl.program_id(0) * W + tl.arange(0, W)"
    done = f"tl.store(out + spot, {result}, mask=spot < n_cols)"
    if shape == "atomic":
        done = f"tl.atomic_add(out + spot, {result}{'.to(tl.float32)' if slip == 'narrow' else ''}, mask=spot < n_cols)"
    if shape == "stages":
        done = f"tl.store(part + tl.program_id(1) * n_cols + spot, {result}, mask=spot < n_cols)"
    main = [
        f"spot = {spot}",
        "c = spot[None, :]",
        f"total = tl.zeros({'(W,)' if line else '(H, W)'}, {dtype})",
        loop,
        done,
    ]
    target = "part" if shape == "stages" else "out"
    text = f"""@triton.jit
def body(x, {target}, n_rows, n_cols, H: tl.constexpr, W: tl.constexpr):
{block(main)}


"""
    grid = (
        f"(triton.cdiv(cols, {knobs['width']}), {splits})" if splits > 1 else f"(triton.cdiv(cols, {knobs['width']}),)"
    )
    made = "zeros" if shape == "atomic" and slip != "empty" else "empty"
    launch = ["rows, cols = x.shape", f"out = torch.{made}(cols, dtype=x.dtype, device=x.device)"]
    if shape == "stages":
        text += """@triton.jit
def gather(part, out, n_cols, S: tl.constexpr, W: tl.constexpr):
    c = tl.program_id(0) * W + tl.arange(0, W)
    at = tl.arange(0, S)[:, None] * n_cols + c[None, :]
    v = tl.load(part + at, mask=c[None, :] < n_cols, other=0.0)
    tl.store(out + c, tl.sum(v, 0), mask=c < n_cols)


"""
        launch.append(f"part = torch.empty(({splits}, cols), dtype=x.dtype, device=x.device)")
    launch.append(
        f"body[{grid}](x, {target}, rows, cols, H={knobs['depth']}, W={knobs['width']}, num_warps={knobs['warps']})"
    )
    if shape == "stages":
        launch.append(f"gather[(triton.cdiv(cols, 32),)](part, out, cols, S={splits}, W=32, num_warps=4)")
    text += f"def kernel(x):\n{block([*launch, 'return out'])}\n"
    return source(text, slip)


TEMPLATES = (Template("column_sum", "triton", _KNOBS, _render, _valid),)
