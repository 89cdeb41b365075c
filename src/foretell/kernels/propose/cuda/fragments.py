"""Pieces that CUDA templates share: the module around a program, packs of items, folds over a group of threads."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
C_TYPES = {
    "float32": "float",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "int64": "long long",
    "int32": "int",
    "uint8": "unsigned char",
}
_HEADERS = {"float16": "#include <cuda_fp16.h>\n", "bfloat16": "#include <cuda_bf16.h>\n"}


def tidy(text: str) -> str:
    """C++ text indented by its braces, without empty lines."""
    depth = 0
    lines = []
    for line in (raw.strip() for raw in text.splitlines()):
        if not line:
            continue
        closing = len(line) - len(line.lstrip("}"))
        margin = "" if line.startswith(("#define", "#include")) else "    " * max(0, depth - closing)
        lines.append(margin + line)
        depth += line.count("{") - line.count("}")
    return "\n".join(lines) + "\n"


def module(cuda: str, host: str, dtypes: tuple[str, ...] = ()) -> str:
    """A candidate: the CUDA text compiled on import, and the function `kernel` that launches it."""
    headers = "".join(_HEADERS[dtype] for dtype in dict.fromkeys(dtypes) if dtype in _HEADERS)
    imports = ("import math\n\n" if "math." in host else "") + "import torch\n\nfrom foretell.cuda import compile\n"
    return f'{imports}\nprogram = compile(r"""\n{headers}{tidy(cuda)}""")\n\n\n{host.strip()}\n'


def constants(**values: int) -> str:
    """`constexpr int` lines."""
    return "".join(f"constexpr int {name} = {value};\n" for name, value in values.items())


# The head of the function that most candidates launch, up to its parameters.
BOUNDED = 'extern "C" __global__ void __launch_bounds__(THREADS) body'
PACK = "template <int W> struct alignas(sizeof(T) * W) Pack { T v[W]; };\n"


@dataclass(frozen=True)
class Fold:
    """A reduction over the threads that share a row, as a device function `name(v)` that returns it to all of them.

    `merge` is the statement that folds `other` into `v`; `atomic` adds `v` to the shared variable `all`, and `decode`
    reads it back.
    """

    name: str
    scalar: str
    start: str
    merge: str
    atomic: str = ""
    encoded: str = "float"
    encoded_start: str = "0"
    decode: str = "v = all;"


SUM = Fold("fold_sum", "float", "0.0f", "v += other;", "atomicAdd(&all, v);")
MAX = Fold(
    "fold_max",
    "float",
    "-3.4e38f",
    "v = fmaxf(v, other);",
    "int key = __float_as_int(v); atomicMax(&all, key >= 0 ? key : key ^ 0x7fffffff);",
    "int",
    "-2147483647 - 1",
    "v = __int_as_float(all >= 0 ? all : all ^ 0x7fffffff);",
)


def _shuffles(fold: Fold, width: str) -> str:
    return f"""#pragma unroll
    for (int d = {width}; d > 0; d >>= 1) {{
    const {fold.scalar} other = __shfl_xor_sync(0xffffffffu, v, d);
    {fold.merge}
    }}"""


def fold(fold: Fold, way: str, group: int, slip: str = "none") -> str:
    """The device function of a fold over `group` threads: the constants THREADS and GROUP must be there.

    `way` is shuffle, twice, tree or atomic; a group within a warp always shuffles. A `slip` leaves out a barrier
    (`barrier`, `reuse`) or the widest step (`narrow`).
    """
    first = "" if slip == "barrier" else "__syncthreads();"
    last = "" if slip == "reuse" else "__syncthreads();"
    if group <= WARP:
        body = _shuffles(fold, "GROUP / 4" if slip == "narrow" else "GROUP / 2") if group > 1 else ""
    elif way == "tree":
        body = f"""__shared__ {fold.scalar} part[THREADS];
        part[threadIdx.x] = v;
        __syncthreads();
        for (int d = THREADS / {4 if slip == "narrow" else 2}; d > 0; d >>= 1) {{
        if (threadIdx.x < d) {{
        const {fold.scalar} other = part[threadIdx.x + d];
        {fold.merge}
        part[threadIdx.x] = v;
        }}
        {first}
        }}
        v = part[0];
        {last}"""
    elif way == "atomic":
        body = f"""__shared__ {fold.encoded} all;
        if (threadIdx.x == 0) all = {fold.encoded_start};
        __syncthreads();
        {fold.atomic}
        {first}
        {fold.decode}
        {last}"""
    else:
        read = f"""v = part[0];
        for (int w = 1; w < THREADS / 32; ++w) {{
        const {fold.scalar} other = part[w];
        {fold.merge}
        }}"""
        if way == "twice":
            read = f"""if (threadIdx.x < 32) {{
            v = threadIdx.x < THREADS / 32 ? part[threadIdx.x] : {fold.start};
            {_shuffles(fold, "16")}
            if (threadIdx.x == 0) part[0] = v;
            }}
            __syncthreads();
            v = part[0];"""
        body = f"""__shared__ {fold.scalar} part[32];
        {_shuffles(fold, "8" if slip == "narrow" else "16")}
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
        {first}
        {read}
        {last}"""
    return f"__device__ {fold.scalar} {fold.name}({fold.scalar} v) {{\n{body}\nreturn v;\n}}\n"
