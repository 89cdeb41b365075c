"""CUDA template of global_avg_pool, channels last: whole columns, split by pixels, across pixels; slips."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "way": ("whole", "atomic", "stages", "across"),
    "threads": (256, 64, 128, 512),
    "pack": (1, 2, 4, 8),
    "side": (32, 8, 16),
    "splits": (1, 4, 16),
    "unroll": (1, 4),
    "slip": ("none", "barrier", "empty", "count", "misnamed", "tail"),
}
_HEAD = BOUNDED.removesuffix("body")


def _valid(knobs: Knobs) -> bool:
    way, threads, pack, slip = knobs["way"], knobs["threads"], knobs["pack"], knobs["slip"]
    if (knobs["splits"] > 1) != (way in ("atomic", "stages")):
        return False
    if way == "across" and (pack > 1 or knobs["side"] != 32 or threads == 512):
        return False
    if way in ("atomic", "stages") and (pack in (1, 4) or threads == 64 or knobs["side"] == 16):
        return False
    if knobs["unroll"] > 1 and (way == "across" or knobs["side"] == 16 or (way != "whole" and knobs["side"] == 8)):
        return False
    if slip == "none":
        return True
    if slip == "empty":
        return bool(way == "atomic" and threads == 256 and knobs["side"] == 32 and knobs["unroll"] == 1)
    sound = threads == 256 and knobs["unroll"] == 1 and knobs["side"] == 32
    return bool(way == "whole" and sound and pack > 1)


def _column(knobs: Knobs) -> str:
    """Sums of PACK channels a thread over every GROUPS-th pixel, then over the groups of a block."""
    way, slip = knobs["way"], knobs["slip"]
    barrier = "" if slip == "barrier" else "__syncthreads();"
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    start, step = "group", "GROUPS"
    if way != "whole":
        start, step = "group + blockIdx.z * GROUPS", "GROUPS * SPLITS"
    stop = "pixels" if slip == "misnamed" else "area / GROUPS * GROUPS" if slip == "tail" else "area"
    count = "(area + GROUPS - 1)" if slip == "count" else "area"
    target = {
        "whole": f"out[spot] = T(total / (float){count})",
        "atomic": "atomicAdd(sums + spot, total)",
        "stages": "sums[blockIdx.z * (long long)gridDim.y * channels + spot] = total",
    }
    return f"""__shared__ float part[GROUPS][SIDE * PACK];
    const int lane = threadIdx.x % SIDE, group = threadIdx.x / SIDE;
    const int c = (blockIdx.x * SIDE + lane) * PACK;
    const long long b = blockIdx.y;
    float sum[PACK];
    #pragma unroll
    for (int k = 0; k < PACK; ++k) sum[k] = 0.0f;
    if (c < channels) {{
    {unroll}for (int p = {start}; p < {stop}; p += {step}) {{
    const Pack<PACK> v = *reinterpret_cast<const Pack<PACK>*>(x + (b * area + p) * channels + c);
    #pragma unroll
    for (int k = 0; k < PACK; ++k) sum[k] += (float)v.v[k];
    }}
    }}
    #pragma unroll
    for (int k = 0; k < PACK; ++k) part[group][lane * PACK + k] = sum[k];
    {barrier}
    for (int e = threadIdx.x; e < SIDE * PACK; e += THREADS) {{
    const int channel = blockIdx.x * SIDE * PACK + e;
    if (channel < channels) {{
    float total = 0.0f;
    for (int g = 0; g < GROUPS; ++g) total += part[g][e];
    const long long spot = b * channels + channel;
    {target[way]};
    }}
    }}
    """


_ACROSS = """__shared__ float part[THREADS];
const int channel = blockIdx.x;
const long long b = blockIdx.y;
float sum = 0.0f;
for (int p = threadIdx.x; p < area; p += THREADS) sum += (float)x[(b * area + p) * channels + channel];
part[threadIdx.x] = sum;
__syncthreads();
for (int d = THREADS / 2; d > 0; d /= 2) {
if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
__syncthreads();
}
if (threadIdx.x == 0) out[b * channels + channel] = T(part[0] / (float)area);
"""


def _render(knobs: Knobs) -> str:
    way, threads, splits = knobs["way"], knobs["threads"], knobs["splits"]
    side, pack = knobs["side"], knobs["pack"]
    numbers = {"THREADS": threads}
    if way != "across":
        numbers |= {"PACK": pack, "SIDE": side, "GROUPS": threads // side}
    if splits > 1:
        numbers |= {"SPLITS": splits}
    target = "T* __restrict__ out" if way in ("whole", "across") else "float* __restrict__ sums"
    close = ""
    if splits > 1:
        total = "float total = sums[i];"
        if way == "stages":
            total = "float total = 0.0f;\nfor (int s = 0; s < SPLITS; ++s) total += sums[s * n + i];"
        close = f"""{_HEAD}close(const float* __restrict__ sums, T* __restrict__ out, int n, int area) {{
        const int i = blockIdx.x * THREADS + threadIdx.x;
        if (i >= n) return;
        {total}
        out[i] = T(total / (float)area);
        }}
        """
    text = f"""using T = __nv_bfloat16;
    {constants(**numbers)}{PACK if way != "across" else ""}
    {BOUNDED}(const T* __restrict__ x, {target}, int area, int channels) {{
    {_ACROSS if way == "across" else _column(knobs)}
    }}
    {close}
    """
    grid = f"(math.ceil(channels / {side * pack}), batch{f', {splits}' if splits > 1 else ''})"
    launch = f"program.body({grid}, ({threads},), (x, out, high * wide, channels))"
    if way == "across":
        launch = f"program.body((channels, batch), ({threads},), (x, out, high * wide, channels))"
    if splits > 1:
        made = "zeros" if way == "atomic" and knobs["slip"] != "empty" else "empty"
        shape = f"({splits}, batch, channels)" if way == "stages" else "(batch, channels)"
        launch = f"""sums = torch.{made}({shape}, dtype=torch.float32, device=x.device)
    {launch.replace("x, out", "x, sums")}
    program.close((math.ceil(out.numel() / {threads}),), ({threads},), (sums, out, out.numel(), high * wide))"""
    host = f"""def kernel(x):
    batch, high, wide, channels = x.shape
    out = torch.empty((batch, channels), dtype=x.dtype, device=x.device)
    {launch}
    return out
"""
    return module(text, host, ("bfloat16",))


TEMPLATES = (Template("global_avg_pool", "cuda", _KNOBS, _render, _valid),)
