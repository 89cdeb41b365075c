"""CUDA templates of the softmax family: a block, a warp or a thread a row; three sweeps or online; and mistakes."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.propose.cuda.fragments import MAX, SUM
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
from foretell.kernels.propose.template import Knobs, Template

_LONGEST = 4096
_KNOBS = {
    **ROW_KNOBS,
    "passes": ("three", "online", "stash", "unshifted"),
    "exp": ("expf", "__expf"),
}


def _valid(knobs: Knobs) -> bool:
    passes, threads, vector = knobs["passes"], knobs["threads"], knobs["vector"]
    if not row_valid(knobs) or (not plain(knobs, "slip") and (passes != "three" or knobs["exp"] != "expf")):
        return False
    if passes == "stash":
        return bool(plain(knobs, "keep", "unroll", "fold") and threads in (256, 512) and knobs["exp"] == "expf")
    if passes == "online":
        sound = plain(knobs, "unroll", "fold") and vector in (1, 4) and knobs["exp"] == "expf"
        return bool(sound and knobs["keep"] != "registers" and threads in (128, 256, 512))
    if passes == "unshifted":
        kept = plain(knobs, "unroll", "fold") and threads in (128, 256) and knobs["layout"] in ("block", "warp")
        return bool(kept and vector == 4 and knobs["exp"] == "__expf" and knobs["keep"] != "shared")
    return bool(knobs["exp"] == "expf" or (threads in (256, 512) and vector == 4 and plain(knobs, "fold", "unroll")))


def _first(knobs: Knobs) -> str:
    """The sweeps that find the row's peak and the sum."""
    passes, exp = knobs["passes"], knobs["exp"]
    if passes == "online":
        merge = (
            f"const float best = fmaxf(peak, v);\ntotal = total * {exp}(peak - best) + {exp}(v - best);\npeak = best;"
        )
        return f"""float peak = -3.4e38f;
        float total = 0.0f;
        {sweep(knobs, "from", merge, save=True)}
        const float top = fold_max(peak);
        total = fold_sum(total * {exp}(peak - top));
        """
    add = f"total += {exp}(v - top);"
    if passes == "unshifted":
        summed = sweep(knobs, "from", add, save=True)
        return f"const float top = 0.0f;\nfloat total = 0.0f;\n{summed}total = fold_sum(total);\n"
    if passes == "stash":
        summed = sweep(knobs, "from", f"v = {exp}(v - top);\ntotal += v;", store="v")
    else:
        summed = sweep(knobs, _kept(knobs), add)
    return f"""float peak = -3.4e38f;
    {sweep(knobs, "from", "peak = fmaxf(peak, v);", save=True)}
    const float top = fold_max(peak);
    float total = 0.0f;
    {summed}
    total = fold_sum(total);
    """


def _kept(knobs: Knobs) -> str:
    return "from" if knobs["keep"] == "reread" else "kept"


def _passes(knobs: Knobs, log: bool) -> str:
    first = _first(knobs)
    if log:
        return f"{first}const float less = top + logf(total);\n" + sweep(knobs, _kept(knobs), "", store="v - less")
    first += "const float scale = 1.0f / total;\n"
    if knobs["passes"] == "stash":
        return first + sweep(knobs, "to", "", store="v * scale")
    return first + sweep(knobs, _kept(knobs), "", store=f"{knobs['exp']}(v - top) * scale")


def _program(log: bool) -> RowProgram:
    return RowProgram(("x",), "float32", _LONGEST, (MAX, SUM), lambda knobs: _passes(knobs, log))


def _template(task: str, log: bool) -> Template:
    knobs = {**_KNOBS, "passes": tuple(p for p in _KNOBS["passes"] if not (log and p == "stash"))}
    return Template(task, "cuda", knobs, lambda chosen: render_rows(_program(log), chosen), _valid)


@dataclass(frozen=True)
class _Relative:
    """A softmax of items that `prepare` makes of `v`, or what `finish` stores a row; `also` are rows of parameters."""

    task: str
    dtype: str
    prepare: str = ""
    also: tuple[str, ...] = ()
    finish: str = ""
    slips: tuple[tuple[str, str], ...] = ()


def _relative_first(op: _Relative, knobs: Knobs) -> str:
    """As `_first`, with each item prepared when it comes from memory."""
    passes, exp, source = knobs["passes"], knobs["exp"], _kept(knobs)
    prepare = dict(op.slips).get(knobs["slip"], op.prepare)

    def swept(where: str, do: str, store: str = "", save: bool = False) -> str:
        fresh = where == "from"
        text = f"{prepare}\n{do}" if fresh else do
        return _edged(sweep(knobs, where, text, store, save, op.also if fresh else ()), knobs)

    if passes == "online":
        merge = (
            f"const float best = fmaxf(peak, v);\ntotal = total * {exp}(peak - best) + {exp}(v - best);\npeak = best;"
        )
        return f"""float peak = -3.4e38f;
        float total = 0.0f;
        {swept("from", merge, save=True)}
        const float top = fold_max(peak);
        total = fold_sum(total * {exp}(peak - top));
        """
    add = swept(source, f"total += {exp}(v - top);")
    if passes == "stash":
        add = swept("from", f"v = {exp}(v - top);\ntotal += v;", store="v")
    return f"""float peak = -3.4e38f;
    {swept("from", "peak = fmaxf(peak, v);", save=True)}
    const float top = fold_max(peak);
    float total = 0.0f;
    {add}
    total = fold_sum(total);
    """


