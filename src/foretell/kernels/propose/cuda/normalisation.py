"""CUDA templates of the normalisation family: moments in one, two or running passes, rows kept or not; mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import SUM
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
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

TEMPLATES = (
    Template("layernorm", "cuda", _LAYER_KNOBS, lambda knobs: render_rows(_LAYERNORM, knobs), _layer_valid),
    Template("rmsnorm", "cuda", _RMS_KNOBS, lambda knobs: render_rows(_RMSNORM, knobs), _rms_valid),
)
