"""CUDA templates of order in rows: networks in shared memory, lists in registers, bisection; and mistakes."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, SUM, constants, fold, module
from foretell.kernels.propose.template import Knobs, Template

_LOWEST = "-3.4e38f"


def row_module(
    knobs: Knobs, dtype: str, out: str, tools: str, body: str, made: str, shared: str = "", **more: int
) -> str:
    """A module with one kernel: GROUP threads have a row, `lane` is the place of a thread among them."""
    threads = knobs["threads"]
    group: int = {"warp": 32, "thread": 1, "block": threads}[knobs["layout"]]
    each = threads // group
    row = "blockIdx.x" if each == 1 else "blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP"
    text = f"""using T = {C_TYPES[dtype]};
    {constants(THREADS=threads, GROUP=group, **more)}{tools}
    {BOUNDED}(const T* __restrict__ x, {out}* __restrict__ out, int rows, int cols) {{
    const int lane = {"threadIdx.x" if each == 1 else "threadIdx.x % GROUP"};
    const int row = {row};
    if (row >= rows) return;
    const T* from = x + (long long)row * cols;
    {body}
    }}
    """
    if knobs["slip"] == "misnamed":
        text = text.replace("< cols", "< columns", 1)
    grid = f"math.ceil(rows / {each})" if each > 1 else "rows"
    size = f", {shared}" if shared else (", 262144" if knobs["slip"] == "large" else "")
    host = f"""def kernel(x):
    rows, cols = x.shape
    out = {made}
    program.body(({grid},), ({threads},), (x, out, rows, cols){size})
    return out
