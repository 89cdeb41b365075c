"""Honest controls in CUDA C++: shared memory beyond 48 KB, atomics, scratch, helper launches, resident blocks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Control:
    """A candidate that must end `ok`."""

    name: str
    language: str
    source: str


HEAD = "import torch\n\nfrom foretell.cuda import compile\n\n"
FOLD = """
__device__ float fold(float v, bool peak) {
    __shared__ float part[32];
    for (int d = 16; d > 0; d >>= 1) {
        const float other = __shfl_xor_sync(0xffffffffu, v, d);
        v = peak ? fmaxf(v, other) : v + other;
    }
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < blockDim.x / 32; ++w) v = peak ? fmaxf(v, part[w]) : v + part[w];
    __syncthreads();
    return v;
}
"""
_ROW = """
extern "C" __global__ void body(const float* x, float* out, int rows, int cols) {
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float* from = x + (long long)row * cols;
        float* to = out + (long long)row * cols;
        float top = -3.4e38f, sum = 0.0f;
        for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, from[i]);
        top = fold(top, true);
        for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(from[i] - top);
        sum = fold(sum, false);
        for (int i = threadIdx.x; i < cols; i += blockDim.x) to[i] = expf(from[i] - top) / sum;
    }
}
"""
_CALL = """
def kernel(x):
    out = torch.empty_like(x)
    program.body((x.shape[0],), (256,), (x, out, x.shape[0], x.shape[1]))
    return out
"""


def cuda(name: str, device: str, host: str = _CALL) -> Control:
    """CUDA text and the host code that launches it."""
    return Control(name, "cuda", f'{HEAD}program = compile(r"""{device}""")\n\n\n{host.strip()}\n')


CUDA_CONTROLS = (
    cuda("a_block_a_row", FOLD + _ROW),
    cuda("resident_blocks", FOLD + _ROW, _CALL.replace("(x.shape[0],), (256,)", "(264,), (512,)")),
    Control(
        "compiled_on_the_first_call",
        "cuda",
        f'from functools import lru_cache\n\n{HEAD}SOURCE = r"""{FOLD}{_ROW}"""\n\n\n'
        "@lru_cache(maxsize=None)\ndef built():\n    return compile(SOURCE)\n\n"
        + _CALL.replace("program.", "built().").rstrip()
        + "\n",
    ),
    Control(
        "compiled_with_options",
        "cuda",
        f'{HEAD}program = compile(r"""{FOLD}{_ROW}""", ("--use_fast_math",))\n\n{_CALL}',
    ),
    cuda(
        "much_shared_memory",
        FOLD
        + """
extern "C" __global__ void body(const float* x, float* out, int rows, int cols) {
    extern __shared__ float kept[];
    const float* from = x + (long long)blockIdx.x * cols;
    float top = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        kept[i] = from[i];
        top = fmaxf(top, kept[i]);
    }
    top = fold(top, true);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        kept[i] = expf(kept[i] - top);
        sum += kept[i];
    }
    sum = fold(sum, false);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) out[(long long)blockIdx.x * cols + i] = kept[i] / sum;
}
""",
        _CALL.replace("x.shape[1]))", "x.shape[1]), 100_000)"),
    ),
    cuda(
        "atomics_into_zeroes",
        """
extern "C" __global__ void sums(const float* x, const float* peak, float* total, int cols) {
    const long long base = (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(x[base + i] - peak[blockIdx.x]);
    atomicAdd(total + blockIdx.x, sum);
}
extern "C" __global__ void peaks(const float* x, float* peak, int rows, int cols) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float top = -3.4e38f;
    for (int i = threadIdx.x % 32; i < cols; i += 32) top = fmaxf(top, x[(long long)row * cols + i]);
    for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    if (threadIdx.x % 32 == 0) peak[row] = top;
}
extern "C" __global__ void scale(const float* x, const float* peak, const float* total, float* out, int cols) {
    const long long base = (long long)blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[base + i] = expf(x[base + i] - peak[blockIdx.x]) / total[blockIdx.x];
}
""",
        """
def kernel(x):
    rows, cols = x.shape
    peak = torch.empty(rows, device=x.device)
    total = torch.zeros(rows, device=x.device)
    out = torch.empty_like(x)
    program.peaks(((rows + 7) // 8,), (256,), (x, peak, rows, cols))
    program.sums((rows,), (128,), (x, peak, total, cols))
    program.scale((rows,), (256,), (x, peak, total, out, cols))
    return out
""",
    ),
    cuda(
        "through_a_transposed_scratch",
        """
extern "C" __global__ void turn(const float* x, float* out, int rows, int cols) {
    __shared__ float part[32][33];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    for (int y = threadIdx.x / 32; y < 32; y += 8)
        if (y0 + y < rows && x0 + threadIdx.x % 32 < cols)
            part[y][threadIdx.x % 32] = x[(long long)(y0 + y) * cols + x0 + threadIdx.x % 32];
    __syncthreads();
    for (int y = threadIdx.x / 32; y < 32; y += 8)
        if (x0 + y < cols && y0 + threadIdx.x % 32 < rows)
            out[(long long)(x0 + y) * rows + y0 + threadIdx.x % 32] = part[threadIdx.x % 32][y];
}
extern "C" __global__ void columns(float* x, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float top = -3.4e38f, sum = 0.0f;
    for (int r = 0; r < rows; ++r) {
        const float v = x[(long long)r * cols + c], best = fmaxf(top, v);
        sum = sum * expf(top - best) + expf(v - best);
        top = best;
    }
    for (int r = 0; r < rows; ++r) x[(long long)r * cols + c] = expf(x[(long long)r * cols + c] - top) / sum;
}
""",
        """
def kernel(x):
    rows, cols = x.shape
    turned = torch.empty(cols, rows, dtype=x.dtype, device=x.device)
    out = torch.empty_like(x)
    program.turn(((cols + 31) // 32, (rows + 31) // 32), (256,), (x, turned, rows, cols))
    program.columns(((rows + 127) // 128,), (128,), (turned, cols, rows))
    program.turn(((rows + 31) // 32, (cols + 31) // 32), (256,), (turned, out, cols, rows))
    return out
""",
    ),
    cuda(
        "a_thread_a_row",
        """
extern "C" __global__ void body(const float* x, float* out, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double top = -1e300, sum = 0.0;
    for (int i = 0; i < cols; ++i) top = fmax(top, (double)x[(long long)row * cols + i]);
    for (int i = 0; i < cols; ++i) sum += exp((double)x[(long long)row * cols + i] - top);
    for (int i = 0; i < cols; ++i)
        out[(long long)row * cols + i] = (float)(exp((double)x[(long long)row * cols + i] - top) / sum);
}
""",
        _CALL.replace("(x.shape[0],), (256,)", "((x.shape[0] + 63) // 64,), (64,)"),
    ),
    cuda(
        "two_programs",
        FOLD + _ROW,
        'touch = compile(r"""extern "C" __global__ void clear(float* out, long long n) {\n'
        "    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;\n"
        '    if (i < n) out[i] = 0.0f;\n}""")\n\n'
        + _CALL.replace(
            "    program.",
            "    touch.clear(((x.numel() + 255) // 256,), (256,), (out, x.numel()))\n    program.",
        ),
    ),
)
