"""CUDA template of the prefix sum of rows: a thread, a warp or a block a row, ways to scan; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

DTYPE = "float32"
_KNOBS = {
    "layout": ("block", "warp", "thread", "serial"),
    "threads": (256, 64, 128, 512, 1024),
    "items": (1, 2, 4, 8),
    "load": ("single", "packs"),
    "scan": ("shuffle", "doubling", "leader"),
    "slip": ("none", "barrier", "carry", "exclusive", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    layout, threads, items, slip = knobs["layout"], knobs["threads"], knobs["items"], knobs["slip"]
    if layout in ("thread", "serial"):
        plain = knobs["load"] == "single" and knobs["scan"] == "shuffle" and slip in ("none", "exclusive")
        if layout == "thread":
            return bool(plain and items in (1, 4) and threads in (64, 128, 256) and (slip == "none" or threads == 64))
        return bool(plain and items == 1 and threads in (128, 256) and slip == "none")
    if (knobs["load"] == "packs" and items in (1, 2)) or (items == 8 and threads == 1024):
        return False
    if layout == "warp" and (knobs["scan"] != "shuffle" or threads == 1024):
        return False
    if slip == "none":
        return True
    if threads not in (128, 256) or items not in (1, 4) or knobs["load"] == "packs" or knobs["scan"] == "leader":
        return False
    if slip == "barrier":
        return bool(layout == "block" and items == 1)
    if slip == "misnamed":
        return bool(threads == 256 and knobs["scan"] == "shuffle" and items == 1)
    return bool(knobs["scan"] == "shuffle" and threads == 256)


_WARP_SCAN = """#pragma unroll
for (int d = 1; d < 32; d <<= 1) {
const float other = __shfl_up_sync(0xffffffffu, v, d);
if (threadIdx.x % 32 >= d) v += other;
}
"""


def _scan(knobs: Knobs) -> str:
    """`scan(v, total)`: the sum of `v` of this thread and those before it in the group, and of all in `total`."""
    head = "__device__ float scan(float v, float& total) {\n"
    if knobs["layout"] == "warp":
        return f"{head}{_WARP_SCAN}total = __shfl_sync(0xffffffffu, v, 31);\nreturn v;\n}}\n"
    mid = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    if knobs["scan"] == "doubling":
        return f"""{head}__shared__ float part[2][THREADS];
        int now = 0;
        part[0][threadIdx.x] = v;
        __syncthreads();
        for (int d = 1; d < THREADS; d <<= 1) {{
        part[1 - now][threadIdx.x] = part[now][threadIdx.x] + (threadIdx.x >= d ? part[now][threadIdx.x - d] : 0.0f);
        now = 1 - now;
        {mid}
        }}
        v = part[now][threadIdx.x];
        total = part[now][THREADS - 1];
        __syncthreads();
        return v;
        }}
        """
    if knobs["scan"] == "leader":
        return f"""{head}__shared__ float part[THREADS];
        part[threadIdx.x] = v;
        __syncthreads();
        if (threadIdx.x == 0)
        for (int t = 1; t < THREADS; ++t) part[t] += part[t - 1];
        __syncthreads();
        v = part[threadIdx.x];
        total = part[THREADS - 1];
        __syncthreads();
        return v;
        }}
        """
    return f"""{head}__shared__ float part[THREADS / 32];
    {_WARP_SCAN}
    if (threadIdx.x % 32 == 31) part[threadIdx.x / 32] = v;
    {mid}
    float before = 0.0f;
    total = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) {{
    if (w == threadIdx.x / 32) before = total;
    total += part[w];
    }}
    __syncthreads();
    return v + before;
    }}
    """


def _body(knobs: Knobs) -> str:
    layout, items, slip = knobs["layout"], knobs["items"], knobs["slip"]
    if layout in ("thread", "serial"):
        unroll = f"#pragma unroll {items}\n" if items > 1 else ""
        add = "sum += float(from[j]);\nto[j] = T(sum);"
        if slip == "exclusive":
            add = "to[j] = T(sum);\nsum += float(from[j]);"
        row = "blockIdx.x * THREADS + threadIdx.x" if layout == "thread" else "blockIdx.x"
        loop = f"{unroll}for (int j = 0; j < cols; ++j) {{\n{add}\n}}\n"
        if layout == "serial":
            loop = """for (int j = threadIdx.x; j < cols; j += THREADS) {
            float sum = 0.0f;
            for (int i = 0; i <= j; ++i) sum += float(from[i]);
            to[j] = T(sum);
            }
            """
        start = "" if layout == "serial" else "float sum = 0.0f;\n"
        return f"const int row = {row};\nif (row >= rows) return;\n{_ROWS}{start}{loop}"
    row, lane, width = "blockIdx.x", "threadIdx.x", "THREADS"
    if layout == "warp":
        row, lane, width = "blockIdx.x * (THREADS / 32) + threadIdx.x / 32", "threadIdx.x % 32", "32"
    single = """#pragma unroll
    for (int k = 0; k < ITEMS; ++k) kept[k] = j + k < cols ? float(from[j + k]) : 0.0f;
    """
    store = "#pragma unroll\nfor (int k = 0; k < ITEMS; ++k)\nif (j + k < cols) to[j + k] = T(before + kept[k]);\n"
    load = single
    if knobs["load"] == "packs":
        load = f"""if (cols % ITEMS == 0 && j < cols) {{
        const Pack<ITEMS> p = *reinterpret_cast<const Pack<ITEMS>*>(from + j);
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) kept[k] = p.v[k];
        }} else {{
        {single}
        }}
        """
        store = f"""if (cols % ITEMS == 0 && j < cols) {{
        Pack<ITEMS> q;
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) q.v[k] = T(before + kept[k]);
        *reinterpret_cast<Pack<ITEMS>*>(to + j) = q;
        }} else {{
        {store}
        }}
        """
    before = "carry + upto" if slip == "exclusive" and items > 1 else "carry + upto - kept[ITEMS - 1]"
    if slip == "exclusive" and items == 1:
        before = "carry + upto - 2.0f * kept[ITEMS - 1]"
    return f"""const int row = {row};
    if (row >= rows) return;
    {_ROWS}
    float carry = 0.0f;
    for (int start = 0; start < {"columns" if slip == "misnamed" else "cols"}; start += {width} * ITEMS) {{
    const int j = start + {lane} * ITEMS;
    float kept[ITEMS];
    {load}
    #pragma unroll
    for (int k = 1; k < ITEMS; ++k) kept[k] += kept[k - 1];
    float total;
    const float upto = scan(kept[ITEMS - 1], total);
    const float before = {before};
    {store}
    {"" if slip == "carry" else "carry += total;"}
    }}
    """


_ROWS = "const T* from = x + (long long)row * cols;\nT* to = out + (long long)row * cols;\n"


def _render(knobs: Knobs) -> str:
    layout, threads = knobs["layout"], knobs["threads"]
    shared = layout in ("block", "warp")
    numbers = {"THREADS": threads} | ({"ITEMS": knobs["items"]} if shared else {})
    text = f"""using T = {C_TYPES[DTYPE]};
    {constants(**numbers)}{PACK if knobs["load"] == "packs" else ""}
    {_scan(knobs) if shared else ""}
    {BOUNDED}(const T* __restrict__ x, T* __restrict__ out, int rows, int cols) {{
    {_body(knobs)}
    }}
    """
    per_block = {"warp": threads // 32, "thread": threads}.get(layout, 1)
    grid = f"math.ceil(rows / {per_block})" if per_block > 1 else "rows"
    host = f"""def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.body(({grid},), ({threads},), (x, out, rows, cols))
    return out
"""
    return module(text, host, (DTYPE,))


TEMPLATES = (Template("prefix_sum", "cuda", _KNOBS, _render, _valid),)