def _edged(text: str, knobs: Knobs) -> str:
    """A sweep that folds, ended at the diagonal where the knobs ask for it."""
    return text.replace("i < cols", "i <= edge") if knobs.get("edge") == "until" else text


def _relative_passes(op: _Relative, knobs: Knobs) -> str:
    first, source, exp = _relative_first(op, knobs), _kept(knobs), knobs["exp"]
    if op.finish:
        return f"{first}if (lane == 0) *to = {'top - logf(total)' if knobs['slip'] == 'sign' else op.finish};\n"
    first += "const float scale = 1.0f / total;\n"
    if knobs["passes"] == "stash":
        return first + sweep(knobs, "to", "", store="v * scale")
    prepare = dict(op.slips).get(knobs["slip"], op.prepare) if source == "from" else ""
    value = f"{exp}(v - top) * scale"
    if op.task == "softmax_causal":
        seen = "const bool seen = j <= edge;"
        value, prepare = f"seen ? {value} : 0.0f", f"{seen}\n{prepare}" if source == "from" else seen
        first = f"const int edge = row % cols;\n{first}"
    return first + sweep(knobs, source, prepare, store=value, also=op.also if source == "from" else ())


def _relative_valid(knobs: Knobs) -> bool:
    if not (plain(knobs, "slip") or plain(knobs, "threads")):
        return False
    if knobs.get("edge") == "until" and (knobs["passes"] == "stash" or knobs["exp"] != "expf" or knobs["unroll"] > 1):
        return False
    return (
        knobs["passes"] != "unshifted" and _valid(knobs) and (knobs["slip"] == "none" or knobs.get("edge") != "until")
    )


def _relative_template(op: _Relative) -> Template:
    causal = op.task == "softmax_causal"
    program = RowProgram(
        ("x", *op.also),
        op.dtype,
        _LONGEST,
        (MAX, SUM),
        lambda knobs: _relative_passes(op, knobs),
        out="float" if op.finish else "T",
        row_out=not op.finish,
        sizes="rows, cols = x.shape[0] * x.shape[1], x.shape[2]" if causal else "rows, cols = x.shape",
        sees_row=causal,
    )
    passes = ("three", "online") if op.finish or causal else ("three", "online", "stash")
    own = ("sign",) if op.finish else tuple(name for name, _ in op.slips)
    knobs = {**_KNOBS, "passes": passes, "slip": (*_KNOBS["slip"], *own)}
    if causal:
        knobs["edge"] = ("all", "until")
    return Template(op.task, "cuda", knobs, lambda chosen: render_rows(program, chosen), _relative_valid)


_RELATIVES = (
    _Relative("row_logsumexp", "float32", finish="top + logf(total)"),
    _Relative("softmax_scaled", "float16", "v *= 0.125f;", slips=(("unscaled", ""), ("inverted", "v *= 8.0f;"))),
    _Relative("softmax_bias", "float32", "v += bias_v;", ("bias",), slips=(("sign", "v -= bias_v;"),)),
    _Relative(
        "softmax_causal",
        "bfloat16",
        "v = j <= edge ? v : -1e30f;",
        slips=(("strict", "v = j < edge ? v : -1e30f;"), ("flipped", "v = j >= edge ? v : -1e30f;")),
    ),
)


def _gradient_passes(knobs: Knobs, log: bool) -> str:
    """The gradient through a softmax or log-softmax: a sum over the row, then a value of every item."""
    slip, exp = knobs["slip"], knobs["exp"]
    item = "grad_v" if log or slip == "unweighted" else "v * grad_v"
    sign = "+" if slip == "sign" else "-"
    store = f"grad_v {sign} {exp}(v) * total" if log else f"v * (grad_v {sign} total)"
    if exp == "apart":
        store = "v * grad_v - v * total"
    return f"""float total = 0.0f;
    {sweep(knobs, "from", f"total += {item};", save=True, also=("grad",))}
    total = fold_sum(total);
    {sweep(knobs, _kept(knobs), "", store=store, also=("grad",))}
    """


def _gradient_valid(knobs: Knobs) -> bool:
    if not row_valid(knobs) or not (plain(knobs, "slip") or plain(knobs, "threads")):
        return False
    varied = knobs["exp"] in ("__expf", "apart")
    return not (varied and not (plain(knobs, "slip", "fold", "unroll") and knobs["threads"] in (128, 256)))


def _gradient_template(task: str, dtype: str, log: bool, exps: tuple[str, ...], slips: tuple[str, ...]) -> Template:
    program = RowProgram(
        ("x", "grad"), dtype, _LONGEST, (SUM,), lambda knobs: _gradient_passes(knobs, log), matrices=("grad",)
    )
    common = tuple(slip for slip in _KNOBS["slip"] if slip != "reuse")
    knobs = {**ROW_KNOBS, "exp": exps, "slip": (*common, *slips)}
    return Template(task, "cuda", knobs, lambda chosen: render_rows(program, chosen), _gradient_valid)


TEMPLATES = (
    _template("softmax", log=False),
    _template("log_softmax", log=True),
    *(_relative_template(op) for op in _RELATIVES),
    _gradient_template("softmax_backward", "bfloat16", False, ("joint", "apart"), ("unweighted", "sign")),
    _gradient_template("log_softmax_backward", "float32", True, ("expf", "__expf"), ("sign",)),
)
