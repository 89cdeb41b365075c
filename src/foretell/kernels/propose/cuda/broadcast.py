"""CUDA templates of the broadcast family: walks, packs, vectors read once or for each item; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.pointwise import Form, Program, Read, pointwise, template

_X = Read("v", "x + i")
_WEIGHT = Read("w", "weight + row")


def _with(program: Program, form: str, *reads: Read) -> Program:
    """The program with one form more: the plain formula on other reads."""
    (plain,) = program.forms["plain"]
    return Program(**{**vars(program), "forms": {**program.forms, form: (Form(reads, plain.formula),)}})


PROGRAMS = (
    _with(
        pointwise(
            "outer_sum",
            "float32",
            (Read("u", "a + row"), Read("w", "b + col")),
            {"plain": "u + w", "fused": "fmaf(u, 1.0f, w)", "literal": "(double)u + w"},
            {"sign": "u - w"},
            {"swapped": Read("w", "b + row % cols")},
            staged=("w", "u + s"),
            rows="a.shape[0]",
            cols="b.shape[0]",
            out="torch.empty((rows, cols), dtype=a.dtype, device=a.device)",
        ),
        "each",
        Read("u", "a + i / cols", packed=False),
        Read("w", "b + i % cols", packed=False),
    ),
    _with(
        pointwise(
            "row_column_scale",
            "bfloat16",
            (_X, Read("u", "row_scale + row"), Read("w", "column_scale + col")),
            {"plain": "v * u * w", "vectors": "v * (u * w)", "literal": "(double)v * u * w"},
            {"dropped": "v * u"},
            {"swapped": Read("u", "row_scale + col % rows", packed=False)},
            staged=("v * u", "s * w"),
        ),
        "each",
        _X,
        Read("u", "row_scale + i / cols", packed=False),
        Read("w", "column_scale + i % cols", packed=False),
    ),
    _with(
        pointwise(
            "add_bias_residual",
            "float16",
            (_X, Read("w", "residual + i"), Read("b", "bias + col")),
            {"plain": "v + b + w", "narrow": "__hadd(__hadd(T(v), T(b)), T(w))", "literal": "(double)v + b + w"},
            {"twice": "v + b + v"},
            {"row": Read("b", "bias + row % cols")},
            staged=("v + b", "s + w"),
            inputs=(("x", "float16"), ("residual", "float16"), ("bias", "float16")),
        ),
        "each",
        _X,
        Read("w", "residual + i"),
        Read("b", "bias + i % cols", packed=False),
    ),
    _with(
        pointwise(
            "channel_affine",
            "float16",
            (_X, Read("u", "scale + row % channels"), Read("w", "shift + row % channels")),
            {"plain": "v * u + w", "fused": "fmaf(v, u, w)", "narrow": "__hfma(T(v), T(u), T(w))"},
            {"order": "(v + w) * u"},
            {"column": Read("u", "scale + col % channels", packed=False)},
            staged=("v * u", "s + w"),
            rows="x.shape[0] * x.shape[1]",
            cols="x.shape[2]",
            integers=(("channels", "x.shape[1]"),),
        ),
        "each",
        _X,
        Read("u", "scale + i / cols % channels", packed=False),
        Read("w", "shift + i / cols % channels", packed=False),
    ),
    _with(
        pointwise(
            "lerp_rows",
            "float32",
            (Read("u", "a + i"), Read("v", "b + i"), _WEIGHT),
            {"plain": "u + w * (v - u)", "sides": "u * (1.0f - w) + v * w", "literal": "u + (double)w * (v - u)"},
            {"swapped": "v + w * (u - v)"},
            {"column": Read("w", "weight + col % rows", packed=False)},
            staged=("w * (v - u)", "u + s"),
        ),
        "each",
        Read("u", "a + i"),
        Read("v", "b + i"),
        Read("w", "weight + i / cols", packed=False),
    ),
    _with(
        pointwise(
            "where_mask",
            "float16",
            (_X, Read("m", "mask + i % area", "uint8")),
            {
                "plain": "m != 0.0f ? v : -1000.0f",
                "blend": "v * m - 1000.0f * (1.0f - m)",
                "literal": "(double)v * m - 1000.0 * (1.0 - m)",
            },
            {"inverse": "m != 0.0f ? -1000.0f : v"},
            {"column": Read("m", "mask + col", "uint8")},
            staged=("m", "s != 0.0f ? v : -1000.0f"),
            rows="x.shape[0] * x.shape[1]",
            cols="x.shape[2]",
            integers=(("area", "x.shape[1] * x.shape[2]"),),
        ),
        "each",
        _X,
        Read("m", "mask + row % (area / cols) * cols + col", "uint8", packed=False),
    ),
)

TEMPLATES = tuple(template(program) for program in PROGRAMS)
