"""C++ templates of stencils applied once: loop order, tiles, line sums, sliding registers, vectors, and mistakes."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.cpp.dense import Rules, fits
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.cpp.plane_writer import HEADER, PLACES, Plane, Writer
from foretell.kernels.propose.template import Knobs, Template

_ALL = tuple(PLACES)
_GRADIENTS = (
    "const T dy = dl - ul + 2.0{f} * (dc - uc) + dr - ur; const T dx = ur - ul + 2.0{f} * (mr - ml) + dr - dl; "
)
_STRAIGHT = "const T straight = uc + dc + ml + mr; "
_CORNERS = "const T corners = ul + ur + dl + dr; "

_PLANES = (
    Plane(
        "stencil9",
        ("x",),
        "mid[{j}]",
        _ALL,
        {
            "float": _STRAIGHT + _CORNERS + "return 0.4{f} * mc + 0.1{f} * straight + 0.05{f} * corners;",
            "double": _STRAIGHT + _CORNERS + "return 0.4{f} * mc + 0.1{f} * straight + 0.05{f} * corners;",
            "divided": _STRAIGHT + _CORNERS + "return mc / 2.5{f} + straight / 10.0{f} + corners / 20.0{f};",
        },
        {"p": "up[j] + down[j]"},
        "0.4{f} * mid[j] + 0.1{f} * (p[j] + mid[j - 1] + mid[j + 1]) + 0.05{f} * (p[j - 1] + p[j + 1])",
        {"s": "0.05{f}, 0.1{f}, 0.05{f}, 0.1{f}, 0.4{f}, 0.1{f}, 0.05{f}, 0.1{f}, 0.05{f}"},
        "{s}",
        ("ul + ur + dl + dr", "ul + ur + dl + dl"),
    ),
    Plane(
        "sobel",
        ("x",),
        "0.0f",
        tuple(tap for tap in _ALL if tap != "mc"),
        {
            "float": _GRADIENTS + "return dx * dx + dy * dy;",
            "double": _GRADIENTS + "return dx * dx + dy * dy;",
            "hypot": _GRADIENTS + "return std::hypot(dx, dy);",
            "newton": _GRADIENTS + "return dx * dx + dy * dy;",
        },
        {"p": "up[j] + 2.0{f} * mid[j] + down[j]", "q": "down[j] - up[j]"},
        "(p[j + 1] - p[j - 1]) * (p[j + 1] - p[j - 1]) + "
        "(q[j - 1] + 2.0{f} * q[j] + q[j + 1]) * (q[j - 1] + 2.0{f} * q[j] + q[j + 1])",
        {"s": "-1, 0, 1, -2, 0, 2, -1, 0, 1", "t": "-1, -2, -1, 0, 0, 0, 1, 2, 1"},
        "{s} * {s} + {t} * {t}",
        ("2.0{f} * (dc - uc)", "(dc - uc)"),
        True,
    ),
    Plane(
        "jacobi_source",
        ("x", "source"),
        "mid[{j}]",
        ("uc", "ml", "mr", "dc", "own"),
        {
            "float": _STRAIGHT + "return 0.25{f} * (straight + 0.01{f} * own);",
            "double": _STRAIGHT + "return 0.25{f} * (straight + 0.01{f} * own);",
            "divided": _STRAIGHT + "return (straight + own / 100.0{f}) / 4.0{f};",
        },
        {"p": "up[j] + down[j]"},
        "0.25{f} * (p[j] + mid[j - 1] + mid[j + 1] + 0.01{f} * own[j])",
        {"s": "0, 0.25{f}, 0, 0.25{f}, 0, 0.25{f}, 0, 0.25{f}, 0"},
        "{s} + 0.0025{f} * own[j]",
        ("(straight + 0.01{f} * own)", "straight + 0.01{f} * own"),
    ),
)


def _knobs(plane: Plane) -> dict[str, tuple[Any, ...]]:
    return {
        "scheme": ("direct", "rows", "tiled", "lines", "taps", "sliding", "vector"),
        "order": ("rows", "cols"),
        "border": ("test", "split"),
        "threads": ("one", "all", "turns"),
        "tall": (8, 32),
        "wide": (32, 256),
        "size": (1, 4, 8, 16),
        "together": (1, 2, 4),
        "loop": ("plain", "simd"),
        "factor": tuple(plane.mix),
        "source": ("given", "copied"),
        "slip": ("none", "tail", "edge", "wrap", "weight", "shared", "name"),
    }


_USES = {
    "direct": {"order", "border", "threads", "factor", "source"},
    "rows": {"threads", "together", "loop", "factor", "source"},
    "tiled": {"threads", "tall", "wide", "loop", "factor"},
    "lines": {"order", "threads", "loop", "factor"},
    "taps": {"order", "threads", "factor"},
    "sliding": {"order", "threads", "size", "factor"},
    "vector": {"threads", "size", "together", "source"},
}

_RULES: Rules = {
    "direct": lambda k: k["threads"] != "turns" and (k["source"] == "given" or k["factor"] == "float"),
    "rows": lambda k: (
        (k["threads"] != "turns" or k["factor"] == "float")
        and (k["together"] < 4 or k["factor"] in ("float", "double"))
        and (k["source"] == "given" or (k["together"] == 1 and k["factor"] == "float"))
    ),
    "tiled": lambda k: k["factor"] in ("float", "newton") or (k["factor"] == "double" and k["threads"] == "all"),
    "lines": lambda k: k["factor"] in ("float", "double", "newton") and k["threads"] != "turns",
    "taps": lambda k: k["factor"] in ("float", "double") and k["threads"] != "turns",
    "sliding": lambda k: (
        k["threads"] != "turns"
        and (k["size"] == 1 or k["order"] == "cols")
        and (k["factor"] == "float" or (k["size"] == 1 and k["factor"] != "newton"))
    ),
    "vector": lambda k: k["size"] > 1 and k["together"] < 4 and (k["source"] == "given" or k["together"] == 1),
    "tail": lambda k: (
        k["source"] == "given"
        and (
            (k["scheme"] == "vector" and k["together"] == 1 and k["threads"] != "turns" and k["size"] > 4)
            or (k["scheme"] == "rows" and k["together"] == 4 and k["loop"] == "simd" and k["factor"] == "float")
        )
    ),
    "edge": lambda k: k["scheme"] == "tiled" and k["tall"] == 8 and k["loop"] == "plain" and k["factor"] == "float",
    "wrap": lambda k: (
        k["scheme"] == "rows"
        and k["together"] == 1
        and k["loop"] == "simd"
        and k["source"] == "given"
        and k["factor"] == "float"
    ),
    "weight": lambda k: (
        (k["scheme"] == "sliding" and k["size"] == 1 and k["factor"] == "float" and k["threads"] == "all")
        or (k["scheme"] == "direct" and k["order"] == "rows" and k["factor"] == "double")
    ),
    "shared": lambda k: k["scheme"] == "lines" and k["order"] == "rows" and k["threads"] == "all",
    "name": lambda k: k["scheme"] == "vector" and k["together"] == 2 and k["threads"] == "all",
}


def _render(plane: Plane, knobs: Knobs) -> str:
    writer = Writer(plane, knobs)
    copied = knobs["source"] == "copied"
    inputs = ", ".join(f"const float* __restrict__ {'given' if copied and n == 'x' else n}" for n in plane.inputs)
    setup = "float* x = new float[height * width];\n    std::memcpy(x, given, sizeof(float) * height * width);"
    return tidy(f"""{HEADER}{writer.helpers()}
extern "C" void kernel({inputs}, float* __restrict__ out, int64_t height, int64_t width) {{
    {setup if copied else ""}
    {getattr(writer, knobs["scheme"])()}
    {"delete[] x;" if copied else ""}
}}
""")


def _template(plane: Plane) -> Template:
    knobs = _knobs(plane)
    return Template(plane.name, "cpp", knobs, lambda k: _render(plane, k), lambda k: fits(k, knobs, _USES, _RULES))


TEMPLATES = tuple(_template(plane) for plane in _PLANES)
