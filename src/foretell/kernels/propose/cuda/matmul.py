"""CUDA templates of the matmul family: a thread an output, tiles in shared memory, tiles in registers, tensor cores."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import constants, module
from foretell.kernels.propose.cuda.tensor_cores import sides, tensor_core_body
from foretell.kernels.propose.template import Knobs, Template

DTYPE = "float16"
_SHAPES = {
    "plain": ("16x16", "32x8", "8x32", "32x32"),
    "tile": ("16x16", "32x16", "32x32", "8x8"),
    "register": ("64x4", "64x8", "128x8", "32x4", "128x4"),
    "tensor": ("64x2", "64x4", "128x4", "128x8", "32x1"),
}
_KNOBS = {
    "way": ("plain", "tile", "register", "tensor"),
    "shape": tuple(dict.fromkeys(shape for shapes in _SHAPES.values() for shape in shapes)),
    "depth": (16, 8, 32, 64),
    "pad": (0, 1, 8),
    "scalar": ("float", "__half"),
    "order": ("columns", "rows"),
    "slip": ("none", "barrier", "tail", "misnamed"),
}


def _valid(knobs: Knobs) -> bool:
    way, depth, slip = knobs["way"], knobs["depth"], knobs["slip"]
    if knobs["shape"] not in _SHAPES[way]:
        return False
    if way == "plain":
        if depth != 16 or knobs["pad"] or slip in ("barrier", "tail"):
            return False
        odd = slip == "misnamed" or knobs["scalar"] == "__half"
        return not odd or (knobs["shape"] == "16x16" and not (slip == "misnamed" and knobs["scalar"] == "__half"))
    if knobs["order"] == "rows" and (way != "tensor" or knobs["pad"] == 0):
        return False
    if knobs["scalar"] == "__half" and (way != "register" or depth != 16 or slip != "none" or knobs["pad"]):
        return False
    if way == "tile" and (depth not in (16, 32) or knobs["pad"] == 8):
        return False
    if way == "register" and (knobs["pad"] == 8 or (knobs["pad"] and depth == 64)):
        return False
    if way == "tensor" and (depth == 8 or knobs["pad"] == 1):
        return False
    if slip == "none":
        return True
    first = knobs["shape"] == _SHAPES[way][0] or (knobs["shape"] == "128x8" and slip == "tail")
    return bool(first and knobs["pad"] == 0 and depth == 32 and slip != "misnamed")


def _plain(knobs: Knobs) -> str:
    across, down = sides(knobs)
    kind = knobs["scalar"]
    size = "inner" if knobs["slip"] == "misnamed" else "k"
    row, column = "blockIdx.y * DOWN + threadIdx.x / ACROSS", "blockIdx.x * ACROSS + threadIdx.x % ACROSS"
    if knobs["order"] == "rows":
        row, column = "blockIdx.y * DOWN + threadIdx.x % DOWN", "blockIdx.x * ACROSS + threadIdx.x / DOWN"
    add = "sum += __half2float(a[(long long)row * k + i]) * __half2float(b[(long long)i * n + column]);"
    if kind == "__half":
        add = "sum = __hfma(a[(long long)row * k + i], b[(long long)i * n + column], sum);"
    return f"""{constants(THREADS=across * down, ACROSS=across, DOWN=down)}
    {_HEAD} {{
    const int row = {row};
    const int column = {column};
    if (row >= m || column >= n) return;
    {kind} sum = 0.0f;
    for (int i = 0; i < {size}; ++i) {add}
    c[(long long)row * n + column] = __half(sum);
    }}
    """


_HEAD = (
    'extern "C" __global__ void __launch_bounds__(THREADS) body(const __half* __restrict__ a, '
    "const __half* __restrict__ b, __half* __restrict__ c, int m, int n, int k)"
)


def _fill(knobs: Knobs, name: str, at: str) -> str:
    """Copy a tile of a (ROWS x DEPTH) and of b (DEPTH x COLUMNS) into shared memory, zeros past the edges."""
    tail = knobs["slip"] == "tail"
    if name == "a":
        within = "row0 + i < m" + ("" if tail else " && from + j < k")
        return f"""for (int e = threadIdx.x; e < ROWS * DEPTH; e += THREADS) {{
        const int i = e / DEPTH, j = e % DEPTH;
        {at} = {within} ? a[(long long)(row0 + i) * k + from + j] : __half(0.0f);
        }}
        """
    within = "column0 + j < n" + ("" if tail else " && from + i < k")
    row = "min(from + i, k - 1)" if tail else "(from + i)"
    return f"""for (int e = threadIdx.x; e < DEPTH * COLUMNS; e += THREADS) {{
    const int i = e / COLUMNS, j = e % COLUMNS;
    {at} = {within} ? b[(long long){row} * n + column0 + j] : __half(0.0f);
    }}
    """


def _tile(knobs: Knobs) -> str:
    across, down = sides(knobs)
    return f"""{constants(THREADS=across * down, ROWS=down, COLUMNS=across, DEPTH=knobs["depth"], PAD=knobs["pad"])}
    {_HEAD} {{
    __shared__ float as[ROWS][DEPTH + PAD];
    __shared__ float bs[DEPTH][COLUMNS + PAD];
    const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * COLUMNS;
    const int y = threadIdx.x / COLUMNS, x = threadIdx.x % COLUMNS;
    float sum = 0.0f;
    for (int from = 0; from < k; from += DEPTH) {{
    {_fill(knobs, "a", "as[i][j]")}
    {_fill(knobs, "b", "bs[i][j]")}
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < DEPTH; ++i) sum += as[y][i] * bs[i][x];
    {"" if knobs["slip"] == "barrier" else "__syncthreads();"}
    }}
    if (row0 + y < m && column0 + x < n) c[(long long)(row0 + y) * n + column0 + x] = __half(sum);
    }}
    """


def _register(knobs: Knobs) -> str:
    side, each = sides(knobs)
    kind = knobs["scalar"]
    numbers = constants(
        THREADS=(side // each) ** 2, ROWS=side, COLUMNS=side, EACH=each, DEPTH=knobs["depth"], PAD=knobs["pad"]
    )
    return f"""{numbers}
    {_HEAD} {{
    __shared__ {kind} as[DEPTH][ROWS + PAD];
    __shared__ {kind} bs[DEPTH][COLUMNS + PAD];
    const int row0 = blockIdx.y * ROWS, column0 = blockIdx.x * COLUMNS;
    const int y = threadIdx.x / (COLUMNS / EACH) * EACH, x = threadIdx.x % (COLUMNS / EACH) * EACH;
    {kind} sum[EACH][EACH];
    for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) sum[i][j] = 0.0f;
    for (int from = 0; from < k; from += DEPTH) {{
    {_fill(knobs, "a", "as[j][i]")}
    {_fill(knobs, "b", "bs[i][j]")}
    __syncthreads();
    #pragma unroll
    for (int d = 0; d < DEPTH; ++d) {{
    {kind} left[EACH], right[EACH];
    #pragma unroll
    for (int i = 0; i < EACH; ++i) left[i] = as[d][y + i];
    #pragma unroll
    for (int j = 0; j < EACH; ++j) right[j] = bs[d][x + j];
    #pragma unroll
    for (int i = 0; i < EACH; ++i)
    #pragma unroll
    for (int j = 0; j < EACH; ++j) sum[i][j] += left[i] * right[j];
    }}
    {"" if knobs["slip"] == "barrier" else "__syncthreads();"}
    }}
    for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j)
    if (row0 + y + i < m && column0 + x + j < n) c[(long long)(row0 + y + i) * n + column0 + x + j] = __half(sum[i][j]);
    }}
    """


def _render(knobs: Knobs) -> str:
    way = knobs["way"]
    across, down = sides(knobs)
    if way in ("register", "tensor"):
        threads = (across // down) ** 2 if way == "register" else 32 * down
        down = across
    else:
        threads = across * down
    fills = _fill(knobs, "a", "as[i][j]") + _fill(knobs, "b", "bs[i][j]")
    text = {"plain": _plain, "tile": _tile, "register": _register}.get(way, lambda k: tensor_core_body(k, _HEAD, fills))
    host = f"""def kernel(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty(m, n, dtype=torch.float16, device=a.device)
    program.body((math.ceil(n / {across}), math.ceil(m / {down})), ({threads},), (a, b, c, m, n, k))
    return c
"""
    return module(text(knobs), host, (DTYPE,))


TEMPLATES = (Template("matmul", "cuda", _KNOBS, _render, _valid),)
