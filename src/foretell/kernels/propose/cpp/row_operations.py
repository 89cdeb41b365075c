"""C++ templates of operations on rows, as tables of forms and mistakes for the machine in `row_programs`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from foretell.kernels.propose.cpp.fragments import (
    Fold,
    fold_loop,
)
from foretell.kernels.propose.cpp.row_programs import EXP, LOG, Form, Operation, Pass, render, valid
from foretell.kernels.propose.template import Knobs, Template


def _loop(declared: str, step: str) -> Callable[[Knobs], str]:
    """A plain loop over the row that executes a statement for each item."""
    return lambda _: f"{declared}\n        for (int64_t j = 0; j < cols; ++j) {{ {step} }}"


def _one(item: str, finish: str, before: str = "", helper: str = "") -> Form:
    """One sum, and what is written from it."""
    return Form(finish, (Pass({"total": item}),), before=before, helper=helper)


def _peaked(item: str, finish: str, kept: bool = False) -> Form:
    """The peak first, then the sum of the exponentials relative to it."""
    term = f"EXP({item} - peak)"
    return Form(finish, (Pass({"peak": item}, "max"), Pass({"sum": f"($out = {term})" if kept else term})))


def _online(item: str) -> Callable[[Knobs], str]:
    return _loop(
        "float peak = -INFINITY, sum = 0.0f;",
        f"const float v = {item}; if (v > peak) {{ sum = sum * EXP(peak - v) + 1.0f; peak = v; }} "
        "else sum += EXP(v - peak);",
    )


def _blocks(factor: str) -> Callable[[Knobs], str]:
    """Peak and sum block by block, the sum so far adjusted where the peak rises."""

    def text(knobs: Knobs) -> str:
        style, size = knobs["style"], knobs["block"]
        local = fold_loop([Fold("local", lambda j: f"part[{j}]{factor}", op="max")], style, count="width")
        added = fold_loop([Fold("added", lambda j: f"EXP(part[{j}]{factor} - peak)")], style, count="width")
        return f"""float peak = -1e30f, sum = 0.0f;
        for (int64_t start = 0; start < cols; start += {size}) {{
            const int64_t width = std::min<int64_t>({size}, cols - start);
            const float* part = x_row + start;
            float local = -INFINITY, added = 0.0f;
        {local}
            if (local > peak) {{ sum *= EXP(peak - local); peak = local; }}
        {added}
            sum += added;
        }}"""

    return text


def _piece(body: str) -> str:
    return f"\nstatic inline float piece(float d) {{\n    {body}\n}}\n"


_HUBER = _piece("d = std::fabs(d);\n    return d <= 1.0f ? 0.5f * d * d : d - 0.5f;")
_DIVISIONS = {"divide": ("", "/ cols"), "reciprocal": ("const float share = 1.0f / cols;", "* share")}
_MOMENTS = Pass({"total": "$x", "squares": "$x * $x"})
_CENTRED = Pass({"spread": "($x - mean) * ($x - mean)"})
_MEAN = Pass({"total": "$x"}, then="const auto mean = total / cols;")
_WELFORD = _loop(
    "float mean = 0.0f, spread = 0.0f;",
    "const float d = $x - mean; mean += d / (j + 1); spread += d * ($x - mean);",
)
_SCALED, _DIFFERENCE = "$x * 0.125f", "piece($a - $b)"

_OPERATIONS = (
    Operation(
        "row_max",
        ("x",),
        {
            "select": Form("peak", (Pass({"peak": "$x"}, "max"),)),
            "branch": Form("peak", text=_loop("float peak = -INFINITY;", "if ($x > peak) peak = $x;")),
            "call": Form("peak", text=_loop("float peak = -INFINITY;", "peak = std::fmax(peak, $x);")),
            "place": Form("x_row[best]", text=_loop("int64_t best = 0;", "if ($x > x_row[best]) best = j;")),
            "library": Form("*std::max_element(x_row, x_row + cols)"),
        },
        {
            "magnitude": Form("peak", (Pass({"peak": "std::fabs($x)"}, "max"),)),
            "zero": Form("peak", text=_loop("float peak = 0.0f;", "peak = $x > peak ? $x : peak;")),
            "least": Form("peak", text=_loop("float peak = FLT_MIN;", "peak = $x > peak ? $x : peak;")),
        },
    ),
    Operation(
        "row_mean",
        ("x",),
        {
            "sum": _one("$x", "total LAST"),
            "scaled": _one("$x * part", "total", before="const float part = 1.0f / cols;"),
            "divided": _one("$x / cols", "total"),
            "running": Form("mean", text=_loop("float mean = 0.0f;", "mean += ($x - mean) / (j + 1);")),
            "library": Form("std::accumulate(x_row, x_row + cols, 0.0f) LAST"),
        },
        {
            "unscaled": _one("$x", "total"),
            "crossed": _one("$x", "total / rows"),
            "whole": Form("(float)std::accumulate(x_row, x_row + cols, 0) / cols"),
        },
        lasts=_DIVISIONS,
    ),
    Operation(
        "row_var",
        ("x",),
        {
            "two": Form("spread / (cols - 1)", (_MEAN, _CENTRED)),
            "moments": Form("(squares - total * total / cols) / (cols - 1)", (_MOMENTS,)),
            "shifted": Form(
                "(squares - total * total / cols) / (cols - 1)",
                (Pass({"total": "($x - base)", "squares": "($x - base) * ($x - base)"}),),
                before="const float base = $x_first;",
            ),
            "power": Form("spread / (cols - 1)", (_MEAN, Pass({"spread": "std::pow($x - mean, 2)"}))),
            "running": Form("spread / (cols - 1)", text=_WELFORD),
        },
        {
            "biased": Form("spread / cols", (_MEAN, _CENTRED)),
            "root": Form("std::sqrt(spread / (cols - 1))", (_MEAN, _CENTRED)),
            "raw": Form("squares / (cols - 1)", (_MOMENTS,)),
        },
    ),
    Operation(
        "row_logsumexp",
        ("x",),
        {
            "two": _peaked("$x", "std::log(sum) + peak"),
            "online": Form("std::log(sum) + peak", text=_online("$x")),
            "blocked": Form("std::log(sum) + peak", text=_blocks("")),
        },
        {
            "unshifted": Form("std::log(sum)", (Pass({"sum": "EXP($x)"}),)),
            "sign": _peaked("$x", "std::log(sum) - peak"),
        },
        maths=EXP,
    ),
    Operation(
        "row_dot",
        ("x", "y"),
        {
            "products": _one("$x * $y", "total"),
            "wide": _one("(double)$x * $y", "total"),
            "called": _one("std::fma($x, $y, 0.0f)", "total"),
            "library": Form("std::inner_product(x_row, x_row + cols, y_row, 0.0f)"),
        },
        {
            "same": _one("$x * $x", "total"),
            "mean": _one("$x * $y", "total / cols"),
            "whole": Form("std::inner_product(x_row, x_row + cols, y_row, 0)"),
        },
    ),
    Operation(
        "softmax_scaled",
        ("x",),
        {
            "kept": _peaked(_SCALED, "$out LAST", kept=True),
            "twice": _peaked(_SCALED, f"EXP({_SCALED} - peak) LAST"),
            "online": Form(f"EXP({_SCALED} - peak) LAST", text=_online(_SCALED)),
            "blocked": Form(f"EXP({_SCALED} - peak) LAST", text=_blocks(" * 0.125f")),
        },
        {
            "unscaled": _peaked("$x", "$out LAST", kept=True),
            "inverted": _peaked("$x * 8.0f", "$out LAST", kept=True),
        },
        maths=EXP,
        lasts={"divide": ("", "/ sum"), "reciprocal": ("const float share = 1.0f / sum;", "* share")},
        whole_rows=True,
    ),
    Operation(
        "softmax_backward",
        ("y", "grad"),
        {
            "joint": _one("$y * $grad", "$y * ($grad - total)"),
            "kept": _one("($out = $y * $grad)", "$out - $y * total"),
            "apart": _one("$y * $grad", "$y * $grad - $y * total"),
            "wide": _one("(double)$y * $grad", "(double)$y * ((double)$grad - total)"),
            "library": Form(
                "$y * ($grad - total)",
                before="const float total = std::inner_product(y_row, y_row + cols, grad_row, 0.0f);",
            ),
        },
        {
            "unweighted": _one("$grad", "$y * ($grad - total)"),
            "sign": _one("$y * $grad", "$y * ($grad + total)"),
            "partly": _one("$y * $grad", "$y * $grad - total"),
        },
        whole_rows=True,
    ),
    Operation(
        "kl_div_rows",
        ("logp", "q"),
        {
            "joint": _one("$q * (LOG($q) - $logp)", "total"),
            "apart": Form("total - crossed", (Pass({"total": "$q * LOG($q)", "crossed": "$q * $logp"}),)),
            "ratio": _one("$q * LOG($q / std::exp($logp))", "total"),
        },
        {
            "sign": _one("$q * ($logp - LOG($q))", "total"),
            "mean": _one("$q * (LOG($q) - $logp)", "total / cols"),
            "reverse": _one("std::exp($logp) * ($logp - LOG($q))", "total"),
        },
        maths=LOG,
    ),
    Operation(
        "huber_rows",
        ("a", "b"),
        {
            "select": _one(_DIFFERENCE, "total LAST", helper=_HUBER),
            "clamped": _one(
                _DIFFERENCE,
                "total LAST",
                helper=_piece(
                    "d = std::fabs(d);\n    const float c = d < 1.0f ? d : 1.0f;\n    return c * (d - 0.5f * c);"
                ),
            ),
            "branches": _one(
                _DIFFERENCE,
                "total LAST",
                helper=_piece(
                    "if (d > 1.0f) return d - 0.5f;\n    if (d < -1.0f) return -d - 0.5f;\n    return 0.5f * d * d;"
                ),
            ),
            "wide": _one(
                _DIFFERENCE,
                "total LAST",
                helper=_piece("return std::fabs(d) <= 1.0 ? 0.5 * std::pow(d, 2) : std::fabs(d) - 0.5;"),
            ),
        },
        {
            "square": _one("0.5f * ($a - $b) * ($a - $b)", "total LAST"),
            "width": _one(_DIFFERENCE, "total LAST", helper=_HUBER.replace("d - 0.5f", "d - 1.0f")),
            "unscaled": _one(_DIFFERENCE, "total", helper=_HUBER),
        },
        lasts=_DIVISIONS,
    ),
)

TEMPLATES = tuple(Template(op.task, "cpp", op.knobs, partial(render, op), partial(valid, op)) for op in _OPERATIONS)
