"""Triton templates of the broadcast family: blocks, strides, rows, tiles or strips; where vectors are read; slips."""

from __future__ import annotations

from foretell.kernels.propose.triton.pointwise import Pointwise, pointwise_template

_X = ("v", "x + i", "i")
_FLAT = "torch.empty((rows, cols), dtype=a.dtype, device=a.device)"

_OPERATIONS = (
    Pointwise(
        "outer_sum",
        ("a", "b"),
        (("u", "a + r", "r"), ("w", "b + c", "c")),
        {
            "plain": "u + w",
            "each": "t = tl.load(a + r + c * 0, mask=inside, other=0.0)\nt + w",
            "column": "t = tl.load(b + i % n_cols, mask=inside, other=0.0)\nu + t",
        },
        {"sign": "u - w"},
        {"swapped": ("w", "b + r % n_cols", "r")},
        staged=("w", "u + s"),
        wide=False,
        rows="a.shape[0]",
        cols="b.shape[0]",
        out=_FLAT,
    ),
    Pointwise(
        "row_column_scale",
        ("x", "row_scale", "column_scale"),
        (_X, ("u", "row_scale + r", "r"), ("w", "column_scale + c", "c")),
        {
            "plain": "v * u * w",
            "vectors": "v * (u * w)",
            "each": "t = tl.load(row_scale + r + c * 0, mask=inside, other=0.0).to(tl.float32)\nv * t * w",
        },
        {"dropped": "v * u"},
        {"swapped": ("u", "row_scale + c % n_rows", "c")},
        staged=("v * u", "s * w"),
    ),
    Pointwise(
        "add_bias_residual",
        ("x", "residual", "bias"),
        (_X, ("w", "residual + i", "i"), ("b", "bias + c", "c")),
        {
            "plain": "v + b + w",
            "each": "t = tl.load(bias + i % n_cols, mask=inside, other=0.0).to(tl.float32)\nv + t + w",
            "narrow": "(v + b).to(tl.float16) + w.to(tl.float16)",
        },
        {"twice": "v + b + v"},
        {"row": ("b", "bias + r % n_cols", "r")},
        staged=("v + b", "s + w"),
    ),
    Pointwise(
        "channel_affine",
        ("x", "scale", "shift"),
        (_X, ("u", "scale + r % channels", "r"), ("w", "shift + r % channels", "r")),
        {
            "plain": "v * u + w",
            "fused": "tl.fma(v, u, w)",
            "each": "t = tl.load(scale + (r + c * 0) % channels, mask=inside, other=0.0).to(tl.float32)\nv * t + w",
        },
        {"order": "(v + w) * u"},
        {"column": ("u", "scale + c % channels", "c")},
        staged=("v * u", "s + w"),
        rows="x.shape[0] * x.shape[1]",
        cols="x.shape[2]",
        scalars=(("channels", "x.shape[1]"),),
    ),
    Pointwise(
        "lerp_rows",
        ("a", "b", "weight"),
        (("u", "a + i", "i"), ("v", "b + i", "i"), ("w", "weight + r", "r")),
        {
            "plain": "u + w * (v - u)",
            "sides": "u * (1.0 - w) + v * w",
            "fused": "tl.fma(w, v - u, u)",
        },
        {"swapped": "v + w * (u - v)"},
        {"column": ("w", "weight + c % n_rows", "c")},
        staged=("w * (v - u)", "u + s"),
        wide=False,
    ),
    Pointwise(
        "where_mask",
        ("x", "mask"),
        (_X, ("m", "mask + i % area", "i")),
        {
            "plain": "tl.where(m != 0, v, -1000.0)",
            "blend": "v * m - 1000.0 * (1.0 - m)",
            "rows": "t = tl.load(mask + r % (area // n_cols) * n_cols + c, mask=inside, other=0)\n"
            "tl.where(t != 0, v, -1000.0)",
        },
        {"inverse": "tl.where(m != 0, -1000.0, v)"},
        {"column": ("m", "mask + c", "c")},
        staged=("m", "tl.where(s != 0, v, -1000.0)"),
        rows="x.shape[0] * x.shape[1]",
        cols="x.shape[2]",
        scalars=(("area", "x.shape[1] * x.shape[2]"),),
    ),
)

TEMPLATES = tuple(pointwise_template(op) for op in _OPERATIONS)
