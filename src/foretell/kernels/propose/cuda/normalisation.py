"""CUDA templates of the normalisation family: moments in one, two or running passes, rows kept or not; mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.propose.cuda.fragments import SUM
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
from foretell.kernels.propose.cuda.spans import Span, Sweep, span_template
from foretell.kernels.propose.cuda.streams import Given, Made, Stream, stream_template
from foretell.kernels.propose.template import Knobs, Template

_LONGEST = 4096
_EPSILON = "1e-5f"
_LAYER_KNOBS = {
    **ROW_KNOBS,
    "moments": ("two", "one", "running", "sample"),
    "root": ("rsqrtf", "sqrtf"),
}
_RMS_KNOBS = {
    **ROW_KNOBS,
    "root": ("rsqrtf", "sqrtf"),
    "epsilon": ("inside", "outside"),
    "partials": (1, 4),
}


def _kept(knobs: Knobs) -> str:
    return "from" if knobs["keep"] == "reread" else "kept"


def _scale(knobs: Knobs, inside: str) -> str:
    return f"rsqrtf({inside})" if knobs["root"] == "rsqrtf" else f"1.0f / sqrtf({inside})"


def _layer_valid(knobs: Knobs) -> bool:
    moments, threads = knobs["moments"], knobs["threads"]
    if not row_valid(knobs) or (not plain(knobs, "slip") and (moments != "two" or knobs["root"] != "rsqrtf")):
        return False
    if moments in ("running", "sample"):
        sound = plain(knobs, "fold", "unroll", "threads") and knobs["layout"] in ("block", "warp", "part")
        return bool(sound and knobs["vector"] in (1, 4) and knobs["keep"] == "reread" and knobs["root"] == "rsqrtf")
    if moments == "one" and (threads in (64, 1024) or not plain(knobs, "unroll", "fold") or knobs["vector"] in (2, 8)):
        return False
    return bool(knobs["root"] == "rsqrtf" or (moments == "two" and plain(knobs, "fold", "unroll", "keep", "threads")))


def _layer_passes(knobs: Knobs) -> str:
    moments = knobs["moments"]
    if moments == "two":
        first = f"""float sum = 0.0f;
        {sweep(knobs, "from", "sum += v;", save=True)}
        const float mean = fold_sum(sum) / cols;
        float squares = 0.0f;
        {sweep(knobs, _kept(knobs), "squares += (v - mean) * (v - mean);")}
        const float variance = fold_sum(squares) / cols;
        """
    elif moments == "running":
        step = "count += 1.0f;\nconst float off = v - centre;\ncentre += off / count;\nspread += off * (v - centre);"
        first = f"""float count = 0.0f;
        float centre = 0.0f;
        float spread = 0.0f;
        {sweep(knobs, "from", step)}
        const float mean = fold_sum(centre * count) / cols;
        const float variance = fold_sum(spread + count * (centre - mean) * (centre - mean)) / cols;
        """
    else:
        less = "cols - 1" if moments == "sample" else "cols"
        first = f"""float sum = 0.0f;
        float squares = 0.0f;
        {sweep(knobs, "from", "sum += v;" + chr(10) + "squares += v * v;", save=True)}
        const float mean = fold_sum(sum) / cols;
        const float variance = fold_sum(squares) / ({less}) - mean{" * mean" if moments == "one" else ""};
        """
    write = sweep(knobs, _kept(knobs), "", store="(v - mean) * scale * gamma_v + beta_v", also=("gamma", "beta"))
    return f"{first}const float scale = {_scale(knobs, f'variance + {_EPSILON}')};\n{write}"


def _rms_valid(knobs: Knobs) -> bool:
    if not row_valid(knobs):
        return False
    if not plain(knobs, "slip") and (
        knobs["root"] != "rsqrtf" or knobs["epsilon"] != "inside" or knobs["partials"] > 1
    ):
        return False
    if knobs["epsilon"] == "outside":
        sound = plain(knobs, "unroll", "fold", "threads", "keep") and knobs["layout"] in ("block", "warp")
        return bool(sound and knobs["root"] == "sqrtf" and knobs["partials"] == 1 and knobs["vector"] in (1, 4))
    if knobs["partials"] == 4:
        return bool(knobs["vector"] == 4 and plain(knobs, "fold", "unroll") and knobs["root"] == "rsqrtf")
    return bool(knobs["root"] == "rsqrtf" or (plain(knobs, "fold", "unroll") and knobs["threads"] in (256, 512)))


def _rms_passes(knobs: Knobs) -> str:
    if knobs["partials"] > 1:
        first = f"""float sums[4] = {{0.0f, 0.0f, 0.0f, 0.0f}};
        {sweep(knobs, "from", "sums[k % 4] += v * v;", save=True)}
        const float squares = fold_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
        """
    else:
        first = f"""float squares = 0.0f;
        {sweep(knobs, "from", "squares += v * v;", save=True)}
        squares = fold_sum(squares);
        """
    inside = f"squares / cols + {_EPSILON}"
    scale = _scale(knobs, inside)
    if knobs["epsilon"] == "outside":
        scale = f"1.0f / (sqrtf(squares) / cols + {_EPSILON})"
    write = sweep(knobs, _kept(knobs), "", store="v * scale * gamma_v", also=("gamma",))
    return f"{first}const float scale = {scale};\n{write}"


_LAYERNORM = RowProgram(("x", "gamma", "beta"), "float16", _LONGEST, (SUM,), _layer_passes)
_RMSNORM = RowProgram(("x", "gamma"), "bfloat16", _LONGEST, (SUM,), _rms_passes)


def _sums(knobs: Knobs, source: str, values: Mapping[str, str], also: tuple[str, ...] = ()) -> str:
    """Sums of values over the row, folded under the names given; `source` is `from` where they come first."""
    lines = "".join(f"float {name} = 0.0f;\n" for name in values)
    do = "\n".join(f"{name} += {value};" for name, value in values.items())
    lines += sweep(knobs, source, do, save=source == "from", also=also)
    return lines + "".join(f"{name} = fold_sum({name});\n" for name in values)


def _gate_passes(knobs: Knobs) -> str:
    gate = {"fast": "__fdividef(z_v, 1.0f + __expf(-z_v))", "tanh": "0.5f * z_v * (1.0f + tanhf(0.5f * z_v))"}.get(
        knobs["form"], "z_v / (1.0f + expf(-z_v))"
    )
    if knobs["slip"] == "swapped":
        gate = "v / (1.0f + expf(-v)) * z_v"
    scale = f"const float scale = rsqrtf(squares / cols + {_EPSILON});\n"
    if knobs["slip"] == "summed":
        scale = f"const float scale = rsqrtf(squares + {_EPSILON});\n"
    write = sweep(knobs, _kept(knobs), "", store=f"v * scale * gamma_v * {gate}", also=("gamma", "z"))
    return _sums(knobs, "from", {"squares": "v * v"}) + scale + write


def _l2_passes(knobs: Knobs) -> str:
    scale, store = "1.0f / fmaxf(sqrtf(squares), 1e-12f)", "v * scale"
    if knobs["form"] == "rsqrt":
        scale = "rsqrtf(fmaxf(squares, 1e-24f))"
    elif knobs["form"] == "divided":
        scale, store = "fmaxf(sqrtf(squares), 1e-12f)", "v / scale"
    if knobs["slip"] == "unrooted":
        scale = "1.0f / fmaxf(squares, 1e-12f)"
    value = "fabsf(v)" if knobs["slip"] == "absolute" else "v * v"
    write = sweep(knobs, _kept(knobs), "", store=store)
    return f"{_sums(knobs, 'from', {'squares': value})}const float scale = {scale};\n{write}"


def _rms_slopes(knobs: Knobs) -> str:
    also = ("gamma", "dy")
    slope = "dy_v" if knobs["slip"] == "unscaled" else "dy_v * gamma_v"
    scale = f"const float scale = rsqrtf(squares / cols + {_EPSILON});\n"
    last = "along *= scale * scale / cols;\n"
    if knobs["form"] == "plain":
        first = _sums(knobs, "from", {"squares": "v * v", "along": f"{slope} * v"}, also) + scale
    else:
        value = f"{slope} * (v * scale)" if knobs["form"] == "units" else f"{slope} * v"
        last = "along *= scale / cols;\n" if knobs["form"] == "units" else last
        first = _sums(knobs, "from", {"squares": "v * v"}) + scale + _sums(knobs, _kept(knobs), {"along": value}, also)
    sign = "+" if knobs["slip"] == "sign" else "-"
    return first + last + sweep(knobs, _kept(knobs), "", store=f"scale * ({slope} {sign} v * along)", also=also)


def _layer_slopes(knobs: Knobs) -> str:
    also, kept, form = ("gamma", "dy"), _kept(knobs), knobs["form"]
    slope = "dy_v" if knobs["slip"] == "unscaled" else "dy_v * gamma_v"
    both = {"squares": "v * v", "sum": "v"}
    mean = "const float mean = sum / cols;\n"
    scale = f"const float scale = rsqrtf(squares / cols{'' if form == 'plain' else ' - mean * mean'} + {_EPSILON});\n"
    last = "flat /= cols;\nalong *= scale * scale / cols;\n"
    if form == "sums":
        first = _sums(knobs, "from", {**both, "flat": slope, "along": f"{slope} * v"}, also) + mean + scale
        last = "flat /= cols;\nalong = (along / cols - mean * flat) * scale * scale;\n"
    else:
        if form == "pair":
            first = _sums(knobs, "from", both) + mean + scale
        else:
            first = _sums(knobs, "from", {"sum": "v"}) + mean
            first += _sums(knobs, kept, {"squares": "(v - mean) * (v - mean)"}) + scale
        first += _sums(knobs, kept, {"flat": slope, "along": f"{slope} * (v - mean)"}, also)
    away = "" if knobs["slip"] == "partial" else " - flat"
    return first + last + sweep(knobs, kept, "", store=f"scale * ({slope}{away} - (v - mean) * along)", also=also)


def _form_valid(knobs: Knobs) -> bool:
    common = plain(knobs, "fold", "unroll", "slip") and knobs["threads"] in (128, 256) and knobs["vector"] in (1, 4)
    return row_valid(knobs) and (knobs["form"] == "plain" or (common and knobs["layout"] != "thread"))


def _rows(program: RowProgram, task: str, forms: tuple[str, ...], slips: tuple[str, ...]) -> Template:
    knobs = {
        **ROW_KNOBS,
        "form": ("plain", *forms),
        "slip": (*(slip for slip in ROW_KNOBS["slip"] if slip != "assume"), *slips),
    }
    return Template(task, "cuda", knobs, lambda chosen: render_rows(program, chosen), _form_valid)


_GATE = RowProgram(("x", "z", "gamma"), "bfloat16", _LONGEST, (SUM,), _gate_passes, matrices=("z",))
_L2 = RowProgram(("x",), "float32", _LONGEST // 2, (SUM,), _l2_passes)
_SLOPES = ("x", "dy", "gamma")
_RMS_BACKWARD = RowProgram(_SLOPES, "bfloat16", _LONGEST, (SUM,), _rms_slopes, matrices=("dy",))
_LAYER_BACKWARD = RowProgram(_SLOPES, "float16", _LONGEST, (SUM,), _layer_slopes, matrices=("dy",))

_ROOTED = "const float s = gamma_v * rsqrtf(variance_v + 1e-5f);\n"
_BATCHNORM_INFERENCE = Stream(
    "batchnorm_inference",
    (Given("x", "float32"), *(Given(n, "float32", "row % channels") for n in ("mean", "variance", "gamma", "beta"))),
    (Made("out", "float32", "x"),),
    {
        "plain": f"{_ROOTED}const float out_o = (x_v - mean_v) * s + beta_v;",
        "divided": "const float out_o = (x_v - mean_v) / sqrtf(variance_v + 1e-5f) * gamma_v + beta_v;",
        "folded": f"{_ROOTED}const float out_o = fmaf(x_v, s, fmaf(-mean_v, s, beta_v));",
    },
    {
        "sign": f"{_ROOTED}const float out_o = (x_v + mean_v) * s + beta_v;",
        "squared": "const float out_o = (x_v - mean_v) / (variance_v + 1e-5f) * gamma_v + beta_v;",
    },
    rows="x.shape[0] * x.shape[1]",
    cols="x.shape[2]",
    scalars=(("channels", "x.shape[1]"),),
)


def _moments(knobs: Knobs) -> tuple[Sweep, ...]:
    """`mean` and `scale` of a row: centred in a second pass, or from two sums of one pass."""
    mean = "const float mean = sum / cols;\n"
    if knobs["form"] == "moments":
        scale = f"const float scale = rsqrtf(squares / cols - mean * mean + {_EPSILON});\n"
        return (Sweep({"sum": "v", "squares": "v * v"}, mean + scale),)
    inside = f"squares / cols + {_EPSILON}"
    root = "1.0f / " if knobs["slip"] == "unrooted" else "1.0f / sqrtf" if knobs["form"] == "root" else "rsqrtf"
    scale = f"const float scale = {root}({inside});\n"
    return Sweep({"sum": "v"}, mean), Sweep({"squares": "(v - mean) * (v - mean)"}, scale)


def _affine(knobs: Knobs) -> dict[str, str]:
    value = "v * scale * gamma_v + beta_v" if knobs["slip"] == "uncentred" else "(v - mean) * scale * gamma_v + beta_v"
    return {"out": value}


def _channels(task: str, dtype: str, at: str, longest: int, rows: str, cols: str, scalar: tuple[str, str]) -> Span:
    """The moments of rows of (n, c, hw), and factors of the channel `at`."""
    along = tuple(Given(name, dtype, at) for name in ("gamma", "beta"))
    made = {"out": (dtype, "torch.empty_like(x)")}
    forms, slips = ("moments", "root"), ("uncentred",)
    given = (Given("x", dtype),)
    return Span(
        task, given, along, made, _moments, _affine, longest, forms, slips, rows=rows, cols=cols, scalars=(scalar,)
    )


_SPANS = (
    Span(
        "add_layernorm",
        (Given("x", "float16"), Given("residual", "float16")),
        (Given("gamma", "float16"), Given("beta", "float16")),
        dict.fromkeys(("out", "kept_out"), ("float16", "torch.empty_like(x)")),
        _moments,
        lambda knobs: {**_affine(knobs), "kept_out": "v"},
        _LONGEST,
        ("moments", "root"),
        ("unrooted", "uncentred"),
        value="x_v + residual_v",
    ),
    _channels(
        "groupnorm",
        "float16",
        "row % 32 * (cols / width) + j / width",
        16384,
        "x.shape[0] * 32",
        "x.shape[1] * x.shape[2] // 32",
        ("width", "x.shape[2]"),
    ),
    _channels(
        "instancenorm",
        "bfloat16",
        "row % channels",
        _LONGEST,
        "x.shape[0] * x.shape[1]",
        "x.shape[2]",
        ("channels", "x.shape[1]"),
    ),
)

TEMPLATES = (
    Template("layernorm", "cuda", _LAYER_KNOBS, lambda knobs: render_rows(_LAYERNORM, knobs), _layer_valid),
    Template("rmsnorm", "cuda", _RMS_KNOBS, lambda knobs: render_rows(_RMSNORM, knobs), _rms_valid),
    stream_template(_BATCHNORM_INFERENCE),
    _rows(_GATE, "rmsnorm_silu_gate", ("fast", "tanh"), ("swapped", "summed")),
    _rows(_L2, "l2_normalise", ("rsqrt", "divided"), ("unrooted", "absolute")),
    _rows(_RMS_BACKWARD, "rmsnorm_backward", ("twice", "units"), ("unscaled", "sign")),
    _rows(_LAYER_BACKWARD, "layernorm_backward", ("sums", "pair"), ("unscaled", "partial")),
    *(span_template(span) for span in _SPANS),
)
