"""CUDA templates of the linear recurrence and of attention with one query: serial, in segments, split; and mistakes."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

_LINEAR: dict[str, tuple[Any, ...]] = {
    "layout": ("serial", "segments"),
    "threads": (256, 32, 64, 128, 512),
    "lanes": (32, 8, 64),
    "vector": (1, 2, 4),
    "unroll": (1, 2, 4, 8),
    "order": ("near", "far"),
    "slip": ("none", "barrier", "early", "restart", "floor", "misnamed"),
}


def _linear_valid(knobs: Knobs) -> bool:
    layout, threads, vector, slip = knobs["layout"], knobs["threads"], knobs["vector"], knobs["slip"]
    serial = layout == "serial"
    if serial and knobs["lanes"] != 32:
        return False
    if not serial and (threads < 128 or knobs["order"] == "far" or knobs["unroll"] in (2, 8)):
        return False
    if knobs["order"] == "far" and (threads in (32, 512) or vector == 2 or knobs["unroll"] in (2, 8)):
        return False
    if serial and threads == 512 and vector > 1:
        return False
    if slip == "none":
        return True
    if serial and slip in ("barrier", "restart"):
        return False
    usual = threads == (64 if serial else 256) and knobs["order"] == "near" and knobs["lanes"] == 32
    return bool(usual and vector in (1, 4) and knobs["unroll"] == 1 and (slip != "misnamed" or vector == 1))


def _walk(knobs: Knobs, first: str, last: str, store: bool) -> str:
    slip = knobs["slip"]
    gain = "g.v[w] * (h[w] + u.v[w])" if slip == "early" else "g.v[w] * h[w] + u.v[w]"
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    put = "q.v[w] = h[w];" if store else "f[w] *= g.v[w];"
    return f"""{unroll}for (int t = {first}; t < {last}; ++t) {{
    const long long at = ((long long)b * time + t) * channels + c;
    const Pack<W> g = *reinterpret_cast<const Pack<W>*>(a + at);
    const Pack<W> u = *reinterpret_cast<const Pack<W>*>(x + at);
    {"Pack<W> q;" if store else ""}
    #pragma unroll
    for (int w = 0; w < W; ++w) {{
    h[w] = {gain};
    {put}
    }}
    {"*reinterpret_cast<Pack<W>*>(out + at) = q;" if store else ""}
    }}
    """


def _linear(knobs: Knobs) -> str:
    threads, lanes, vector, slip = knobs["threads"], knobs["lanes"], knobs["vector"], knobs["slip"]
    serial = knobs["layout"] == "serial"
    end = {"misnamed": "times", "floor": "time / 8 * 8"}.get(slip, "time") if serial else "last"
    zero = "float h[W];\n#pragma unroll\nfor (int w = 0; w < W; ++w) h[w] = 0.0f;\n"
    if serial:
        place = "threadIdx.x" if knobs["order"] == "near" else "(threadIdx.x % 8 * (THREADS / 8) + threadIdx.x / 8)"
        body = f"""const int c = (blockIdx.x * THREADS + {place}) * W;
        if (c >= channels) return;
        {zero}{_walk(knobs, "0", end, store=True)}"""
        numbers = constants(THREADS=threads, V=vector)
        across = threads
    else:
        size = "time / SEGMENTS" if slip == "floor" else "(time + SEGMENTS - 1) / SEGMENTS"
        carry = """for (int e = 0; e < s; ++e) {
        #pragma unroll
        for (int w = 0; w < W; ++w) h[w] = h[w] * kept[e][lane * W + w] + ends[e][lane * W + w];
        }
        """
        body = f"""__shared__ float kept[SEGMENTS][LANES * W];
        __shared__ float ends[SEGMENTS][LANES * W];
        const int lane = threadIdx.x % LANES, s = threadIdx.x / LANES;
        const int c = (blockIdx.x * LANES + lane) * W;
        const int size = {size};
        const int last = c < channels ? min(s * size + size, {"times" if slip == "misnamed" else "time"}) : 0;
        {zero}float f[W];
        #pragma unroll
        for (int w = 0; w < W; ++w) f[w] = 1.0f;
        {_walk(knobs, "s * size", "last", store=False)}
        #pragma unroll
        for (int w = 0; w < W; ++w) {{
        kept[s][lane * W + w] = f[w];
        ends[s][lane * W + w] = h[w];
        }}
        {"" if slip == "barrier" else "__syncthreads();"}
        #pragma unroll
        for (int w = 0; w < W; ++w) h[w] = 0.0f;
        {"" if slip == "restart" else carry}
        {_walk(knobs, "s * size", "last", store=True)}"""
        numbers = constants(THREADS=threads, LANES=lanes, SEGMENTS=threads // lanes, V=vector)
        across = lanes
    typed = "const T* __restrict__ a, const T* __restrict__ x, T* __restrict__ out, int time, int channels"
    names = "a, x, out, time, channels"
    text = f"""using T = float;
    {numbers}{PACK}
    template <int W> __device__ void run({typed}) {{
    const int b = blockIdx.y;
    {body}
    }}
    {BOUNDED}({typed}) {{
    {"run<1>" if vector == 1 else "run<V>"}({names});
    }}
    """
    host = f"""def kernel(a, x):
    batch, time, channels = x.shape
    out = torch.empty_like(x)
    program.body((math.ceil(channels / {across * vector}), batch), ({threads},), ({names}))
    return out
