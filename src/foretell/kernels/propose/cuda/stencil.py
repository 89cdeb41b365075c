"""CUDA template of the five-point stencil: flat, by blocks, tiles in shared memory, marching; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, constants, module
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "way": ("flat", "block", "tile", "march"),
    "across": (32, 64, 128, 256),
    "threads": (256, 128, 512, 1024),
    "down": (1, 4, 8, 16, 32),
    "read": ("plain", "cached"),
    "unroll": (1, 4),
    "slip": ("none", "barrier", "border", "floor", "rim", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, across, threads, down, slip = (knobs[k] for k in ("way", "across", "threads", "down", "slip"))
    if way == "flat" and (across != 32 or down not in (1, 4)):
        return False
    if way == "march" and (down < 8 or across > threads or across == 32):
        return False
    if way == "block" and (down > 8 or across > threads):
        return False
    if way == "tile" and (down in (1, 4) or threads == 1024 or across == 256 or knobs["read"] == "cached"):
        return False
    if knobs["read"] == "cached" and (threads != 256 or knobs["unroll"] > 1):
        return False
    if knobs["unroll"] > 1 and (way not in ("tile", "march") or threads != 256 or down == 8):
        return False
    if threads == 1024 and (across in (128, 256) or way == "march"):
        return False
    if slip == "none":
        return True
    sound = threads == 256 and knobs["read"] == "plain" and knobs["unroll"] == 1
    if slip in ("barrier", "rim"):
        return bool(sound and way == "tile" and (across, down) in ((32, 8), (64, 16)))
    if slip == "floor":
        return bool(sound and way in ("block", "march") and across == 64 and down == 8)
    return bool(sound and (way, across, down) in (("flat", 32, 1), ("block", 64, 4), ("march", 64, 16)))


def _value(knobs: Knobs, at: str, centre: str, up: str, low: str, left: str, right: str) -> str:
    """Write the point `i, j`, whose place is `at`."""
    new = f"0.6f * {centre} + 0.1f * ({up} + {low} + {left} + {right})"
    if knobs["slip"] == "border":
        return f"if (i > 0 && j > 0 && i < height - 1 && j < width - 1) out[{at}] = {new};"
    return f"""if (i == 0 || j == 0 || i == height - 1 || j == width - 1) out[{at}] = {centre};
    else out[{at}] = {new};"""


def _item(knobs: Knobs, place: str) -> str:
    return f"__ldg(x + {place})" if knobs["read"] == "cached" else f"x[{place}]"


def _point(knobs: Knobs) -> str:
    places = ("at", "at - width", "at + width", "at - 1", "at + 1")
    return _value(knobs, "at", *(_item(knobs, place) for place in places))


def _body(knobs: Knobs) -> str:
    way = knobs["way"]
    rows = "rows" if knobs["slip"] == "misnamed" else "height"
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    if way == "flat":
        return f"""for (int s = 0; s < DOWN; ++s) {{
        const long long at = ((long long)blockIdx.x * DOWN + s) * THREADS + threadIdx.x;
        if (at >= (long long){rows} * width) return;
        const int i = at / width, j = at % width;
        {_point(knobs)}
        }}
        """
    corner = "const int x0 = blockIdx.x * ACROSS, y0 = blockIdx.y * HIGH;\n"
    if way == "block":
        return f"""{corner}for (int e = threadIdx.x; e < ACROSS * HIGH; e += THREADS) {{
        const int i = y0 + e / ACROSS, j = x0 + e % ACROSS;
        if (i < {rows} && j < width) {{
        const long long at = (long long)i * width + j;
        {_point(knobs)}
        }}
        }}
        """
    if way == "march":
        new = _value(knobs, "at", "here", "up", "low", "x[at - 1]", "x[at + 1]")
        return f"""const int j = blockIdx.x * ACROSS + threadIdx.x % ACROSS;
        const int first = (blockIdx.y * (THREADS / ACROSS) + threadIdx.x / ACROSS) * DOWN;
        if (j >= width || first >= {rows}) return;
        long long at = (long long)first * width + j;
        float up = first > 0 ? {_item(knobs, "at - width")} : 0.0f;
        float here = {_item(knobs, "at")};
        const int last = min(first + DOWN, height);
        {unroll}for (int i = first; i < last; ++i) {{
        const float low = i + 1 < height ? {_item(knobs, "at + width")} : 0.0f;
        {new}
        up = here;
        here = low;
        at += width;
        }}
        """
    rim = 0 if knobs["slip"] == "rim" else 1
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    near = ("part[a - 1][b]", "part[a + 1][b]", "part[a][b - 1]", "part[a][b + 1]")
    new = _value(knobs, "at", "part[a][b]", *near)
    return f"""__shared__ float part[HIGH + 2][ACROSS + 2];
    {corner}{unroll}for (int e = threadIdx.x; e < (HIGH + 2) * (ACROSS + 2); e += THREADS) {{
    const int a = e / (ACROSS + 2), b = e % (ACROSS + 2);
    const int i = y0 + a - 1, j = x0 + b - 1;
    if (i >= {"0" if rim else "y0"} && i < height && j >= {"0" if rim else "x0"} && j < width) part[a][b] = {
        _item(knobs, "(long long)i * width + j")
    };
    }}
    {barrier}
    {unroll}for (int e = threadIdx.x; e < HIGH * ACROSS; e += THREADS) {{
    const int a = e / ACROSS + 1, b = e % ACROSS + 1;
    const int i = y0 + a - 1, j = x0 + b - 1;
    if (i < height && j < width) {{
    const long long at = (long long)i * width + j;
    {new}
    }}
    }}
    """


def _high(knobs: Knobs) -> int:
    """Rows of the output that one block makes."""
    if knobs["way"] == "tile":
        return int(knobs["down"])
    return int(max(1, knobs["threads"] // knobs["across"]) * knobs["down"])


def _render(knobs: Knobs) -> str:
    way, threads, across, down = knobs["way"], knobs["threads"], knobs["across"], knobs["down"]
    numbers = {"THREADS": threads}
    if way in ("flat", "march"):
        numbers |= {"DOWN": down}
    if way != "flat":
        numbers |= {"ACROSS": across}
    if way in ("block", "tile"):
        numbers |= {"HIGH": _high(knobs)}
    text = f"""{constants(**numbers)}
    {BOUNDED}(const float* __restrict__ x, float* __restrict__ out, int height, int width) {{
    {_body(knobs)}
    }}
    """
    whole = "int" if knobs["slip"] == "floor" else "math.ceil"
    grid = f"({whole}(width / {across}), {whole}(height / {_high(knobs)}))"
    if way == "flat":
        grid = f"(math.ceil(height * width / {threads * down}),)"
    host = f"""def kernel(x):
    height, width = x.shape
    out = torch.empty_like(x)
    program.body({grid}, ({threads},), (x, out, height, width))
    return out
"""
    return module(text, host)


TEMPLATES = (Template("stencil5", "cuda", _KNOBS, _render, _valid),)
