"""CUDA templates of scans along rows: a thread, a warp or a block a row, tiles in shared memory; and mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

_KNOBS: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp", "thread", "tile"),
    "threads": (256, 64, 128, 512, 1024),
    "items": (1, 2, 4, 8),
    "load": ("single", "packs"),
    "scan": ("shuffle", "doubling", "leader"),
    "pad": (0, 1),
    "slip": ("none", "barrier", "carry", "shifted", "large", "misnamed"),
}


@dataclass(frozen=True)
class ScanOp:
    """One scan: what merges two neighbours `a` and `b`, and whether it excludes the item or runs from the end."""

    task: str
    dtype: str
    merge: str
    neutral: str
    exclusive: bool = False
    backward: bool = False
    marked: bool = False


_OPS = (
    ScanOp("exclusive_cumsum", "float32", "a + b", "0.0f", exclusive=True),
    ScanOp("reverse_cumsum", "float32", "a + b", "0.0f", backward=True),
    ScanOp("row_cumprod", "float32", "a * b", "1.0f"),
    ScanOp("row_cummax", "bfloat16", "fmaxf(a, b)", "-3.4e38f"),
    ScanOp("segmented_cumsum", "float32", "", "", marked=True),
    ScanOp("ema_rows", "float32", "", "", marked=True),
)


def _valid(knobs: Knobs) -> bool:
    layout, threads, items, slip = (knobs[k] for k in ("layout", "threads", "items", "slip"))
    shared = layout in ("block", "warp")
    if not shared and (knobs["load"] == "packs" or knobs["scan"] != "shuffle" or slip in ("barrier", "large")):
        return False
    if layout != "tile" and knobs["pad"]:
        return False
    if layout != "block" and slip == "misnamed":
        return False
    if layout == "thread" and (items == 2 or threads > 256 or (slip != "none" and (threads != 64 or items > 1))):
        return False
    if layout == "tile" and (
        items != 1 or threads not in (64, 128) or (slip != "none" and (not knobs["pad"] or threads > 64))
    ):
        return False
    if (knobs["load"] == "packs" and items in (1, 2)) or (items == 8 and threads == 1024):
        return False
    if layout == "warp" and (knobs["scan"] != "shuffle" or threads == 1024):
        return False
    if slip == "none" or not shared:
        return True
    if threads not in (128, 256) or items not in (1, 4) or knobs["load"] == "packs" or knobs["scan"] == "leader":
        return False
    if slip == "barrier":
        return bool(layout == "block" and items == 1)
    if slip in ("misnamed", "large") and items > 1:
        return False
    return bool(knobs["scan"] == "shuffle" and threads == (128 if slip == "shifted" else 256))


def _algebra(op: ScanOp) -> str:
    if op.task == "ema_rows":
        return """struct S { float v; float f; };
        __device__ S none() { return {0.0f, 1.0f}; }
        __device__ S merge(S a, S b) { return {b.v + b.f * a.v, a.f * b.f}; }
        __device__ S up(S v, int d) { return {__shfl_up_sync(~0u, v.v, d), __shfl_up_sync(~0u, v.f, d)}; }
        __device__ S from_lane(S v, int d) { return {__shfl_sync(~0u, v.v, d), __shfl_sync(~0u, v.f, d)}; }
        __device__ float value(S a) { return a.v; }
        """
    if op.marked:
        return """struct S { float v; int f; };
        __device__ S none() { return {0.0f, 0}; }
        __device__ S merge(S a, S b) { return {b.f ? b.v : a.v + b.v, a.f | b.f}; }
        __device__ S up(S v, int d) { return {__shfl_up_sync(~0u, v.v, d), __shfl_up_sync(~0u, v.f, d)}; }
        __device__ S from_lane(S v, int d) { return {__shfl_sync(~0u, v.v, d), __shfl_sync(~0u, v.f, d)}; }
        __device__ float value(S a) { return a.v; }
        """
    return f"""using S = float;
    __device__ S none() {{ return {op.neutral}; }}
    __device__ S merge(S a, S b) {{ return {op.merge}; }}
    __device__ S up(S v, int d) {{ return __shfl_up_sync(~0u, v, d); }}
    __device__ S from_lane(S v, int d) {{ return __shfl_sync(~0u, v, d); }}
    __device__ float value(S a) {{ return a; }}
    """


_WARP_SCAN = """#pragma unroll
for (int d = 1; d < 32; d <<= 1) {
const S other = up(v, d);
if (threadIdx.x % 32 >= d) v = merge(other, v);
}
S left = up(v, 1);
if (threadIdx.x % 32 == 0) left = none();
"""


def _scan(knobs: Knobs) -> str:
    """`scan(v, total)`: what the threads before this one in the group hold together, and all of them in `total`."""
    head = "__device__ S scan(S v, S& total) {\n"
    if knobs["layout"] == "warp":
        return f"{head}{_WARP_SCAN}total = from_lane(v, 31);\nreturn left;\n}}\n"
    mid = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    if knobs["scan"] == "doubling":
        return f"""{head}__shared__ S part[2][THREADS];
        int now = 0;
        part[0][threadIdx.x] = v;
        __syncthreads();
        for (int d = 1; d < THREADS; d <<= 1) {{
        S held = part[now][threadIdx.x];
        if (threadIdx.x >= d) held = merge(part[now][threadIdx.x - d], held);
        part[1 - now][threadIdx.x] = held;
        now = 1 - now;
        {mid}
        }}
        const S left = threadIdx.x > 0 ? part[now][threadIdx.x - 1] : none();
        total = part[now][THREADS - 1];
        __syncthreads();
        return left;
        }}
        """
    if knobs["scan"] == "leader":
        return f"""{head}__shared__ S part[THREADS];
        part[threadIdx.x] = v;
        __syncthreads();
        if (threadIdx.x == 0)
        for (int t = 1; t < THREADS; ++t) part[t] = merge(part[t - 1], part[t]);
        __syncthreads();
        const S left = threadIdx.x > 0 ? part[threadIdx.x - 1] : none();
        total = part[THREADS - 1];
        __syncthreads();
        return left;
        }}
        """
    return f"""{head}__shared__ S part[THREADS / 32];
    {_WARP_SCAN}
    if (threadIdx.x % 32 == 31) part[threadIdx.x / 32] = v;
    {mid}
    S before = none();
    total = none();
    for (int w = 0; w < THREADS / 32; ++w) {{
    if (w == threadIdx.x / 32) before = total;
    total = merge(total, part[w]);
    }}
    __syncthreads();
    return merge(before, left);
    }}
    """


def _item(op: ScanOp, value: str, place: str) -> str:
    if op.task == "ema_rows":
        return f"S{{0.1f * {value}, 0.9f}}"
    return f"S{{{value}, flags[{place}] == 0}}" if op.marked else f"float({value})"


def _excludes(op: ScanOp, knobs: Knobs) -> bool:
    return op.exclusive is not bool(knobs["slip"] == "shifted")


def _serial(op: ScanOp, knobs: Knobs, place: str, source: str, target: str) -> str:
    """Take the item at `place` into the running `held`, and put the result."""
    put = f"{target} = T(value(held));"
    take = f"held = merge(held, {_item(op, source, place)});"
    first, second = (put, take) if _excludes(op, knobs) else (take, put)
    return f"{first}\n{second}"


def _thread(op: ScanOp, knobs: Knobs) -> str:
    unroll = f"#pragma unroll {knobs['items']}\n" if knobs["items"] > 1 else ""
    place = "cols - 1 - j" if op.backward else "j"
    end = {"misnamed": "columns", "carry": "cols / 64 * 64 - 1"}.get(knobs["slip"], "cols")
    return f"""const int row = blockIdx.x * THREADS + threadIdx.x;
    if (row >= rows) return;
    {_rows(op)}S held = none();
    {unroll}for (int j = 0; j < {end}; ++j) {{
    {_serial(op, knobs, place, f"from[{place}]", f"to[{place}]")}
    }}
    """


def _tile(op: ScanOp, knobs: Knobs) -> str:
    """A warp has 32 rows: it reads 32 columns of them along the rows, scans each by one lane, and writes them back."""
    marks = op.marked and op.task != "ema_rows"
    place = "cols - 1 - (start + lane)" if op.backward else "start + lane"
    step = _serial(op, knobs, "0", "held_item", "tile[warp][lane][j]")
    step = step.replace("flags[0] == 0", "marks_tile[warp][lane][j] == 0").replace("held_item", "tile[warp][lane][j]")
    if _excludes(op, knobs):
        lines = step.split("\n")
        step = f"const S item = {lines[1][len('held = merge(held, ') : -2]};\n{lines[0]}\nheld = merge(held, item);"
    end = "columns" if knobs["slip"] == "misnamed" else "cols"
    return f"""__shared__ float tile[THREADS / 32][32][32 + PAD];
    {"__shared__ unsigned char marks_tile[THREADS / 32][32][32 + 4 * PAD];" if marks else ""}
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first = (blockIdx.x * (THREADS / 32) + warp) * 32;
    S held = none();
    for (int start = 0; start < {end}; start += 32) {{
    {"held = none();" if knobs["slip"] == "carry" else ""}
    const int p = {place};
    if (start + lane < cols) {{
    for (int i = 0; i < 32 && first + i < rows; ++i) {{
    tile[warp][i][lane] = float(x[(long long)(first + i) * cols + p]);
    {"marks_tile[warp][i][lane] = marks[(long long)(first + i) * cols + p];" if marks else ""}
    }}
    }}
    __syncwarp();
    const int many = min(32, cols - start);
    for (int j = 0; j < many; ++j) {{
    {step}
    }}
    __syncwarp();
    if (start + lane < cols) {{
    for (int i = 0; i < 32 && first + i < rows; ++i)
    out[(long long)(first + i) * cols + p] = T(tile[warp][i][lane]);
    }}
    __syncwarp();
    }}
    """


def _rows(op: ScanOp) -> str:
    marks = op.marked and op.task != "ema_rows"
    flags = "const unsigned char* flags = marks + (long long)row * cols;\n" if marks else ""
    return f"const T* from = x + (long long)row * cols;\nT* to = out + (long long)row * cols;\n{flags}"


def _shared(op: ScanOp, knobs: Knobs) -> str:
    slip = knobs["slip"]
    row, lane, width = "blockIdx.x", "threadIdx.x", "THREADS"
    if knobs["layout"] == "warp":
        row, lane, width = "blockIdx.x * (THREADS / 32) + threadIdx.x / 32", "threadIdx.x % 32", "32"
    place = "cols - 1 - j - k" if op.backward else "j + k"
    value = "value(k == 0 ? base : merge(base, kept[k - 1]))" if _excludes(op, knobs) else "value(merge(base, kept[k]))"
    load = f"""#pragma unroll
    for (int k = 0; k < ITEMS; ++k) kept[k] = j + k < cols ? {_item(op, f"from[{place}]", place)} : none();
    """
    store = f"#pragma unroll\nfor (int k = 0; k < ITEMS; ++k)\nif (j + k < cols) to[{place}] = T({value});\n"
    if knobs["load"] == "packs":
        spot, turned = ("cols - ITEMS - j", "ITEMS - 1 - k") if op.backward else ("j", "k")
        taken = _item(op, f"p.v[{turned}]", place)
        load = f"""if (cols % ITEMS == 0 && j < cols) {{
        const Pack<ITEMS> p = *reinterpret_cast<const Pack<ITEMS>*>(from + {spot});
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) kept[k] = {taken};
        }} else {{
        {load}
        }}
        """
        store = f"""if (cols % ITEMS == 0 && j < cols) {{
        Pack<ITEMS> q;
        #pragma unroll
        for (int k = 0; k < ITEMS; ++k) q.v[{turned}] = T({value});
        *reinterpret_cast<Pack<ITEMS>*>(to + {spot}) = q;
        }} else {{
        {store}
        }}
        """
    return f"""const int row = {row};
    if (row >= rows) return;
    {_rows(op)}
    S carry = none();
    for (int start = 0; start < {"columns" if slip == "misnamed" else "cols"}; start += {width} * ITEMS) {{
    const int j = start + {lane} * ITEMS;
    S kept[ITEMS];
    {load}
    #pragma unroll
    for (int k = 1; k < ITEMS; ++k) kept[k] = merge(kept[k - 1], kept[k]);
    S total;
    const S base = merge(carry, scan(kept[ITEMS - 1], total));
    {store}
    {"" if slip == "carry" else "carry = merge(carry, total);"}
    }}
    """


def _render(op: ScanOp, knobs: Knobs) -> str:
    layout, threads = knobs["layout"], knobs["threads"]
    shared = layout in ("block", "warp")
    numbers = {"THREADS": threads} | ({"ITEMS": knobs["items"]} if shared else {})
    numbers |= {"PAD": knobs["pad"]} if layout == "tile" else {}
    body = {"thread": _thread, "tile": _tile}.get(layout, _shared)(op, knobs)
    marked = op.marked and op.task != "ema_rows"
    inputs = "const T* __restrict__ x" + (", const unsigned char* __restrict__ marks" if marked else "")
    text = f"""using T = {C_TYPES[op.dtype]};
    {constants(**numbers)}{PACK if knobs["load"] == "packs" else ""}
    {_algebra(op)}
    {_scan(knobs) if shared else ""}
    {BOUNDED}({inputs}, T* __restrict__ out, int rows, int cols) {{
    {body}
    }}
    """
    names = "x, marks" if marked else "x"
    per_block: int = {"warp": threads // 32, "block": 1, "thread": threads, "tile": threads}[layout]
    grid = f"math.ceil(rows / {per_block})" if per_block > 1 else "rows"
    large = ", 262144" if knobs["slip"] == "large" else ""
    host = f"""def kernel({names}):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.body(({grid},), ({threads},), ({names}, out, rows, cols){large})
    return out
"""
    return module(text, host, (op.dtype,))


TEMPLATES = tuple(Template(op.task, "cuda", _KNOBS, partial(_render, op), _valid) for op in _OPS)
