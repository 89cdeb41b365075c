"""CUDA template of heat1d_steps: one, two or four steps a launch, in registers or in shared memory; slips."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import BOUNDED, PACK, constants, module
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "way": ("flat", "run", "tile"),
    "fused": (4, 2, 1),
    "threads": (256, 64, 128, 512, 1024),
    "each": (1, 2, 4, 8, 16),
    "lanes": ("near", "far"),
    "slip": ("none", "barrier", "shared", "border", "sign", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, threads, each, near, slip = (knobs[k] for k in ("way", "threads", "each", "lanes", "slip"))
    if near == "far" and (way != "flat" or each == 1):
        return False
    if way == "flat" and (each > 4 or each == 2):
        return False
    if way == "run" and (each == 1 or threads == 1024):
        return False
    if way == "tile" and each == 16:
        return False
    if slip == "none":
        return True
    if slip in ("barrier", "shared") and way != "tile":
        return False
    return bool(threads == 256 and near == "near" and knobs["fused"] == 4 and each in (4, 8))


def _moved(knobs: Knobs, left: str, here: str, right: str) -> str:
    return f"{here} + 0.2f * ({left} {'+' if knobs['slip'] == 'sign' else '-'} 2.0f * {here} + {right})"


def _there(knobs: Knobs, value: str) -> str:
    """The value where column `c` is in the row, else nothing."""
    return value if knobs["slip"] == "border" else f"c >= 0 && c < length ? {value} : 0.0f"


def _steps(knobs: Knobs, width: str) -> str:
    """FUSED steps on the registers v, which begin FUSED places before column `first`."""
    return f"""#pragma unroll
    for (int s = 1; s <= FUSED; ++s) {{
    #pragma unroll
    for (int k = 0; k < {width} + 2 * (FUSED - s); ++k) {{
    const int c = first - FUSED + s + k;
    v[k] = {_there(knobs, _moved(knobs, "v[k]", "v[k + 1]", "v[k + 2]"))};
    }}
    }}
    """


def _loads(width: str) -> str:
    return f"""float v[{width} + 2 * FUSED];
    #pragma unroll
    for (int k = 0; k < {width} + 2 * FUSED; ++k) {{
    const int c = first - FUSED + k;
    v[k] = c >= 0 && c < length ? x[row * length + c] : 0.0f;
    }}
    """


def _body(knobs: Knobs) -> str:
    size = "total" if knobs["slip"] == "misnamed" else "(long long)rows * length"
    if knobs["way"] == "flat":
        place = "((long long)blockIdx.x * EACH + e) * THREADS + threadIdx.x"
        if knobs["lanes"] == "far":
            place = "((long long)blockIdx.x * THREADS + threadIdx.x) * EACH + e"
        return f"""for (int e = 0; e < EACH; ++e) {{
        const long long at = {place};
        if (at >= {size}) return;
        const long long row = at / length;
        const int first = at % length;
        {_loads("1")}{_steps(knobs, "1")}out[at] = v[0];
        }}
        """
    if knobs["way"] == "run":
        return f"""const int groups = (length + EACH - 1) / EACH;
        const long long t = (long long)blockIdx.x * THREADS + threadIdx.x;
        const long long row = t / groups;
        if (row * length >= {size}) return;
        const int first = t % groups * EACH;
        {_loads("EACH")}{_steps(knobs, "EACH")}float* place = out + row * length + first;
        if (length % EACH == 0) {{
        Pack<EACH> made;
        #pragma unroll
        for (int k = 0; k < EACH; ++k) made.v[k] = v[k];
        *reinterpret_cast<Pack<EACH>*>(place) = made;
        }} else {{
        #pragma unroll
        for (int k = 0; k < EACH; ++k) if (first + k < length) place[k] = v[k];
        }}
        """
    barrier = "" if knobs["slip"] == "barrier" else "__syncthreads();"
    many = 16 if knobs["slip"] == "shared" else 1
    check = "" if knobs["slip"] != "misnamed" else f"if (row * length >= {size}) return;\n"
    return f"""constexpr int SPAN = THREADS * EACH, WHOLE = SPAN + 2 * FUSED;
    __shared__ float part[2][WHOLE{f" * {many}" if many > 1 else ""}];
    const int pieces = (length + SPAN - 1) / SPAN;
    const long long row = blockIdx.x / pieces;
    {check}const int first = blockIdx.x % pieces * SPAN;
    for (int e = threadIdx.x; e < WHOLE; e += THREADS) {{
    const int c = first - FUSED + e;
    part[0][e] = c >= 0 && c < length ? x[row * length + c] : 0.0f;
    }}
    __syncthreads();
    for (int s = 0; s < FUSED; ++s) {{
    const float* from = part[s % 2];
    float* to = part[(s + 1) % 2];
    for (int e = s + 1 + threadIdx.x; e < WHOLE - s - 1; e += THREADS) {{
    const int c = first - FUSED + e;
    to[e] = {_there(knobs, _moved(knobs, "from[e - 1]", "from[e]", "from[e + 1]"))};
    }}
    {barrier}
    }}
    for (int e = threadIdx.x; e < SPAN; e += THREADS)
    if (first + e < length) out[row * length + first + e] = part[FUSED % 2][e + FUSED];
    """


def _render(knobs: Knobs) -> str:
    way, threads, each = knobs["way"], knobs["threads"], knobs["each"]
    pack = f"using T = float;\n{PACK}" if way == "run" else ""
    text = f"""{constants(THREADS=threads, EACH=each, FUSED=knobs["fused"])}{pack}
    {BOUNDED}(const float* __restrict__ x, float* __restrict__ out, int rows, int length) {{
    {_body(knobs)}
    }}
    """
    grids = {
        "flat": f"math.ceil(rows * length / {threads * each})",
        "run": f"math.ceil(rows * math.ceil(length / {each}) / {threads})",
        "tile": f"rows * math.ceil(length / {threads * each})",
    }
    host = f"""def kernel(x):
    rows, length = x.shape
    for _ in range({4 // knobs["fused"]}):
        out = torch.empty_like(x)
        program.body(({grids[way]},), ({threads},), (x, out, rows, length))
        x = out
    return out
"""
    return module(text, host)


TEMPLATES = (Template("heat1d_steps", "cuda", _KNOBS, _render, _valid),)
