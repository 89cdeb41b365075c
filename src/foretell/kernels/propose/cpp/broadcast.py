"""C++ templates of the broadcast family: order of the products and sums, ways to walk the matrix, mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.pointwise import COLUMN, ROW, Operand, Program, template

_X = Operand("v", "x")

PROGRAMS = (
    Program(
        "row_column_scale",
        (_X, Operand("u", "row_scale", ROW), Operand("w", "column_scale", COLUMN)),
        {
            "ordered": ("", "v * u * w"),
            "double": ("", "(double)v * u * w"),
            "quotient": ("", "v / (1.0f / u) * w"),
            "joint": ("", "v * (u * w)"),
        },
        {"dropped": ("", "v * u"), "added": ("", "v * (u + w)")},
        {"ordered": ("v * u", "s * w"), "joint": ("u * w", "v * s")},
        {"u": "{j} % rows"},
    ),
    Program(
        "add_bias_residual",
        (_X, Operand("w", "residual"), Operand("b", "bias", COLUMN)),
        {
            "ordered": ("", "v + b + w"),
            "double": ("", "(double)v + b + w"),
            "fused": ("", "std::fma(v, 1.0f, b) + w"),
            "joint": ("", "v + (b + w)"),
        },
        {"twice": ("", "v + b + v"), "sign": ("", "v + b - w")},
        {"ordered": ("v + b", "s + w"), "joint": ("b + w", "v + s")},
        {"b": "{i} % cols"},
    ),
)

TEMPLATES = tuple(template(program) for program in PROGRAMS)
