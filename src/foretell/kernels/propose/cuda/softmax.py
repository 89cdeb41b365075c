"""CUDA templates of the softmax family: a block, a warp or a thread a row; three sweeps or online; and mistakes."""

from __future__ import annotations

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


TEMPLATES = (_template("softmax", log=False), _template("log_softmax", log=True))
