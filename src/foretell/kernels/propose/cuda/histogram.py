"""CUDA template of the histogram: counts in memory, in shared memory, in copies by warp; joined; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, constants, module
from foretell.kernels.propose.template import Knobs, Template

_BINS = 256
_KNOBS = {
    "way": ("global", "shared", "copies", "matched"),
    "threads": (256, 128, 512, 1024),
    "blocks": (264, 132, 528, 2112),
    "vector": (1, 2, 4),
    "unroll": (1, 4),
    "pad": (0, 1),
    "join": ("atomic", "buffer"),
    "slip": ("none", "unzeroed", "barrier", "floor", "unflushed", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, threads, blocks, slip = knobs["way"], knobs["threads"], knobs["blocks"], knobs["slip"]
    if way == "global" and (knobs["join"] == "buffer" or blocks == 528):
        return False
    if knobs["pad"] and (way != "copies" or knobs["vector"] != 4):
        return False
    if way == "matched" and (knobs["join"] == "buffer" or knobs["unroll"] > 1 or blocks in (132, 528)):
        return False
    if knobs["unroll"] > 1 and (threads not in (256, 512) or knobs["vector"] == 2 or blocks != 264):
        return False
    if knobs["vector"] == 2 and (threads != 256 or blocks != 264):
        return False
    if knobs["join"] == "buffer" and (blocks not in (132, 264) or threads == 128):
        return False
    if threads in (128, 1024) and blocks != 264:
        return False
    if slip == "none":
        return True
    sound = threads == 256 and blocks == 264 and knobs["unroll"] == 1 and not knobs["pad"] and knobs["join"] == "atomic"
    if not sound or way == "matched":
        return False
    if slip == "floor":
        return bool(knobs["vector"] == 4)
    if slip == "unzeroed":
        return bool(knobs["vector"] == 1)
    if slip == "misnamed":
        return bool(way == "shared" and knobs["vector"] == 1)
    return bool(way in ("shared", "copies") and knobs["vector"] in (1, 4))


def _walk(knobs: Knobs, one: str) -> str:
    """Visit every value `v` of this thread: packs first, the rest one by one."""
    end = "length" if knobs["slip"] == "misnamed" else "count"
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    start, step = "blockIdx.x * THREADS + threadIdx.x", "gridDim.x * THREADS"
    if knobs["vector"] == 1:
        return f"""{unroll}for (int i = {start}; i < {end}; i += {step}) {{
        const int v = values[i];
        {one}
        }}
        """
    rest = f"""for (int i = count / V * V + {start}; i < count; i += {step}) {{
    const int v = values[i];
    {one}
    }}
    """
    return f"""{unroll}for (int i = {start}; i < count / V; i += {step}) {{
    const Pack<V> p = reinterpret_cast<const Pack<V>*>(values)[i];
    #pragma unroll
    for (int k = 0; k < V; ++k) {{
    const int v = p.v[k];
    {one}
    }}
    }}
    {"" if knobs["slip"] == "floor" else rest}
    """


_MATCHED = """const unsigned here = __activemask();
const unsigned same = __match_any_sync(here, v);
if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&part[v], __popc(same));"""


def _body(knobs: Knobs) -> str:
    way = knobs["way"]
    if way == "global":
        return _walk(knobs, "atomicAdd(counts + v, 1);")
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    flush = (
        "counts[blockIdx.x * 256 + b] = total;"
        if knobs["join"] == "buffer"
        else "if (total) atomicAdd(counts + b, total);"
    )
    if knobs["slip"] == "unflushed":
        flush = "counts[b] = total;"
    if way == "copies":
        return f"""__shared__ int part[THREADS / 32][256 + PAD];
        const int warp = threadIdx.x / 32;
        for (int b = threadIdx.x; b < THREADS / 32 * (256 + PAD); b += THREADS) (&part[0][0])[b] = 0;
        __syncthreads();
        {_walk(knobs, "atomicAdd(&part[warp][v], 1);")}
        {barrier}
        for (int b = threadIdx.x; b < 256; b += THREADS) {{
        int total = 0;
        for (int w = 0; w < THREADS / 32; ++w) total += part[w][b];
        {flush}
        }}
        """
    one = _MATCHED if way == "matched" else "atomicAdd(&part[v], 1);"
    return f"""__shared__ int part[256];
    for (int b = threadIdx.x; b < 256; b += THREADS) part[b] = 0;
    {barrier}
    {_walk(knobs, one)}
    {barrier}
    for (int b = threadIdx.x; b < 256; b += THREADS) {{
    const int total = part[b];
    {flush}
    }}
    """


def _render(knobs: Knobs) -> str:
    threads, vector, blocks = knobs["threads"], knobs["vector"], knobs["blocks"]
    numbers = {"THREADS": threads} | ({"V": vector} if vector > 1 else {})
    numbers |= {"PAD": knobs["pad"]} if knobs["way"] == "copies" else {}
    pack = "template <int W> struct alignas(4 * W) Pack { int v[W]; };\n" if vector > 1 else ""
    text = f"""{constants(**numbers)}{pack}
    {BOUNDED}(const int* __restrict__ values, int* __restrict__ counts, int count) {{
    {_body(knobs)}
    }}
    """
    make = "empty" if knobs["slip"] == "unzeroed" or knobs["join"] == "buffer" else "zeros"
    host = f"""def kernel(values):
    count = values.shape[0]
    counts = torch.{make}({_BINS}, dtype=torch.int32, device=values.device)
"""
    if knobs["join"] == "buffer":
        text += f"""extern "C" __global__ void join(const int* __restrict__ parts, int* __restrict__ counts) {{
        int total = 0;
        for (int p = 0; p < {blocks}; ++p) total += parts[p * 256 + threadIdx.x];
        counts[threadIdx.x] = total;
        }}
        """
        host += f"    parts = torch.empty({blocks}, {_BINS}, dtype=torch.int32, device=values.device)\n"
        host += f"    program.body(({blocks},), ({threads},), (values, parts, count))\n"
        host += f"    program.join((1,), ({_BINS},), (parts, counts))\n"
    else:
        host += f"    program.body(({blocks},), ({threads},), (values, counts, count))\n"
    return module(text, host + "    return counts\n")


TEMPLATES = (Template("histogram", "cuda", _KNOBS, _render, _valid),)
