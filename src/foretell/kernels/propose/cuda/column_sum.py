"""CUDA template of sums along columns: a thread a column, rows split over blocks, partial sums; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

DTYPE = "float32"
_KNOBS = {
    "way": ("thread", "tile"),
    "parts": (1, 8, 32, 128),
    "join": ("whole", "atomic", "buffer"),
    "threads": (256, 64, 128, 512),
    "vector": (1, 2, 4),
    "unroll": (1, 4, 8),
    "slip": ("none", "unzeroed", "floor", "barrier", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, parts, join, slip = knobs["way"], knobs["parts"], knobs["join"], knobs["slip"]
    if (parts == 1) != (join == "whole"):
        return False
    if knobs["threads"] == 64 and (way == "tile" or parts == 8):
        return False
    if knobs["unroll"] > 1 and (knobs["threads"] not in (128, 256) or parts == 8):
        return False
    if knobs["unroll"] == 4 and knobs["vector"] != 4:
        return False
    if knobs["vector"] == 2 and (parts == 8 or knobs["threads"] != 256 or way == "tile"):
        return False
    if knobs["threads"] == 512 and parts in (8, 128):
        return False
    if slip == "none":
        return True
    if knobs["threads"] != 256 or knobs["unroll"] > 1 or knobs["vector"] != 1:
        return False
    if slip == "unzeroed":
        return bool(join == "atomic" and parts in (32, 128))
    if slip == "floor":
        return bool(parts == 128 and join != "whole")
    if slip == "barrier":
        return bool(way == "tile" and parts in (1, 32))
    return bool(way == "thread" and parts in (1, 32))


def _store(knobs: Knobs, column: str, value: str) -> str:
    if knobs["join"] == "atomic":
        return f"atomicAdd(out + {column}, {value});"
    if knobs["join"] == "buffer":
        return f"out[(long long)blockIdx.y * cols + {column}] = {value};"
    return f"out[{column}] = {value};"


def _span(knobs: Knobs, rows_step: str, first: str) -> str:
    """The loop over this thread's rows into `sum`."""
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    loop = f"for (int r = {first}; r < last; r += {rows_step})"
    if knobs["vector"] == 1:
        return f"float sum = 0.0f;\n{unroll}{loop} sum += float(x[(long long)r * cols + c]);\n"
    return f"""float sum[V] = {{}};
    if (cols % V == 0) {{
    {unroll}{loop} {{
    const Pack<V> p = *reinterpret_cast<const Pack<V>*>(x + (long long)r * cols + c);
    #pragma unroll
    for (int k = 0; k < V; ++k) sum[k] += float(p.v[k]);
    }}
    }} else {{
    {loop}
    for (int k = 0; k < V && c + k < cols; ++k) sum[k] += float(x[(long long)r * cols + c + k]);
    }}
    """


def _body(knobs: Knobs) -> str:
    packed = knobs["vector"] > 1
    whole = "rows / gridDim.y" if knobs["slip"] == "floor" else "(rows + gridDim.y - 1) / gridDim.y"
    rows = f"""const int each = {whole};
    const int first = blockIdx.y * each;
    const int last = min(first + each, {"row_count" if knobs["slip"] == "misnamed" else "rows"});
    """
    if knobs["parts"] == 1:
        rows = f"const int first = 0;\nconst int last = {'row_count' if knobs['slip'] == 'misnamed' else 'rows'};\n"
    if knobs["way"] == "thread":
        at = "(blockIdx.x * THREADS + threadIdx.x) * V" if packed else "blockIdx.x * THREADS + threadIdx.x"
        store = _store(knobs, "c", "sum")
        if packed:
            store = f"for (int k = 0; k < V && c + k < cols; ++k) {_store(knobs, 'c + k', 'sum[k]')}"
        return f"const int c = {at};\nif (c >= cols) return;\n{rows}{_span(knobs, '1', 'first')}{store}\n"
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    width = "V" if packed else "1"
    keep = "for (int k = 0; k < V; ++k) part[y][lane * V + k] = sum[k];" if packed else "part[y][lane] = sum;"
    return f"""__shared__ float part[DEEP][32 * {width}];
    const int lane = threadIdx.x % 32;
    const int y = threadIdx.x / 32;
    const int c = (blockIdx.x * 32 + lane) * {width};
    {rows}
    if (c < cols) {{
    {_span(knobs, "DEEP", "first + y")}
    {keep}
    }}
    {barrier}
    for (int i = threadIdx.x; i < 32 * {width}; i += THREADS) {{
    const int column = blockIdx.x * 32 * {width} + i;
    if (column < cols) {{
    float total = 0.0f;
    for (int d = 0; d < DEEP; ++d) total += part[d][i];
    {_store(knobs, "column", "total")}
    }}
    }}
    """


def _render(knobs: Knobs) -> str:
    threads, vector, parts, join = knobs["threads"], knobs["vector"], knobs["parts"], knobs["join"]
    numbers = {"THREADS": threads} | ({"V": vector} if vector > 1 else {})
    numbers |= {"DEEP": threads // 32} if knobs["way"] == "tile" else {}
    text = f"using T = {C_TYPES[DTYPE]};\n{constants(**numbers)}{PACK if vector > 1 else ''}"
    text += f"""{BOUNDED}(const T* __restrict__ x, float* __restrict__ out, int rows, int cols) {{
    {_body(knobs)}
    }}
    """
    if join == "buffer":
        text += f"""extern "C" __global__ void join(const float* part, float* out, int cols) {{
        const int c = blockIdx.x * blockDim.x + threadIdx.x;
        if (c >= cols) return;
        float sum = 0.0f;
        #pragma unroll 4
        for (int p = 0; p < {parts}; ++p) sum += part[(long long)p * cols + c];
        out[c] = sum;
        }}
        """
    columns = (threads if knobs["way"] == "thread" else 32) * vector
    make = "zeros" if join == "atomic" and knobs["slip"] != "unzeroed" else "empty"
    host = f"""def kernel(x):
    rows, cols = x.shape
    out = torch.{make}(cols, dtype=torch.float32, device=x.device)
"""
    launch = f"(math.ceil(cols / {columns}), {parts})" if parts > 1 else f"(math.ceil(cols / {columns}),)"
    if join == "buffer":
        host += f"    part = torch.empty({parts}, cols, dtype=torch.float32, device=x.device)\n"
        host += f"    program.body({launch}, ({threads},), (x, part, rows, cols))\n"
        host += "    program.join((math.ceil(cols / 128),), (128,), (part, out, cols))\n"
    else:
        host += f"    program.body({launch}, ({threads},), (x, out, rows, cols))\n"
    return module(text, host + "    return out\n", (DTYPE,))


COLUMN_SUM = Template("column_sum", "cuda", _KNOBS, _render, _valid)
