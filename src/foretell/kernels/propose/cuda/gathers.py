"""CUDA templates of further gathers and scatters: packs of a row by a block, a warp or a thread; and mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

_KNOBS: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp", "flat", "persistent", "thread"),
    "threads": (256, 32, 64, 128, 512),
    "vector": (1, 2, 4, 8),
    "unroll": (1, 4),
    "blocks": (1056, 264),
}


@dataclass(frozen=True)
class RowOp:
    """What makes W items of row `n` from column `i` on: `parts` has its statements by form, for W items.

    `inputs` are (C++ type, name); `wrong` maps slips to what they replace and by what; `rows` and `dim` are the sizes
    of the loop over the output, `more` further integer arguments.
    """

    task: str
    dtype: str
    inputs: tuple[tuple[str, str], ...]
    parts: dict[str, str]
    wrong: dict[str, tuple[str, str]]
    rows: str
    dim: str
    made: str
    more: tuple[tuple[str, str], ...] = ()
    before: str = ""
    helper: str = ""
    staged: str = ""


_LOAD = "const Pack<W> p = *reinterpret_cast<const Pack<W>*>({} + i);\n".format
_EACH = "#pragma unroll\nfor (int k = 0; k < W; ++k) "
_OUT = "*reinterpret_cast<Pack<W>*>(out + (long long)n * dim + i) = q;\n"
_TAKEN = "table + index[n] * dim"
_BAG = f"""float sum[W];
{_EACH}sum[k] = 0.0f;
PRAGMA
for (int b = 0; b < 8; ++b) {{
const Pack<W> p = *reinterpret_cast<const Pack<W>*>(table + PLACE * dim + i);
{_EACH}sum[k] += float(p.v[k]);
}}
Pack<W> q;
{_EACH}q.v[k] = T(sum[k] * 0.125f);
{_OUT}"""
_FIRST = "long long at[8];\n#pragma unroll\nfor (int b = 0; b < 8; ++b) at[b] = index[(long long)n * 8 + b];\n"
_HOT = f"const int at = int(index[n]);\nPack<W> q;\n{{}}{_EACH}q.v[k] = {{}};\n{_OUT}".format
_COPY = """extern "C" __global__ void copy(const float* __restrict__ from, float* __restrict__ to, long long total) {
const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
if (i < total) to[i] = from[i];
}
"""
_ATOMIC = """if (W == 2) atomicAdd(reinterpret_cast<float2*>(to), float2{p.v[0], p.v[1 % W]});
else if (W >= 4) {
#pragma unroll
for (int k = 0; k < W; k += 4)
atomicAdd(reinterpret_cast<float4*>(to + k), float4{p.v[k % W], p.v[(k + 1) % W], p.v[(k + 2) % W], p.v[(k + 3) % W]});
} else atomicAdd(to, p.v[0]);
"""
_TO = "float* to = out + index[n] * dim + i;\n"

_OPS = (
    RowOp(
        "index_select_scaled",
        "bfloat16",
        (("T", "table"), ("long long", "index"), ("T", "scale")),
        {
            "float": f"const float u = scale[n];\n{_LOAD(_TAKEN)}Pack<W> q;\n"
            f"{_EACH}q.v[k] = T(float(p.v[k]) * u);\n{_OUT}",
            "short": f"const T u = scale[n];\n{_LOAD(_TAKEN)}Pack<W> q;\n{_EACH}q.v[k] = __hmul(p.v[k], u);\n{_OUT}",
        },
        {"scale": ("scale[n]", "scale[n / 2]"), "byte": ("index[n] *", "(unsigned char)index[n] *")},
        "index.shape[0]",
        "table.shape[1]",
        "torch.empty(rows, dim, dtype=table.dtype, device=table.device)",
    ),
    RowOp(
        "embedding_bag",
        "float16",
        (("T", "table"), ("long long", "index")),
        {
            "loop": _BAG.replace("PRAGMA", "#pragma unroll 1").replace("PLACE", "index[(long long)n * 8 + b]"),
            "unrolled": _BAG.replace("PRAGMA", "#pragma unroll").replace("PLACE", "index[(long long)n * 8 + b]"),
            "first": _FIRST + _BAG.replace("PRAGMA", "#pragma unroll").replace("PLACE", "at[b]"),
        },
        {
            "short": ("b < 8; ++b) {", "b < 7; ++b) {"),
            "half": ("sum[k] += float(p.v[k])", "sum[k] = float(T(sum[k] + float(p.v[k])))"),
        },
        "index.shape[0]",
        "table.shape[1]",
        "torch.empty(rows, dim, dtype=table.dtype, device=table.device)",
    ),
    RowOp(
        "gather_columns",
        "float32",
        (("T", "x"), ("long long", "index")),
        {
            "direct": f"Pack<W> q;\n{_EACH}q.v[k] = x[(long long)n * cols + index[i + k]];\n{_OUT}",
            "staged": f"Pack<W> q;\n{_EACH}q.v[k] = line[index[i + k]];\n{_OUT}",
        },
        {"pitch": ("n * cols + index", "n * dim + index"), "barrier": ("__syncthreads();", "")},
        "x.shape[0]",
        "index.shape[0]",
        "torch.empty(rows, dim, dtype=x.dtype, device=x.device)",
        more=(("cols", "x.shape[1]"),),
        staged="for (int c = threadIdx.x; c < cols; c += THREADS) line[c] = x[(long long)n * cols + c];",
    ),
    RowOp(
        "one_hot_scaled",
        "float16",
        (("long long", "index"), ("T", "weights")),
        {
            "compare": _HOT(_LOAD("weights"), "i + k == at ? p.v[k] : T(0.0f)"),
            "lookup": _HOT("", "i + k == at ? weights[at] : T(0.0f)"),
            "product": _HOT(_LOAD("weights"), "__hmul(p.v[k], T(i + k == at ? 1.0f : 0.0f))"),
        },
        {"shifted": ("i + k == at", "i + k == at + 1"), "byte": ("int at = int(", "int at = (unsigned char)(")},
        "index.shape[0]",
        "weights.shape[0]",
        "torch.empty(rows, dim, dtype=weights.dtype, device=weights.device)",
    ),
    RowOp(
        "scatter_add_rows",
        "float32",
        (("T", "base"), ("T", "x"), ("long long", "index")),
        {
            "scalar": f"{_LOAD('x + (long long)n * dim')}{_TO}{_EACH}atomicAdd(to + k, p.v[k]);\n",
            "vector": f"{_LOAD('x + (long long)n * dim')}{_TO}{_ATOMIC}",
        },
        {"plain": ("atomicAdd(to + k, p.v[k])", "to[k] += p.v[k]"), "zeros": ("copy((math", "skip((math")},
        "x.shape[0]",
        "x.shape[1]",
        "torch.zeros_like(base)",
        before="program.copy((math.ceil(base.numel() / 256),), (256,), (base, out, base.numel()))",
        helper=_COPY,
    ),
)
_SHARED = ("misnamed", "floor")


def _valid(op: RowOp, knobs: Knobs) -> bool:
    layout, threads, vector, form, slip = (knobs[k] for k in ("layout", "threads", "vector", "form", "slip"))
    forms = tuple(op.parts)
    if form == "staged" and (layout not in ("block", "persistent") or threads == 32):
        return False
    if form == "vector" and vector == 1:
        return False
    if layout != "persistent" and knobs["blocks"] != 1056:
        return False
    if layout == "thread" and (threads > 128 or vector > 4 or form != forms[0] or knobs["unroll"] > 1):
        return False
    if layout in ("flat", "persistent") and (threads in (32, 64) or knobs["unroll"] > 1):
        return False
    if layout == "warp" and threads == 32 and vector == 2:
        return False
    if knobs["unroll"] > 1 and (vector == 2 or threads == 32):
        return False
    if form != forms[0] and (threads in (32, 512) or (len(forms) > 2 and vector == 2)):
        return False
    if slip == "none":
        return True
    if threads not in (128, 256) or vector not in (1, 4) or knobs["unroll"] > 1 or knobs["blocks"] != 1056:
        return False
    if slip == "barrier":
        return bool(form == "staged" and vector == 4)
    if slip == "misnamed":
        return bool(form == forms[0] and layout == "block" and threads == 256)
    return bool(form == forms[0] and layout in ("block", "warp") and threads == 128)


def _run(op: RowOp, knobs: Knobs, call: str) -> str:
    """The loop over the rows and columns of this thread."""
    layout, slip = knobs["layout"], knobs["slip"]
    end = "width" if slip == "misnamed" else "dim"
    unroll = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
    loop = f"{unroll}for (int i = {{0}} * W; i < {end}; i += {{1}} * W) {call}\n".format
    if slip == "floor":
        head = "for (int s = 0; s < dim / ({1} * W); ++s) {{\nconst int i = (s * {1} + {0}) * W;\n"
        loop = f"{head}{call}\n}}}}\n".format
    staged = ""
    if knobs["form"] == "staged":
        staged = f"extern __shared__ T line[];\n{op.staged}\n__syncthreads();\n"
        call = call.replace("n, i)", "n, i, line)")
        loop = f"{unroll}for (int i = {{0}} * W; i < {end}; i += {{1}} * W) {call}\n".format
    if layout == "flat":
        return f"""const long long total = (long long)rows * {end};
        const long long step = (long long)gridDim.x * THREADS * W;
        for (long long e = ((long long)blockIdx.x * THREADS + threadIdx.x) * W; e < total; e += step) {{
        const int n = int(e / dim), i = int(e % dim);
        {call}
        }}
        """
    if layout == "thread":
        return f"const int n = blockIdx.x * THREADS + threadIdx.x;\nif (n >= rows) return;\n{loop('0', '1')}"
    if layout == "warp":
        row = "const int n = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;\nif (n >= rows) return;\n"
        return row + loop("(threadIdx.x % 32)", "32")
    inner = staged + loop("threadIdx.x", "THREADS")
    if layout == "persistent":
        again = "__syncthreads();\n" if staged else ""
        return f"for (int n = blockIdx.x; n < rows; n += gridDim.x) {{\n{inner}{again}}}\n"
    return f"const int n = blockIdx.x;\n{inner}"


def _render(op: RowOp, knobs: Knobs) -> str:
    layout, threads, vector, slip = knobs["layout"], knobs["threads"], knobs["vector"], knobs["slip"]
    names = [name for _, name in op.inputs] + ["out", "rows", "dim"] + [name for name, _ in op.more]
    typed = [f"const {kind}* __restrict__ {name}" for kind, name in op.inputs]
    typed += ["T* __restrict__ out", "int rows", "int dim", *(f"int {name}" for name, _ in op.more)]
    staged = knobs["form"] == "staged"
    call = f"part<W>({', '.join(names)}, n, i);"
    text = f"""using T = {C_TYPES[op.dtype]};
    {constants(THREADS=threads, V=vector)}{PACK}
    template <int W> __device__ void part({", ".join(typed)}, int n, int i{", const T* line" if staged else ""}) {{
    {op.parts[knobs["form"]]}
    }}
    template <int W> __device__ void run({", ".join(typed)}) {{
    {_run(op, knobs, call)}
    }}
    {op.helper}
    {BOUNDED}({", ".join(typed)}) {{
    {"run<1>" if vector == 1 else "if (dim % V == 0) run<V>"}({", ".join(names)});
    {"" if vector == 1 else f"else run<1>({', '.join(names)});"}
    }}
    """
    grid = {
        "block": "rows",
        "warp": f"math.ceil(rows / {threads // 32})",
        "flat": f"math.ceil(rows * dim / {threads * vector})",
        "thread": f"math.ceil(rows / {threads})",
        "persistent": f"min(rows, {knobs['blocks']})",
    }[layout]
    given = ", ".join(name for _, name in op.inputs)
    shared = ", cols * 4" if staged else ""
    lines = [f"rows, dim = {op.rows}, {op.dim}", *(f"{name} = {value}" for name, value in op.more), f"out = {op.made}"]
    lines += [op.before] if op.before and slip != "zeros" else []
    lines.append(f"program.body(({grid},), ({threads},), ({', '.join(names)}){shared})")
    host = f"def kernel({given}):\n" + "".join(f"    {line}\n" for line in lines) + "    return out\n"
    if slip in op.wrong:
        text = text.replace(*op.wrong[slip])
    return module(text, host, (op.dtype,))


def _template(op: RowOp) -> Template:
    knobs = {**_KNOBS, "form": tuple(op.parts), "slip": ("none", *_SHARED, *op.wrong)}
    return Template(op.task, "cuda", knobs, partial(_render, op), partial(_valid, op))


TEMPLATES = tuple(_template(op) for op in _OPS)
