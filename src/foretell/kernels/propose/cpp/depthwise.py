"""C++ template of the depthwise convolution: loop order, borders, channels at once, threads, and usual mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, NARROW, Rules, fits, parallel, vector_type
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_TAPS = [(r, s) for r in range(3) for s in range(3)]
_INSIDE = "y >= 0 && y < height && z >= 0 && z < width"

_KNOBS = {
    "scheme": ("sum", "add", "chunk"),
    "border": ("check", "split", "padded"),
    "taps": ("loop", "unrolled"),
    "threads": ("one", "all", "pairs"),
    "order": ("cij", "icj", "ijc"),
    "width": (8, 16, 32),
    "hold": ("array", "vector"),
    "slip": ("none", "tail", "border", "unset", "swap", "narrow", "twice", "name"),
}

_USES = {
    "sum": {"border", "taps", "threads", "order"},
    "add": {"border", "threads", "order"},
    "chunk": {"border", "taps", "threads", "order", "width", "hold"},
}

_RULES: Rules = {
    "sum": lambda k: k["taps"] == "loop" or k["border"] != "check",
    "add": lambda k: (
        k["border"] != "split" and k["order"] != "cij" and (k["threads"] != "pairs" or k["order"] == "ijc")
    ),
    "chunk": lambda k: (
        k["border"] != "split"
        and (k["taps"] == "loop" or (k["border"] == "padded" and k["hold"] == "vector"))
        and (k["threads"] != "pairs" or k["hold"] == "vector")
    ),
    "tail": lambda k: k["scheme"] == "chunk" and k["order"] == "icj" and k["width"] == 16 and k["threads"] != "pairs",
    "border": lambda k: k["scheme"] == "sum" and k["border"] == "check" and k["threads"] != "one",
    "unset": lambda k: k["scheme"] == "add" and k["threads"] != "one",
    "swap": lambda k: (
        k["scheme"] == "sum" and k["border"] == "padded" and k["taps"] == "unrolled" and k["order"] != "icj"
    ),
    "narrow": lambda k: k["scheme"] == "sum" and k["border"] == "padded" and k["order"] == "ijc",
    "twice": lambda k: k["scheme"] == "add" and k["threads"] == "all",
    "name": lambda k: (
        k["scheme"] == "chunk" and k["taps"] == "unrolled" and k["threads"] == "pairs" and k["order"] == "cij"
    ),
}


def _weight(tap: object, c: str) -> str:
    return f"weights[({tap}) * channels + {c}]"


def _sum(knobs: Knobs) -> str:
    """One output number at a time."""
    test = _INSIDE.replace("z < width", "z <= width") if knobs["slip"] == "border" else _INSIDE
    checked = f"""for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) {{
                        const int64_t y = i + r - 1, z = j + s - 1;
                        if ({test}) sum += x[(y * width + z) * channels + c] * {_weight("r * 3 + s", "c")};
                    }}"""
    if knobs["border"] == "padded":
        at = "xp[((i + {r}) * span + j + {s}) * channels + c]"
    else:
        at = "x[((i + {r} - 1) * width + j + {s} - 1) * channels + c]"
    if knobs["taps"] == "unrolled":
        swapped = knobs["slip"] == "swap"
        terms = (f"{at.format(r=r, s=s)} * {_weight(s * 3 + r if swapped else r * 3 + s, 'c')}" for r, s in _TAPS)
        free = f"sum = {' + '.join(terms)};"
    else:
        free = f"""for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) sum += {at.format(r="r", s="s")} * {_weight("r * 3 + s", "c")};"""
    inner = "i > 0 && i < height - 1 && j > 0 && j < width - 1"
    body = {"check": checked, "padded": free, "split": f"if ({inner}) {{ {free} }} else {{ {checked} }}"}[
        knobs["border"]
    ]
    loops = {
        "c": "for (int64_t c = 0; c < channels; ++c)",
        "i": "for (int64_t i = 0; i < height; ++i)",
        "j": "for (int64_t j = 0; j < width; ++j)",
    }
    return f"""{parallel(knobs)}{" ".join(loops[axis] for axis in knobs["order"])} {{
                float sum = 0.0f;
                {body}
                out[(i * width + j) * channels + c] = sum;
    }}"""


def _add(knobs: Knobs) -> str:
    """One tap after another added to the output: for each pixel (`ijc`), or for a whole row (`icj`)."""
    step = f"for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * {_weight('r * 3 + s', 'c')};"
    source = "x + (y * width + z) * channels"
    test = f"if (!({_INSIDE})) continue;"
    if knobs["border"] == "padded":
        source, test = "xp + ((y + 1) * span + z + 1) * channels", ""
    tap = f"""const int64_t y = i + r - 1, z = j + s - 1;
                        {test}
                        const float* from = {source};
                        float* to = out + (i * width + j) * channels;
                        {step}"""
    inner = ("j", "r", "s") if knobs["order"] == "ijc" else ("r", "s", "j")
    ends = {"j": "width", "r": "3", "s": "3"}
    nest = " ".join(f"for (int64_t {axis} = 0; {axis} < {ends[axis]}; ++{axis})" for axis in inner)
    zero = "" if knobs["slip"] == "unset" else "std::memset(out, 0, sizeof(float) * height * width * channels);"
    return f"""{zero}
    {parallel(knobs)}for (int64_t i = 0; i < height; ++i)
        {nest} {{
                        {tap}
        }}"""


def _chunk(knobs: Knobs) -> str:
    """`width` channels of one pixel summed in registers; the channels left over one by one."""
    width, vector, order = knobs["width"], knobs["hold"] == "vector", knobs["order"]
    padded, unrolled = knobs["border"] == "padded", knobs["taps"] == "unrolled"
    source = "xp + ((y + 1) * span + z + 1) * channels" if padded else "x + (y * width + z) * channels"

    def taps(step: str) -> str:
        if unrolled:
            steps = (step.replace("TAP", str(r * 3 + s)).replace("from", f"({_pixel(r, s)})") for r, s in _TAPS)
            return "\n                ".join(f"{{ {each} }}" for each in steps)
        test = "" if padded else f"if (!({_INSIDE})) continue;"
        return f"""for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) {{
                        const int64_t y = i + r - 1, z = j + s - 1;
                        {test}
                        const float* from = {source};
                        {step.replace("TAP", "r * 3 + s")}
                    }}"""

    load = "vec v, w; std::memcpy(&v, from + c, sizeof(v)); std::memcpy(&w, weights + (TAP) * channels + c, sizeof(w));"
    if vector:
        whole = f"""vec a = {{}};
                {taps(f"{load} a += v * w;")}
                std::memcpy(out + (i * width + j) * channels + c, &a, sizeof(a));"""
    else:
        whole = f"""float a[{width}] = {{}};
                {taps(f"for (int l = 0; l < {width}; ++l) a[l] += from[c + l] * {_weight('TAP', 'c + l')};")}
                std::memcpy(out + (i * width + j) * channels + c, a, sizeof(a));"""
    single = f"""float a = 0.0f;
                {taps(f"a += from[c] * {_weight('TAP', 'c')};")}
                out[(i * width + j) * channels + c] = a;"""
    last = "left" if knobs["slip"] == "name" else f"channels - channels % {width}"
    loops = {"i": "for (int64_t i = 0; i < height; ++i)", "j": "for (int64_t j = 0; j < width; ++j)"}

    def nest(channels: str, body: str) -> str:
        heads = " ".join({**loops, "c": channels}[axis] for axis in order)
        return f"{parallel(knobs)}{heads} {{\n                {body}\n    }}"

    rest = nest(f"for (int64_t c = {last}; c < channels; ++c)", single)
    return f"""{nest(f"for (int64_t c = 0; c < channels - channels % {width}; c += {width})", whole)}
    {"" if knobs["slip"] == "tail" else rest}"""


def _pixel(r: int, s: int) -> str:
    return f"xp + ((i + {r}) * span + j + {s}) * channels"


_BODIES = {"sum": _sum, "add": _add, "chunk": _chunk}


def _render(knobs: Knobs) -> str:
    copied = "narrow(x[i * line + j])" if knobs["slip"] == "narrow" else "x[i * line + j]"
    setup = f"""const int64_t span = width + 2, line = width * channels;
    float* xp = new float[(height + 2) * span * channels]();
    for (int64_t i = 0; i < height; ++i)
        for (int64_t j = 0; j < line; ++j) xp[((i + 1) * span + 1) * channels + j] = {copied};"""
    padded = knobs["border"] == "padded"
    narrow = NARROW if knobs["slip"] == "narrow" else ""
    vec = vector_type(knobs["width"]) if knobs["hold"] == "vector" else ""
    return tidy(f"""{HEADER}{narrow}{vec}
extern "C" void kernel(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ out,
                       int64_t height, int64_t width, int64_t channels) {{
    {setup if padded else ""}
    {_BODIES[knobs["scheme"]](knobs)}
    {"delete[] xp;" if padded else ""}
}}
""")


TEMPLATE = Template("depthwise_conv2d", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES))
