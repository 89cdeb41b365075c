"""CUDA templates of folds of a whole matrix to one number: how it is walked, how sums are joined; mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, PACK, SUM, constants, fold, module
from foretell.kernels.propose.template import Knobs, Template

_MULTIPROCESSORS = 132
_KNOBS: dict[str, tuple[Any, ...]] = {
    "walk": ("strided", "block", "runs", "apart"),
    "join": ("atomic", "warp", "thread", "parts", "last"),
    "threads": (256, 128, 512, 1024),
    "vector": (1, 2, 4),
    "unroll": (1, 4),
    "programs": (8, 1, 2, 4, 16),
    "fold": ("shuffle", "tree"),
    "slip": ("none", "unfilled", "tail", "narrow", "barrier", "misnamed", "first"),
}


@dataclass(frozen=True)
class _Total:
    """The sum over all elements of `item`, a C++ expression in `v` (and `w` of a second matrix), times `scale`."""

    task: str
    names: tuple[str, ...]
    item: str
    scale: str = ""


def _valid(knobs: Knobs) -> bool:
    walk, join, threads, vector = knobs["walk"], knobs["join"], knobs["threads"], knobs["vector"]
    unroll, programs, slip = knobs["unroll"], knobs["programs"], knobs["slip"]
    if walk == "block" and (programs != 8 or join in ("thread", "warp") or threads == 1024):
        return False
    if walk == "apart" and not (vector == 1 and unroll == 1 and threads in (128, 256) and programs in (4, 8)):
        return False
    if walk == "runs" and not (threads in (256, 512) and programs in (2, 8) and vector in (1, 4) and unroll == 1):
        return False
    if threads * programs > 2048 or (join == "thread" and threads * programs > 1024):
        return False
    if walk == "strided" and programs in (1, 2) and threads < 512:
        return False
    if vector == 2 and not (threads == 256 and unroll == 1 and programs == 8):
        return False
    if unroll == 4 and not (threads in (256, 512) and join in ("atomic", "parts") and vector in (1, 4)):
        return False
    if knobs["fold"] == "tree" and not (threads == 256 and join in ("atomic", "parts") and unroll == 1):
        return False
    if join in ("warp", "thread") and (vector == 2 or walk in ("runs", "apart")):
        return False
    if slip == "none":
        return True
    if walk not in ("strided", "block") or threads != 256 or unroll != 1 or programs != 8 or join in ("warp", "thread"):
        return False
    if slip in ("narrow", "barrier"):
        return bool(vector == 1 and walk == "strided")
    if knobs["fold"] == "tree":
        return False
    if slip == "first":
        return bool(join == "parts" and walk == "block" and vector != 2)
    if slip == "tail":
        return bool(vector == 4)
    return bool(vector == 4 and (slip != "unfilled" or join == "atomic"))


def _walk(knobs: Knobs) -> str:
    """The statements that add this thread's elements to `sum`."""
    walk, unroll = knobs["walk"], knobs["unroll"]
    pragma = f"#pragma unroll {unroll}\n" if unroll > 1 else ""
    if walk == "apart":
        return """const int each = (n + gridDim.x * THREADS - 1) / (gridDim.x * THREADS);
        const int first = (blockIdx.x * THREADS + threadIdx.x) * each;
        for (int i = first; i < first + each && i < n; ++i) sum += item(ITEMS);
        """
    if walk == "runs":
        return """const int each = ((n / V + gridDim.x - 1) / gridDim.x) * V;
        const int first = blockIdx.x * each;
        const int last = min(first + each, n / V * V);
        for (int i = first + threadIdx.x * V; i < last; i += THREADS * V) {
        PACKED
        }
        """
    if walk == "block":
        return f"""#pragma unroll
        for (int u = 0; u < {unroll}; ++u) {{
        const int i = ((blockIdx.x * {unroll} + u) * THREADS + threadIdx.x) * V;
        if (i + V <= n) {{
        PACKED
        }}
        }}
        """
    return f"""const int stride = gridDim.x * THREADS * V;
    {pragma}for (int i = (blockIdx.x * THREADS + threadIdx.x) * V; i + V <= n; i += stride) {{
    PACKED
    }}
    """


def _join(op: _Total, knobs: Knobs) -> str:
    join = knobs["join"]
    if join == "thread":
        return f"atomicAdd(out, sum{op.scale});"
    if join == "warp":
        return f"""#pragma unroll
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (threadIdx.x % 32 == 0) atomicAdd(out, sum{op.scale});"""
    total = "sum = fold_sum(sum);\n"
    if join == "parts":
        return f"{total}if (threadIdx.x == 0) out[blockIdx.x] = sum;"
    if join == "last":
        return f"""{total}__shared__ bool done;
        if (threadIdx.x == 0) {{
        part[blockIdx.x] = sum;
        __threadfence();
        done = atomicAdd(count, 1) == gridDim.x - 1;
        }}
        __syncthreads();
        if (!done) return;
        __threadfence();
        float rest = 0.0f;
        for (int b = threadIdx.x; b < gridDim.x; b += THREADS) rest += __ldcg(part + b);
        rest = fold_sum(rest);
        if (threadIdx.x == 0) *out = rest{op.scale};"""
    return f"{total}if (threadIdx.x == 0) atomicAdd(out, sum{op.scale});"