"""
    return module(text, host, (dtype,))


def sync(knobs: Knobs) -> str:
    return "__syncthreads();" if knobs["layout"] == "block" else "__syncwarp();"


def _network(knobs: Knobs, fill: str, load: str = "float(from[i])") -> str:
    """The row, padded to a power of two by `fill`, in ascending order in the shared array `line`."""
    slip = knobs["slip"]
    barrier = "" if slip == "barrier" else "__syncthreads();"
    end = "cols" if slip == "unfilled" else "size"
    swap = "lo > hi" if slip != "direction" else "lo < hi"
    ways = {
        "bitonic": f"""for (int k = 2; k <= size; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {{
        for (int p = threadIdx.x; p < size / 2; p += THREADS) {{
        const int a = 2 * p - (p & (j - 1)), b = a + j;
        const float lo = line[a], hi = line[b];
        if (({swap}) == ((a & k) == 0)) {{ line[a] = hi; line[b] = lo; }}
        }}
        {barrier}
        }}
        """,
        "merge": f"""for (int k = 2; k <= size; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {{
        for (int p = threadIdx.x; p < size / 2; p += THREADS) {{
        const int a = 2 * p - (p & (j - 1));
        const int b = j == k >> 1 ? (a | (k - 1)) - (a & (k - 1)) : a + j;
        const float lo = line[a], hi = line[b];
        if ({swap}) {{ line[a] = hi; line[b] = lo; }}
        }}
        {barrier}
        }}
        """,
        "adjacent": f"""for (int k = 0; k < size; ++k) {{
        for (int p = threadIdx.x; 2 * p + (k & 1) + 1 < size; p += THREADS) {{
        const int a = 2 * p + (k & 1);
        const float lo = line[a], hi = line[a + 1];
        if ({swap}) {{ line[a] = hi; line[a + 1] = lo; }}
        }}
        {barrier}
        }}
        """,
    }
    return f"""extern __shared__ float line[];
    int size = 1;
    while (size < cols) size <<= 1;
    for (int i = threadIdx.x; i < {end}; i += THREADS) line[i] = i < cols ? {load} : {fill};
    __syncthreads();
    {ways[knobs["way"]]}"""


_NETWORK_BYTES = "4 << (cols - 1).bit_length()"

_SORT: dict[str, tuple[Any, ...]] = {
    "layout": ("block",),
    "way": ("bitonic", "merge", "adjacent", "rank", "ranked"),
    "threads": (256, 32, 64, 128, 512, 1024),
    "chunk": (1, 2, 4, 8),
    "store": ("plain", "packs"),
    "slip": ("none", "barrier", "unfilled", "direction", "ties", "misnamed"),
}


def _sort_valid(knobs: Knobs) -> bool:
    way, threads, chunk, slip = knobs["way"], knobs["threads"], knobs["chunk"], knobs["slip"]
    ranked = way in ("rank", "ranked")
    if ranked and (slip not in ("none", "ties", "misnamed") or threads == 32):
        return False
    if not ranked and (chunk in (2, 4) or slip == "ties"):
        return False
    if way == "adjacent" and (threads < 128 or chunk > 1):
        return False
    if knobs["store"] == "packs" and (ranked and chunk > 2):
        return False
    if slip == "none":
        return True
    return bool(threads == (128 if slip == "barrier" else 256) and chunk == 1 and knobs["store"] == "plain")


def _row_sort(knobs: Knobs) -> str:
    way, chunk, packs = knobs["way"], knobs["chunk"], knobs["store"] == "packs"
    to = "T* to = out + (long long)row * cols;"
    if way in ("rank", "ranked"):
        less = "w < v" if knobs["slip"] == "ties" else "w < v || (w == v && d < i)"
        source = "line[d]" if way == "rank" else "from[d]"
        unroll = f"#pragma unroll {chunk}\n" if chunk > 1 else ""
        line = """extern __shared__ float line[];
        for (int i = threadIdx.x; i < cols; i += THREADS) line[i] = from[i];
        __syncthreads();
        """
        put = "to[rank] = v;" if not packs else "sorted[rank] = v;"
        later = ""
        if packs:
            line = line.replace("line[];", "line[];\nfloat* sorted = line + cols;")
            later = "__syncthreads();\nfor (int i = threadIdx.x; i < cols; i += THREADS) to[i] = sorted[i];"
            line = line if way == "rank" else "extern __shared__ float sorted[];\n"
        body = f"""{line if way == "rank" or packs else ""}
        {to}
        for (int i = threadIdx.x; i < cols; i += THREADS) {{
        const float v = {"line[i]" if way == "rank" else "from[i]"};
        int rank = 0;
        {unroll}for (int d = 0; d < cols; ++d) {{
        const float w = {source};
        rank += {less};
        }}
        {put}
        }}
        {later}
        """
        made = "torch.zeros_like(x)" if not packs else "torch.empty_like(x)"
        shared = "cols * 8" if packs and way == "rank" else "cols * 4"
        return row_module(knobs, "float32", "T", "", body, made, shared if way == "rank" or packs else "0")
    body = _network(knobs, "3.4e38f")
    unroll = f"#pragma unroll {chunk}\n" if chunk > 1 else ""
    store = f"{unroll}for (int i = threadIdx.x; i < cols; i += THREADS) to[i] = line[i];"
    if packs:
        four = "reinterpret_cast<float4*>(to)[i] = reinterpret_cast<const float4*>(line)[i];"
        store = f"""if (cols % 4 == 0) {{
        {unroll}for (int i = threadIdx.x; i < cols / 4; i += THREADS) {four}
        }} else {{
        {store}
        }}
        """
    return row_module(knobs, "float32", "T", "", f"{body}{to}\n{store}", "torch.empty_like(x)", _NETWORK_BYTES)


_TOP: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp", "thread"),
    "way": ("lists", "bitonic", "merge", "rounds"),
    "threads": (256, 32, 64, 128, 512, 1024),
    "vector": (1, 2, 4),
    "unroll": (1, 4),
    "insert": ("bubble", "slots"),
    "slip": ("none", "barrier", "unfilled", "short", "misnamed", "large"),
}
_INSERT = {
    "bubble": """__device__ void insert(float (&best)[8], float v) {
    if (v <= best[7]) return;
    best[7] = v;
    #pragma unroll
    for (int k = 7; k > 0; --k) {
    if (best[k] > best[k - 1]) { const float t = best[k]; best[k] = best[k - 1]; best[k - 1] = t; }
    }
    }
    """,
    "slots": """__device__ void insert(float (&best)[8], float v) {
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
    const float high = fmaxf(best[k], v);
    v = fminf(best[k], v);
    best[k] = high;
    }
    }
    """,
}
_POP = """__device__ float pop(float (&best)[8]) {
float top = best[0];
#pragma unroll
for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
const unsigned same = __ballot_sync(~0u, best[0] == top);
if (threadIdx.x % 32 == __ffs(same) - 1) {
#pragma unroll
for (int k = 0; k < 7; ++k) best[k] = best[k + 1];
best[7] = -3.4e38f;
}
return top;
}
"""


def _top_valid(knobs: Knobs) -> bool:
    layout, way, threads, vector, slip = (knobs[k] for k in ("layout", "way", "threads", "vector", "slip"))
    if layout != "block" and way != "lists":
        return False
    if way != "lists" and (vector > 1 or knobs["unroll"] > 1 or knobs["insert"] != "bubble" or threads == 32):
        return False
    if layout == "thread" and (threads > 128 or vector == 2 or knobs["unroll"] > 1):
        return False
    if layout == "block" and threads == 32:
        return False
    if layout == "warp" and threads > 512:
        return False
    if slip == "none":
        return True
    if layout == "thread" or threads not in (128, 256) or knobs["insert"] != "bubble" or knobs["unroll"] > 1:
        return False
    if slip == "barrier":
        return bool(layout == "block" and way in ("lists", "bitonic") and vector == 1)
    if slip == "unfilled":
        return way in ("bitonic", "merge")
    if slip == "short":
        return bool(way in ("lists", "rounds") and vector in (1, 4) and threads == 256)
    return bool(way == "lists" and vector == 4 and threads == 256)


def _row_topk(knobs: Knobs) -> str:
    layout, way, slip, vector = knobs["layout"], knobs["way"], knobs["slip"], knobs["vector"]
    made = "torch.empty(rows, 8, dtype=x.dtype, device=x.device)"
    to = "T* to = out + (long long)row * 8;\n"
    many = 7 if slip == "short" else 8
    if way in ("bitonic", "merge"):
        body = f"{_network(knobs, _LOWEST)}{to}if (threadIdx.x < 8) to[threadIdx.x] = line[size - 1 - threadIdx.x];"
        return row_module(knobs, "float32", "T", "", body, made, _NETWORK_BYTES)
    if way == "rounds":
        body = f"""extern __shared__ float line[];
        __shared__ float tops[THREADS];
        __shared__ int spots[THREADS];
        for (int i = threadIdx.x; i < cols; i += THREADS) line[i] = from[i];
        {to}
        for (int k = 0; k < {many}; ++k) {{
        float top = {_LOWEST};
        int spot = 0;
        for (int i = threadIdx.x; i < cols; i += THREADS)
        if (line[i] > top) {{ top = line[i]; spot = i; }}
        tops[threadIdx.x] = top;
        spots[threadIdx.x] = spot;
        __syncthreads();
        for (int d = THREADS / 2; d > 0; d >>= 1) {{
        if (threadIdx.x < d && tops[threadIdx.x + d] > tops[threadIdx.x]) {{
        tops[threadIdx.x] = tops[threadIdx.x + d];
        spots[threadIdx.x] = spots[threadIdx.x + d];
        }}
        __syncthreads();
        }}
        if (threadIdx.x == 0) {{ to[k] = tops[0]; line[spots[0]] = {_LOWEST}; }}
        __syncthreads();
        }}
        """
        return row_module(knobs, "float32", "T", "", body, made, "cols * 4")
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    single = f"{unroll}for (int i = lane; i < cols; i += GROUP) insert(best, from[i]);\n"
    scan = single
    if vector > 1:
        scan = f"""if (cols % V == 0) {{
        {unroll}for (int i = lane * V; i < cols; i += GROUP * V) {{
        const Pack<V> p = *reinterpret_cast<const Pack<V>*>(from + i);
        #pragma unroll
        for (int k = 0; k < V; ++k) insert(best, p.v[k]);
        }}
        }} else {{
        {single}
        }}
        """
    start = f"float best[8];\n#pragma unroll\nfor (int k = 0; k < 8; ++k) best[k] = {_LOWEST};\n"
    tools = _INSERT[knobs["insert"]] + ("" if layout == "thread" else _POP)
    if layout == "thread":
        end = "#pragma unroll\nfor (int k = 0; k < 8; ++k) to[k] = best[k];"
    elif layout == "warp":
        end = f"for (int k = 0; k < {many}; ++k) {{\nconst float top = pop(best);\nif (lane == 0) to[k] = top;\n}}"
    else:
        end = f"""__shared__ float part[THREADS / 32 * 8];
        for (int k = 0; k < 8; ++k) {{
        const float top = pop(best);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32 * 8 + k] = top;
        }}
        {"" if slip == "barrier" else "__syncthreads();"}
        if (threadIdx.x >= 32) return;
        #pragma unroll
        for (int k = 0; k < 8; ++k) best[k] = {_LOWEST};
        for (int i = threadIdx.x; i < THREADS / 32 * 8; i += 32) insert(best, part[i]);
        for (int k = 0; k < {many}; ++k) {{
        const float top = pop(best);
        if (threadIdx.x == 0) to[k] = top;
        }}"""
    pack = PACK if vector > 1 else ""
    more = {"V": vector} if vector > 1 else {}
    return row_module(knobs, "float32", "T", pack + tools, f"{to}{start}{scan}{end}", made, **more)


_MEDIAN: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp"),
    "way": ("bisect", "counts", "bitonic", "merge"),
    "threads": (256, 32, 64, 128, 512, 1024),
    "keep": ("reread", "registers", "shared"),
    "fold": ("shuffle", "tree", "twice"),
    "pick": ("serial", "scan"),
    "slip": ("none", "barrier", "unfilled", "place", "signs", "bits", "misnamed"),
}
_KEY = """__device__ int key(T v) {
const int b = __half_as_ushort(v);
return TURNED;
}
__device__ T item(int k) { return __ushort_as_half((unsigned short)(k >= 0x8000 ? k - 0x8000 : 0xffff - k)); }
"""


def _median_valid(knobs: Knobs) -> bool:
    layout, way, threads, keep, slip = (knobs[k] for k in ("layout", "way", "threads", "keep", "slip"))
    if layout == "block" and threads == 32:
        return False
    if way in ("bitonic", "merge"):
        if layout == "warp" or keep != "shared" or knobs["fold"] != "shuffle" or knobs["pick"] != "serial":
            return False
    elif way == "counts":
        if knobs["fold"] != "shuffle" or (layout == "warp" and threads > 256):
            return False
    elif knobs["pick"] != "serial" or (knobs["fold"] != "shuffle" and layout == "warp"):
        return False
    if layout == "warp" and (keep == "shared" and threads > 128):
        return False
    if layout == "warp" and threads > 512:
        return False
    if slip == "none":
        return True
    if threads not in (128, 256) or knobs["fold"] != "shuffle" or knobs["pick"] != "serial":
        return False
    network = way in ("bitonic", "merge")
    if slip == "unfilled" or slip == "barrier":
        return bool(network and slip == "unfilled") or bool(way == "counts" and slip == "barrier" and layout == "block")
    if slip in ("signs", "bits") and network:
        return False
    return bool((keep == "reread" or network) and threads == 256 and layout == "block")


def _row_median(knobs: Knobs) -> str:
    layout, way, keep, slip = knobs["layout"], knobs["way"], knobs["keep"], knobs["slip"]
    made = "torch.empty(rows, dtype=x.dtype, device=x.device)"
    middle = "cols / 2" if slip == "place" else "(cols - 1) / 2"
    if way in ("bitonic", "merge"):
        body = f"{_network(knobs, '3.4e38f')}if (threadIdx.x == 0) out[row] = T(line[{middle}]);"
        return row_module(knobs, "float16", "T", "", body, made, _NETWORK_BYTES)
    tools = _KEY.replace("TURNED", "b ^ 0x8000" if slip == "signs" else "b >= 0x8000 ? 0xffff - b : b + 0x8000")
    ready, each, shared = "", "key(from[i])", ""
    if keep == "registers":
        steps = 2048 // (32 if layout == "warp" else knobs["threads"])
        ready = f"""int kept[{steps}];
        #pragma unroll
        for (int s = 0; s < {steps}; ++s) {{
        const int i = s * GROUP + lane;
        kept[s] = i < cols ? key(from[i]) : 0x10000;
        }}
        """
        head = f"#pragma unroll\nfor (int s = 0; s < {steps}; ++s) {{\nconst int u = kept[s];\n"
        each = ""
    elif keep == "shared":
        rows = "all_keys + threadIdx.x / GROUP * cols" if layout == "warp" else "all_keys"
        ready = f"""extern __shared__ unsigned short all_keys[];
        unsigned short* line = {rows};
        for (int i = lane; i < cols; i += GROUP) line[i] = (unsigned short)key(from[i]);
        {sync(knobs)}
        """
        each = "line[i]"
        shared = "cols * 2" + (f" * {knobs['threads'] // 32}" if layout == "warp" else "")
    if each:
        head = f"for (int i = lane; i < cols; i += GROUP) {{\nconst int u = {each};\n"
    if way == "bisect":
        tools += fold(SUM, knobs["fold"], 32 if layout == "warp" else knobs["threads"])
        body = f"""{ready}int found = 0;
        for (int bit = 0x8000; bit > {0x80 if slip == "bits" else 0}; bit >>= 1) {{
        const int trial = found | bit;
        int below = 0;
        {head}
        below += u < trial;
        }}
        if (int(fold_sum(float(below))) <= {middle}) found = trial;
        }}
        if (lane == 0) out[row] = item(found);
        """
        return row_module(knobs, "float16", "T", tools, body, made, shared)
    barrier = "" if slip == "barrier" else sync(knobs)
    hist = "__shared__ int counts[THREADS / GROUP][256];\nint* hist = counts[threadIdx.x / GROUP];\n"
    state = "__shared__ int states[THREADS / GROUP][2];\nint* state = states[threadIdx.x / GROUP];\n"
    serial = """if (lane == 0) {
    int d = 0, rest = left;
    while (d < 255 && rest >= hist[d]) rest -= hist[d++];
    state[0] = d;
    state[1] = rest;
    }
    """
    if knobs["pick"] == "scan":
        serial = """if (lane < 32) {
        int own[8], sum = 0;
        #pragma unroll
        for (int k = 0; k < 8; ++k) { own[k] = hist[lane * 8 + k]; sum += own[k]; }
        int upto = sum;
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
        const int other = __shfl_up_sync(~0u, upto, d);
        if (lane >= d) upto += other;
        }
        int rest = left - (upto - sum);
        if (rest >= 0 && rest < sum) {
        int k = 0;
        while (rest >= own[k]) rest -= own[k++];
        state[0] = lane * 8 + k;
        state[1] = rest;
        }
        }
        """
    count = f"""for (int b = lane; b < 256; b += GROUP) hist[b] = 0;
    {barrier}
    {head}
    TAKE
    }}
    {barrier}
    {serial}
    {sync(knobs)}
    """
    low = "if (u >> 8 == top) atomicAdd(&hist[u & 255], 1);"
    high = "if (u < 0x10000) atomicAdd(&hist[u >> 8], 1);" if keep == "registers" else "atomicAdd(&hist[u >> 8], 1);"
    last = "" if slip == "bits" else " + state[0]"
    body = f"""{ready}{hist}{state}int left = {middle};
    {count.replace("TAKE", high)}
    const int top = state[0];
    left = state[1];
    {sync(knobs)}
    {count.replace("TAKE", low)}
    if (lane == 0) out[row] = item(top * 256{last});
    """
    return row_module(knobs, "float16", "T", tools, body, made, shared)


TEMPLATES = (
    Template("row_sort", "cuda", _SORT, _row_sort, _sort_valid),
    Template("row_topk", "cuda", _TOP, _row_topk, _top_valid),
    Template("row_median", "cuda", _MEDIAN, _row_median, _median_valid),
)
