"""CUDA template of counts within rows: shared, private or global counters, matched lanes; and mistakes."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.cuda.fragments import PACK
from foretell.kernels.propose.cuda.sorting import row_module, sync
from foretell.kernels.propose.template import Knobs, Template

_KNOBS: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp"),
    "way": ("shared", "global", "copies", "matched", "lanes"),
    "threads": (256, 64, 128, 512, 1024),
    "vector": (1, 2, 4),
    "unroll": (1, 4),
    "pad": (0, 1),
    "slip": ("none", "barrier", "unzeroed", "bins", "stored", "misnamed", "large"),
}


def _valid(knobs: Knobs) -> bool:
    layout, way, threads, vector, slip = (knobs[k] for k in ("layout", "way", "threads", "vector", "slip"))
    if layout == "warp" and (way in ("copies", "lanes") or threads > 512):
        return False
    if knobs["pad"] and way not in ("copies", "lanes"):
        return False
    if way == "lanes" and threads > 256:
        return False
    if way == "matched" and (knobs["unroll"] > 1 or vector == 2):
        return False
    if knobs["unroll"] > 1 and (threads in (64, 1024) or way == "copies"):
        return False
    if slip == "none":
        return True
    if threads not in (128, 256) or vector == 2 or knobs["unroll"] > 1 or knobs["pad"] or way in ("matched", "lanes"):
        return False
    if slip in ("misnamed", "large"):
        return bool(way == "shared" and threads == 256 and vector == 1)
    if slip == "unzeroed":
        return bool(vector == 1 and threads == 128)
    if slip == "bins":
        return bool(layout == "block" and threads == 128)
    return bool(way in ("shared", "copies") and layout == "block" and (threads == 256 or vector == 1))


def _bincount(knobs: Knobs) -> str:
    way, vector, slip = knobs["way"], knobs["vector"], knobs["slip"]
    bin_ = "v >> 1" if slip == "bins" else "v"
    one = {
        "global": f"atomicAdd(to + ({bin_}), 1);",
        "shared": f"atomicAdd(&hist[{bin_}], 1);",
        "copies": f"atomicAdd(&counts[threadIdx.x / 32][{bin_}], 1);",
        "matched": """const unsigned here = __activemask();
        const unsigned same = __match_any_sync(here, v);
        if (__ffs(same) - 1 == threadIdx.x % 32) atomicAdd(&hist[v], __popc(same));""",
        "lanes": "++counts[v][threadIdx.x];",
    }[way]
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    walk = f"{unroll}for (int i = lane; i < cols; i += GROUP) {{\nconst int v = from[i];\n{one}\n}}\n"
    if vector > 1:
        walk = f"""if (cols % V == 0) {{
        {unroll}for (int i = lane * V; i < cols; i += GROUP * V) {{
        const Pack<V> p = *reinterpret_cast<const Pack<V>*>(from + i);
        #pragma unroll
        for (int k = 0; k < V; ++k) {{
        const int v = p.v[k];
        {one}
        }}
        }}
        }} else {{
        {walk}
        }}
        """
    barrier = "" if slip == "barrier" else sync(knobs)
    to = "int* to = out + (long long)row * 64;\n"
    put = "to[0] = {};" if slip == "stored" else "to[b] = {};"
    more = ({"V": vector} if vector > 1 else {}) | ({"PAD": knobs["pad"]} if way in ("copies", "lanes") else {})
    made = "torch.empty(rows, 64, dtype=torch.int32, device=x.device)"
    if way == "global":
        body = walk
        made = made if slip == "unzeroed" else made.replace("empty", "zeros")
    elif way in ("copies", "lanes"):
        shape = "[THREADS / 32][64 + PAD]" if way == "copies" else "[64][THREADS + 4 * PAD]"
        kind, items = (
            ("int", "THREADS / 32 * (64 + PAD)") if way == "copies" else ("unsigned char", "64 * (THREADS + 4 * PAD)")
        )
        many, held = ("THREADS / 32", "counts[w][b]") if way == "copies" else ("THREADS", "counts[b][w]")
        zero = f"for (int i = threadIdx.x; i < {items}; i += THREADS) (&counts[0][0])[i] = 0;\n__syncthreads();\n"
        body = f"""__shared__ {kind} counts{shape};
        {"" if slip == "unzeroed" else zero}
        {walk}
        {barrier}
        for (int b = threadIdx.x; b < 64; b += THREADS) {{
        int total = 0;
        for (int w = 0; w < {many}; ++w) total += {held};
        {put.format("total")}
        }}
        """
    else:
        zero = f"for (int b = lane; b < 64; b += GROUP) hist[b] = 0;\n{sync(knobs)}\n"
        body = f"""__shared__ int counts[THREADS / GROUP][64];
        int* hist = counts[threadIdx.x / GROUP];
        {"" if slip == "unzeroed" else zero}
        {walk}
        {barrier}
        for (int b = lane; b < 64; b += GROUP) {put.format("hist[b]")}
        """
    return row_module(knobs, "int32", "int", PACK if vector > 1 else "", to + body, made, **more)


TEMPLATES = (Template("bincount_rows", "cuda", _KNOBS, _bincount, _valid),)