def _render(op: _Total, knobs: Knobs) -> str:
    join, threads, vector, slip = knobs["join"], knobs["threads"], knobs["vector"], knobs["slip"]
    direct = ", ".join(f"{name}[i]" for name in op.names)
    packs, packed = "", f"sum += item({direct});"
    if vector > 1:
        packs = "".join(
            f"const Pack<V> p_{name} = *reinterpret_cast<const Pack<V>*>({name} + i);\n" for name in op.names
        )
        each = ", ".join(f"p_{name}.v[k]" for name in op.names)
        packed = f"{packs}#pragma unroll\nfor (int k = 0; k < V; ++k) sum += item({each});"
    walked = _walk(knobs).replace("PACKED", packed).replace("ITEMS", direct)
    ends = ", ".join(f"{name}[n - 1 - threadIdx.x]" for name in op.names)
    tail = f"if (blockIdx.x == 0 && threadIdx.x < n % V) sum += item({ends});" if vector > 1 and slip != "tail" else ""
    given = ", ".join(f"float {letter}" for letter, _ in zip("vw", op.names, strict=False))
    text = f"using T = float;\n{constants(THREADS=threads, GROUP=threads, V=vector)}{PACK if vector > 1 else ''}"
    if join not in ("warp", "thread"):
        text += fold(SUM, knobs["fold"], threads, slip)
    text += f"__device__ float item({given}) {{\n{op.item}\n}}\n"
    parameters = [*(f"const float* __restrict__ {name}" for name in op.names), "float* out"]
    parameters += ["float* part", "unsigned* count"] if join == "last" else []
    text += f"""{BOUNDED}({", ".join(parameters)}, int n) {{
    float sum = 0.0f;
    {walked.replace("item(", "element(", 1) if slip == "misnamed" else walked}
    {tail}
    {_join(op, knobs)}
    }}
    """
    return module(text + (_gather(op, slip) if join == "parts" else ""), _host(op, knobs))


def _gather(op: _Total, slip: str) -> str:
    """The second kernel: one block adds the parts."""
    head = 'extern "C" __global__ void __launch_bounds__(1024) gather'
    return f"""{head}(const float* part, float* out, int blocks, int n) {{
    __shared__ float kept[32];
    float sum = 0.0f;
    {
        "if (threadIdx.x < blocks) sum = part[threadIdx.x];"
        if slip == "first"
        else "for (int b = threadIdx.x; b < blocks; b += 1024) sum += part[b];"
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) kept[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = kept[threadIdx.x];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x == 0) *out = sum{op.scale};
    }}
    """


def _host(op: _Total, knobs: Knobs) -> str:
    join, threads, first, names = knobs["join"], knobs["threads"], op.names[0], ", ".join(op.names)
    blocks = f"math.ceil(n / {threads * knobs['vector'] * knobs['unroll']})"
    if knobs["walk"] != "block":
        blocks = f"min({_MULTIPROCESSORS * knobs['programs']}, math.ceil(n / {threads * knobs['vector']}))"
    make = "empty" if join in ("parts", "last") or knobs["slip"] == "unfilled" else "zeros"
    lines = [f"n = {first}.numel()", f"out = torch.{make}((), dtype=torch.float32, device={first}.device)"]
    lines.append(f"blocks = {blocks}")
    if join in ("parts", "last"):
        lines.append(f"part = torch.empty(blocks, dtype=torch.float32, device={first}.device)")
    if join == "last":
        lines.append(f"count = torch.zeros(1, dtype=torch.int32, device={first}.device)")
    passed = {"parts": "part", "last": "out, part, count"}.get(join, "out")
    lines.append(f"program.body((blocks,), ({threads},), ({names}, {passed}, n))")
    if join == "parts":
        lines.append("program.gather((1,), (1024,), (part, out, blocks, n))")
    return f"def kernel({names}):\n" + "".join(f"    {line}\n" for line in [*lines, "return out"])


_SMOOTH = "const float m = fabsf(v - w);\nreturn m < 0.5f ? m * m : m - 0.25f;"


def _template(op: _Total) -> Template:
    return Template(op.task, "cuda", _KNOBS, lambda knobs: _render(op, knobs), _valid)


TEMPLATES = (
    _template(_Total("total_sum", ("x",), "return v;")),
    _template(_Total("smooth_l1_mean", ("a", "b"), _SMOOTH, " / n")),
)