"""
    return module(text, host)


_DECODE: dict[str, tuple[Any, ...]] = {
    "way": ("online", "phases"),
    "threads": (128, 64, 256, 512),
    "parts": (1, 2, 4, 8, 16, 32),
    "batch": (1, 2, 4, 8),
    "score": ("warp", "thread"),
    "power": ("__expf", "expf"),
    "slip": ("none", "barrier", "unscaled", "stale", "tail", "unjoined", "misnamed"),
}


def _decode_valid(knobs: Knobs) -> bool:
    way, threads, parts, batch, slip = (knobs[k] for k in ("way", "threads", "parts", "batch", "slip"))
    online = way == "online"
    if online and (knobs["score"] == "thread" or (knobs["power"] == "expf" and (threads != 128 or batch > 2))):
        return False
    if not online and (parts > 1 or batch == 8):
        return False
    if slip == "none":
        return True
    if threads not in (128, 256) or batch != 1 or knobs["power"] != "__expf" or knobs["score"] != "warp":
        return False
    if slip in ("stale", "unjoined") and not online:
        return False
    if slip == "unjoined":
        return bool(parts == 8)
    return bool(parts in (1, 8) and (slip != "misnamed" or (threads == 128 and parts == 1)))


_ARGS = (
    "const T* __restrict__ q, const T* __restrict__ k, const T* __restrict__ v, T* __restrict__ out, "
    "float* __restrict__ held, float* __restrict__ tops, float* __restrict__ sums, int length, int parts, float scale"
)
_NAMES = "q, k, v, out, held, tops, sums, length, parts, scale"
_DOT = """float s = 0.0f;
#pragma unroll
for (int e = 0; e < E; ++e) s += qv[e] * float(p.v[e]);
#pragma unroll
for (int d = 16; d > 0; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
"""


def _online(knobs: Knobs) -> str:
    slip, power = knobs["slip"], knobs["power"]
    scale = "" if slip == "unscaled" else " * scale"
    last = {"tail": "end / 32 * 32", "misnamed": "stop"}.get(slip, "end")
    fix = "acc[e]" if slip == "stale" else "acc[e] * fix"
    return f"""const int h = blockIdx.x, part = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T* keys = k + (long long)h * length * D;
    const T* values = v + (long long)h * length * D;
    const int size = (length + parts - 1) / parts;
    const int begin = part * size, end = min(begin + size, length);
    float peak = -1.0e30f, total = 0.0f, acc[E];
    #pragma unroll
    for (int e = 0; e < E; ++e) acc[e] = 0.0f;
    for (int first = begin + warp * BATCH; first < {last}; first += THREADS / 32 * BATCH) {{
    float score[BATCH], best = peak;
    #pragma unroll
    for (int j = 0; j < BATCH; ++j) {{
    const int n = min(first + j, length - 1);
    const Pack<E> p = *reinterpret_cast<const Pack<E>*>(keys + (long long)n * D + lane * E);
    {_DOT}
    score[j] = first + j < end ? s{scale} : -1.0e30f;
    best = fmaxf(best, score[j]);
    }}
    const float fix = {power}(peak - best);
    total *= fix;
    #pragma unroll
    for (int e = 0; e < E; ++e) acc[e] = {fix};
    #pragma unroll
    for (int j = 0; j < BATCH; ++j) {{
    const int n = min(first + j, length - 1);
    const Pack<E> p = *reinterpret_cast<const Pack<E>*>(values + (long long)n * D + lane * E);
    const float w = {power}(score[j] - best);
    total += w;
    #pragma unroll
    for (int e = 0; e < E; ++e) acc[e] += w * float(p.v[e]);
    }}
    peak = best;
    }}
    __shared__ float rows[THREADS / 32][D];
    __shared__ float peaks[THREADS / 32], totals[THREADS / 32];
    #pragma unroll
    for (int e = 0; e < E; ++e) rows[warp][lane * E + e] = acc[e];
    if (lane == 0) {{ peaks[warp] = peak; totals[warp] = total; }}
    {"" if slip == "barrier" else "__syncthreads();"}
    float best = -1.0e30f, all = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) best = fmaxf(best, peaks[w]);
    for (int w = 0; w < THREADS / 32; ++w) all += totals[w] * {power}(peaks[w] - best);
    for (int d = threadIdx.x; d < D; d += THREADS) {{
    float sum = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) sum += rows[w][d] * {power}(peaks[w] - best);
    if (parts == 1) out[(long long)h * D + d] = T(sum / all);
    else held[((long long)h * parts + part) * D + d] = sum;
    }}
    if (parts > 1 && threadIdx.x == 0) {{
    tops[h * parts + part] = best;
    sums[h * parts + part] = all;
    }}
    """


def _phases(knobs: Knobs) -> str:
    slip, power = knobs["slip"], knobs["power"]
    scale = "" if slip == "unscaled" else " * scale"
    last = {"tail": "length / 32 * 32", "misnamed": "stop"}.get(slip, "length")
    unroll = f"#pragma unroll {knobs['batch']}\n" if knobs["batch"] > 1 else ""
    if knobs["score"] == "warp":
        scores = f"""{unroll}for (int n = warp; n < {last}; n += THREADS / 32) {{
        const Pack<E> p = *reinterpret_cast<const Pack<E>*>(keys + (long long)n * D + lane * E);
        {_DOT}
        if (lane == 0) weights[n] = s{scale};
        }}
        """
    else:
        scores = f"""{unroll}for (int n = threadIdx.x; n < {last}; n += THREADS) {{
        float s = 0.0f;
        for (int d = 0; d < D; ++d) s += float(q[(long long)h * D + d]) * float(keys[(long long)n * D + d]);
        weights[n] = s{scale};
        }}
        """
    return f"""const int h = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const T* keys = k + (long long)h * length * D;
    const T* values = v + (long long)h * length * D;
    extern __shared__ float weights[];
    __shared__ float rows[THREADS / 32][D];
    __shared__ float peaks[THREADS];
    {scores}
    {"" if slip == "barrier" else "__syncthreads();"}
    float best = -1.0e30f;
    for (int n = threadIdx.x; n < length; n += THREADS) best = fmaxf(best, weights[n]);
    peaks[threadIdx.x] = best;
    __syncthreads();
    for (int t = 0; t < THREADS; ++t) best = fmaxf(best, peaks[t]);
    __syncthreads();
    float total = 0.0f;
    for (int n = threadIdx.x; n < length; n += THREADS) {{
    weights[n] = {power}(weights[n] - best);
    total += weights[n];
    }}
    peaks[threadIdx.x] = total;
    __syncthreads();
    total = 0.0f;
    for (int t = 0; t < THREADS; ++t) total += peaks[t];
    float acc[E];
    #pragma unroll
    for (int e = 0; e < E; ++e) acc[e] = 0.0f;
    {unroll}for (int n = warp; n < length; n += THREADS / 32) {{
    const Pack<E> p = *reinterpret_cast<const Pack<E>*>(values + (long long)n * D + lane * E);
    #pragma unroll
    for (int e = 0; e < E; ++e) acc[e] += weights[n] * float(p.v[e]);
    }}
    #pragma unroll
    for (int e = 0; e < E; ++e) rows[warp][lane * E + e] = acc[e];
    __syncthreads();
    for (int d = threadIdx.x; d < D; d += THREADS) {{
    float sum = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) sum += rows[w][d];
    out[(long long)h * D + d] = T(sum / total);
    }}
    """


def _decode(knobs: Knobs) -> str:
    threads, parts, slip = knobs["threads"], knobs["parts"], knobs["slip"]
    online = knobs["way"] == "online"
    query = ""
    if online or knobs["score"] == "warp":
        query = """float qv[E];
        #pragma unroll
        for (int e = 0; e < E; ++e) qv[e] = float(q[(long long)blockIdx.x * D + threadIdx.x % 32 * E + e]);
        """
    weight = "1.0f" if slip == "unjoined" else f"{knobs['power']}(tops[h * parts + p] - best)"
    join = f"""extern "C" __global__ void join(const float* __restrict__ held, const float* __restrict__ tops,
    const float* __restrict__ sums, T* __restrict__ out, int parts) {{
    const int h = blockIdx.x, d = threadIdx.x;
    float best = -1.0e30f, all = 0.0f, sum = 0.0f;
    for (int p = 0; p < parts; ++p) best = fmaxf(best, tops[h * parts + p]);
    for (int p = 0; p < parts; ++p) {{
    const float w = {weight};
    all += w * sums[h * parts + p];
    sum += w * held[((long long)h * parts + p) * blockDim.x + d];
    }}
    out[(long long)h * blockDim.x + d] = T(sum / all);
    }}
    """
    numbers = {"THREADS": threads} | ({"BATCH": knobs["batch"]} if online else {})
    text = f"""using T = __half;
    {constants(**numbers)}{PACK}
    template <int E> __device__ void run({_ARGS}) {{
    constexpr int D = E * 32;
    {query}{_online(knobs) if online else _phases(knobs)}
    }}
    {join if parts > 1 else ""}
    {BOUNDED}({_ARGS}, int dim) {{
    if (dim == 64) run<2>({_NAMES});
    else run<4>({_NAMES});
    }}
    """
    shared = "" if online else ", length * 4"
    lines = [
        "heads, length, dim = k.shape",
        "out = torch.empty_like(q)",
        f"held = torch.empty(heads, {parts}, dim, dtype=torch.float32, device=q.device)",
        f"tops = torch.empty(heads, {parts}, dtype=torch.float32, device=q.device)",
        "sums = torch.empty_like(tops)",
        "args = (q, k, v, out, held, tops, sums, length, PARTS, dim**-0.5, dim)".replace("PARTS", str(parts)),
        f"program.body((heads, {parts}), ({threads},), args{shared})",
    ]
    if parts > 1:
        lines.append(f"program.join((heads,), (dim,), (held, tops, sums, out, {parts}))")
    host = "def kernel(q, k, v):\n" + "".join(f"    {line}\n" for line in lines) + "    return out\n"
    return module(text, host, ("float16",))


TEMPLATES = (
    Template("linear_recurrence", "cuda", _LINEAR, _linear, _linear_valid),
    Template("attention_decode", "cuda", _DECODE, _decode, _decode_valid),
)
