"""C++ template of the loss family: passes over the logits, kind of exponential, how the target is picked, threads."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import (
    EXPONENTIALS,
    HEADER,
    SCHEDULES,
    Fold,
    fold_loop,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "passes": ("two", "online", "blocked", "unshifted", "probability"),
    "exp": ("libm", "double", "poly", "rounded", "flushed", "coarse"),
    "style": ("plain", "simd", 8, 32),
    "block": (64, 512),
    "pick": ("index", "search", "one hot", "narrow", "undeclared"),
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "buffer": ("none", "private", "shared"),
    "tail": ("full", "dropped"),
}


def _valid(knobs: Knobs) -> bool:
    passes, exp, style, pick = knobs["passes"], knobs["exp"], knobs["style"], knobs["pick"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs) or (passes != "blocked" and knobs["block"] != 64):
        return False
    if passes == "online" and (style != "plain" or exp == "coarse" or pick in ("narrow", "undeclared")):
        return False
    if passes == "blocked" and (style not in ("simd", 8) or exp in ("double", "coarse") or pick != "index"):
        return False
    if passes in ("unshifted", "probability"):
        sound = style == ("plain" if exp == "libm" else "simd") and pick == "index" and first_schedule
        return bool(sound and exp in ("libm", "rounded") and knobs["buffer"] == "none" and knobs["tail"] == "full")
    if exp == "double" and style not in ("plain", 8):
        return False
    if exp == "coarse" and (passes != "two" or style != "simd" or pick != "index"):
        return False
    if pick != "index" and (not first_schedule or style not in ("plain", "simd") or exp not in ("libm", "flushed")):
        return False
    if pick == "undeclared" and (style != "simd" or exp != "flushed"):
        return False
    if pick == "narrow" and (style != "simd" or knobs["buffer"] != "none"):
        return False
    if knobs["buffer"] != "none":
        sound = passes == "two" and pick == "index" and style == "simd" and exp != "coarse"
        return bool(sound and knobs["tail"] == "full")
    if knobs["tail"] == "dropped":
        return bool(passes == "two" and isinstance(style, int) and exp in ("rounded", "flushed") and first_schedule)
    return True


def _call(knobs: Knobs, argument: str) -> str:
    if knobs["exp"] == "double":
        return f"(float)std::exp((double)({argument}))"
    return f"{'std::exp' if knobs['exp'] == 'libm' else 'exp_poly'}({argument})"


def _sums(knobs: Knobs) -> str:
    """Statements that leave the row's `peak` and the `sum` of its shifted exponentials."""
    style, tail = knobs["style"], knobs["tail"]
    if knobs["passes"] == "online":
        return f"""float peak = -INFINITY, sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {{
            const float v = row[j];
            if (v > peak) {{ sum = sum * {_call(knobs, "peak - v")} + 1.0f; peak = v; }}
            else sum += {_call(knobs, "v - peak")};
        }}"""
    if knobs["passes"] == "blocked":
        local = fold_loop([Fold("local", lambda j: f"part[{j}]", op="max")], style, count="width")
        added = fold_loop([Fold("added", lambda j: _call(knobs, f"part[{j}] - peak"))], style, count="width")
        return f"""float peak = -1e30f, sum = 0.0f;
        for (int64_t start = 0; start < cols; start += {knobs["block"]}) {{
            const int64_t width = std::min<int64_t>({knobs["block"]}, cols - start);
            const float* part = row + start;
            float local = -INFINITY, added = 0.0f;
        {local}
            if (local > peak) {{
                sum *= {_call(knobs, "peak - local")};
                peak = local;
            }}
        {added}
            sum += added;
        }}"""
    if knobs["buffer"] == "none":
        store = ""
        total = fold_loop([Fold("sum", lambda j: _call(knobs, f"row[{j}] - peak"))], style, tail=tail)
    else:
        store = f"for (int64_t j = 0; j < cols; ++j) terms[j] = {_call(knobs, 'row[j] - peak')};"
        total = fold_loop([Fold("sum", lambda j: f"terms[{j}]")], style, tail=tail)
    if knobs["passes"] == "unshifted":
        return f"const float peak = 0.0f;\n        float sum = 0.0f;\n        {total}"
    peak = fold_loop([Fold("peak", lambda j: f"row[{j}]", op="max")], style, tail=tail)
    return f"float peak = -INFINITY, sum = 0.0f;\n        {peak}\n        {store}\n        {total}"


def _answer(knobs: Knobs) -> str:
    if knobs["passes"] == "probability":
        return f"loss[i] = -std::log({_call(knobs, 'row[targets[i]] - peak')} / sum);"
    if knobs["pick"] == "search":
        return """float chosen = 0.0f;
        for (int64_t j = 0; j < cols; ++j)
            if (j == targets[i]) chosen = row[j];
        loss[i] = std::log(sum) + peak - chosen;"""
    if knobs["pick"] == "one hot":
        return """float total = 0.0f;
        for (int64_t j = 0; j < cols; ++j)
            total += (j == targets[i] ? 1.0f : 0.0f) * (row[j] - peak - std::log(sum));
        loss[i] = -total;"""
    place = {"index": "targets[i]", "narrow": "((const int32_t*)targets)[i]", "undeclared": "target"}[knobs["pick"]]
    return f"loss[i] = std::log(sum) + peak - row[{place}];"


def _render(knobs: Knobs) -> str:
    allocate, release = "float* terms = new float[cols];", "delete[] terms;"
    private, shared = knobs["buffer"] == "private", knobs["buffer"] == "shared"
    return tidy(f"""{HEADER}{EXPONENTIALS.get(knobs["exp"], "")}
extern "C" void kernel(const float* __restrict__ logits, const int64_t* __restrict__ targets, float* __restrict__ loss,
                       int64_t rows, int64_t cols) {{
    {allocate if shared else ""}
    {parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = logits + i * cols;
        {allocate if private else ""}
        {_sums(knobs)}
        {_answer(knobs)}
        {release if private else ""}
    }}
    {release if shared else ""}
}}
""")


TEMPLATES = (Template("cross_entropy", "cpp", _KNOBS, _render, _valid),)
