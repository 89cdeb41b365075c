"""CUDA template of the embedding: an item, a warp or a block a row of the table, packs, several rows; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

DTYPE = "float16"
INDEX = "int64"
RESIDENT_BLOCKS = 1056
_KNOBS = {
    "layout": ("block", "warp", "flat", "thread", "persistent"),
    "threads": (128, 64, 256, 512, 32),
    "vector": (1, 2, 4, 8),
    "index": ("each", "shared", "shuffled"),
    "unroll": (1, 2, 4),
    "slip": ("none", "floor", "barrier", "narrow", "shifted", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    layout, threads, vector, slip = knobs["layout"], knobs["threads"], knobs["vector"], knobs["slip"]
    if knobs["index"] == "shared" and (layout != "block" or vector == 2 or threads == 32):
        return False
    if knobs["index"] == "shuffled" and (layout != "warp" or vector == 2):
        return False
    if layout == "thread" and (vector > 4 or threads == 512 or knobs["unroll"] > 1):
        return False
    if layout in ("flat", "persistent") and (threads == 32 or (knobs["unroll"] > 1 and layout == "flat")):
        return False
    if knobs["unroll"] > 1 and (knobs["index"] != "each" or threads not in (128, 256) or vector == 2):
        return False
    if knobs["unroll"] == 2 and layout != "block":
        return False
    if slip == "none":
        return True
    if threads != 128 or knobs["unroll"] > 1 or vector not in (1, 8):
        return False
    if slip == "barrier":
        return bool(knobs["index"] == "shared")
    if slip == "floor":
        return bool(vector == 8 and layout in ("block", "warp") and knobs["index"] == "each")
    return bool(knobs["index"] == "each" and layout in ("block", "warp") and vector == 8)


def _copy(knobs: Knobs, start: str, step: str) -> str:
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    end = "width" if knobs["slip"] == "misnamed" else "dim"
    single = f"for (int i = {start}; i < {end}; i += {step}) to[i] = from[i];\n"
    if knobs["vector"] == 1:
        return unroll + single
    if knobs["slip"] == "floor":
        head = f"for (int s = 0; s < dim / ({step} * V); ++s) {{\nconst int i = (s * {step} + {start}) * V;\n"
    else:
        head = f"{unroll}for (int i = {start} * V; i < {end}; i += {step} * V) {{\n"
    packs = f"{head}*reinterpret_cast<Pack<V>*>(to + i) = *reinterpret_cast<const Pack<V>*>(from + i);\n}}\n"
    return f"if (dim % V == 0) {{\n{packs}}} else {{\n{single}}}\n"


def _body(knobs: Knobs) -> str:
    layout, slip = knobs["layout"], knobs["slip"]
    kind = {"narrow": "unsigned char"}.get(slip, "long long")
    place = "index[n] + 1 < vocab ? index[n] + 1 : 0" if slip == "shifted" else "index[n]"
    rows = (
        f"const {kind} at = {place};\nconst T* from = table + (long long)at * dim;\nT* to = out + (long long)n * dim;\n"
    )
    if layout == "flat":
        width = " * V" if knobs["vector"] > 1 else ""
        put = "out[i] = table[index[i / dim] * dim + i % dim];"
        if not width:
            inner = f"if (i < (long long)count * dim) {put}\n"
        else:
            packed = "*reinterpret_cast<Pack<V>*>(out + i) = "
            packed += "*reinterpret_cast<const Pack<V>*>(table + index[i / dim] * dim + i % dim);"
            inner = f"""const long long total = (long long)count * dim;
            if (dim % V == 0) {{
            if (i < total) {packed}
            }} else {{
            const long long end = min(i + V, total);
            for (; i < end; ++i) {put}
            }}
            """
        return f"long long i = ((long long)blockIdx.x * THREADS + threadIdx.x){width};\n{inner}"
    if layout == "thread":
        place = "const int n = blockIdx.x * THREADS + threadIdx.x;\nif (n >= count) return;\n"
        return place + rows + _copy(knobs, "0", "1")
    if layout == "persistent":
        inner = rows + _copy(knobs, "threadIdx.x", "THREADS")
        return f"for (int n = blockIdx.x; n < count; n += gridDim.x) {{\n{inner}}}\n"
    if layout == "warp":
        lane = "const int lane = threadIdx.x % 32;\nconst int n = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;\n"
        if knobs["index"] == "shuffled":
            rows = rows.replace("= index[n];", "= __shfl_sync(0xffffffffu, lane == 0 ? index[n] : 0ll, 0);")
        return f"{lane}if (n >= count) return;\n{rows}{_copy(knobs, 'lane', '32')}"
    if knobs["index"] == "shared":
        barrier = "" if slip == "barrier" else "__syncthreads();"
        read = f"__shared__ long long found;\nif (threadIdx.x == THREADS - 1) found = index[n];\n{barrier}\n"
        rows = read + rows.replace("= index[n];", "= found;")
    return f"const int n = blockIdx.x;\n{rows}{_copy(knobs, 'threadIdx.x', 'THREADS')}"


def _render(knobs: Knobs) -> str:
    layout, threads, vector = knobs["layout"], knobs["threads"], knobs["vector"]
    numbers = {"THREADS": threads} | ({"V": vector} if vector > 1 else {})
    inputs = f"const T* __restrict__ table, const {C_TYPES[INDEX]}* __restrict__ index"
    text = f"""using T = {C_TYPES[DTYPE]};
    {constants(**numbers)}{PACK if vector > 1 else ""}
    {BOUNDED}({inputs}, T* __restrict__ out, int vocab, int dim, int count) {{
    {_body(knobs)}
    }}
    """
    grid = {
        "block": "count",
        "warp": f"math.ceil(count / {threads // 32})",
        "flat": f"math.ceil(count * dim / {threads * vector})",
        "thread": f"math.ceil(count / {threads})",
        "persistent": f"min(count, {RESIDENT_BLOCKS})",
    }[layout]
    host = f"""def kernel(table, index):
    vocab, dim = table.shape
    count = index.shape[0]
    out = torch.empty(count, dim, dtype=table.dtype, device=table.device)
    program.body(({grid},), ({threads},), (table, index, out, vocab, dim, count))
    return out
"""
    return module(text, host, (DTYPE,))


TEMPLATES = (Template("embedding", "cuda", _KNOBS, _render, _valid),)
