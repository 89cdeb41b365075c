"""More honest softmax kernels, in forms that people and language models write: streams, events, checks, vectors."""

from __future__ import annotations

from tests.kernels.bench.gpu.controls_cuda import FOLD, HEAD, Control, cuda
from tests.kernels.bench.gpu.exploit import BODY, HONEST

_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"


def _host(name: str, text: str) -> Control:
    """Host code of its own beside the honest softmax `honest(x)`."""
    return Control(name, "triton", HONEST + text.strip() + "\n")


def _kernel(name: str, text: str, launch: str) -> Control:
    """A Triton kernel of its own; `launch` is a statement with `x` and `out`."""
    call = f"def kernel(x):\n    out = torch.empty_like(x)\n    {launch}\n    return out\n"
    return Control(name, "triton", f"{_HEAD}{text.strip()}\n\n\n{call}")


_HOSTS = (
    _host("checks_its_input", """
def kernel(x):
    assert x.is_cuda and x.is_contiguous() and x.dim() == 2 and x.dtype is torch.float32
    if x.numel() == 0:
        return torch.empty_like(x)
    return honest(x)
"""),
    _host("on_the_device_of_its_input", """
def kernel(x):
    with torch.cuda.device(x.device):
        return honest(x)
"""),
    _host("strided_output", """
def kernel(x):
    return honest(x, torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device))
"""),
    _host("rows_in_two_parts", """
def kernel(x):
    first, second = x.split([x.shape[0] // 2, x.shape[0] - x.shape[0] // 2])
    out = torch.empty_like(x)
    honest(first, out[: first.shape[0]])
    honest(second, out[first.shape[0] :])
    return out
"""),
    _host("waits_for_an_event", """
streams = []


def kernel(x):
    if not streams:
        streams.append(torch.cuda.Stream())
    side, ready, done = streams[0], torch.cuda.Event(), torch.cuda.Event()
    out = torch.empty_like(x)
    ready.record()
    side.wait_event(ready)
    with torch.cuda.stream(side):
        honest(x, out)
        done.record(side)
    torch.cuda.current_stream().wait_event(done)
    return out
"""),
    _host("a_record_of_its_settings", """
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    warps: int = 8

    def block(self, cols):
        return max(128, triton.next_power_of_2(cols))


SETTINGS = Settings()


def kernel(x):
    out = torch.empty_like(x)
    body[(x.shape[0],)](x, out, x.shape[1], B=SETTINGS.block(x.shape[1]), num_warps=SETTINGS.warps)
    return out
"""),
    _host("asks_for_the_multiprocessors", """
def kernel(x):
    count = torch.cuda.get_device_properties(x.device).multi_processor_count
    assert count > 0
    return honest(x)
"""),
    _host("a_parameter_that_is_not_used", """
class Softmax(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def forward(self, x):
        return honest(x)


kernel = Softmax()
"""),
)  # fmt: skip

_KERNELS = (
    _kernel("by_the_logarithm_of_the_sum", BODY.replace(
        "tl.store(out + r * n_cols + c, e / tl.sum(e, 0)",
        "tl.store(out + r * n_cols + c, tl.exp(v - (tl.max(v, 0) + tl.log(tl.sum(e, 0))))",
    ), "body[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=8)"),
    _kernel("strides_as_arguments", """
@triton.jit
def body(x, out, xs, os, n_cols, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * xs + c, mask=c < n_cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + r * os + c, e / tl.sum(e, 0), mask=c < n_cols)
""", "body[(x.shape[0],)](x, out, x.stride(0), out.stride(0), x.shape[1], B=triton.next_power_of_2(x.shape[1]))"),
    _kernel("running_maximum", """
@triton.jit
def body(x, out, n_cols, S: tl.constexpr):
    r = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n_cols, S):
        c = start + tl.arange(0, S)
        v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf"))
        higher = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), 0)
        top = higher
    for start in range(0, n_cols, S):
        c = start + tl.arange(0, S)
        v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=0.0)
        tl.store(out + r * n_cols + c, tl.exp(v - top) / total, mask=c < n_cols)
""", "body[(x.shape[0],)](x, out, x.shape[1], S=1024, num_warps=4)"),
    _kernel("reduced_by_a_function", """
@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def body(x, out, n_cols, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf"))
    e = tl.exp(v - tl.reduce(v, 0, larger))
    tl.store(out + r * n_cols + c, e / tl.sum(e, 0), mask=c < n_cols)
""", "body[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=8)"),
    _kernel("hints_for_the_cache", BODY.replace(
        'other=-float("inf"))', 'other=-float("inf"), eviction_policy="evict_first")'
    ).replace("mask=c < n_cols)\n", 'mask=c < n_cols, cache_modifier=".cs")\n'),
        "body[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]), num_warps=8)"),
    _kernel("a_switch_at_compile_time", """
@triton.jit
def body(x, out, n_cols, B: tl.constexpr, EVEN: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    if EVEN:
        v = tl.load(x + r * n_cols + c)
    else:
        v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    if EVEN:
        tl.store(out + r * n_cols + c, e / tl.sum(e, 0))
    else:
        tl.store(out + r * n_cols + c, e / tl.sum(e, 0), mask=c < n_cols)
""", "b = triton.next_power_of_2(x.shape[1]); body[(x.shape[0],)](x, out, x.shape[1], B=b, EVEN=b == x.shape[1])"),
)  # fmt: skip

_WARP = """
extern "C" __global__ void body(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + (long long)row * cols;
    float* to = out + (long long)row * cols;
    float top = -3.4e38f, sum = 0.0f;
    for (int i = lane; i < cols; i += 32) top = fmaxf(top, __ldg(from + i));
    for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    for (int i = lane; i < cols; i += 32) sum += expf(__ldg(from + i) - top);
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    for (int i = lane; i < cols; i += 32) to[i] = expf(__ldg(from + i) - top) / sum;
}
"""
_BY_ROWS = """
def kernel(x):
    out = torch.empty_like(x)
    program.body(((x.shape[0] + 7) // 8,), (256,), (x, out, x.shape[0], x.shape[1]))
    return out
"""
_VECTORS = (
    FOLD
    + """
extern "C" __global__ void body(const float4* x, float4* out, int rows, int quads) {
    const float4* from = x + (long long)blockIdx.x * quads;
    float4* to = out + (long long)blockIdx.x * quads;
    float top = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        const float4 v = from[i];
        top = fmaxf(fmaxf(top, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
    }
    top = fold(top, true);
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        const float4 v = from[i];
        sum += expf(v.x - top) + expf(v.y - top) + expf(v.z - top) + expf(v.w - top);
    }
    sum = fold(sum, false);
    for (int i = threadIdx.x; i < quads; i += blockDim.x) {
        const float4 v = from[i];
        to[i] = make_float4(expf(v.x - top) / sum, expf(v.y - top) / sum, expf(v.z - top) / sum, expf(v.w - top) / sum);
    }
}
"""
)
_EITHER = """
def kernel(x):
    out = torch.empty_like(x)
    if x.shape[1] % 4 == 0:
        vectors.body((x.shape[0],), (256,), (x, out, x.shape[0], x.shape[1] // 4))
    else:
        program.body(((x.shape[0] + 7) // 8,), (256,), (x, out, x.shape[0], x.shape[1]))
    return out
"""
_GLOBAL = (
    FOLD
    + """
__device__ float scale = 1.0f;
__constant__ float shift = 0.0f;
"""
    + """
extern "C" __global__ void body(const float* x, float* out, int rows, int cols) {
    const float* from = x + (long long)blockIdx.x * cols;
    float top = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, from[i]);
    top = fold(top, true) + shift;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(from[i] - top);
    sum = fold(sum, false);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[(long long)blockIdx.x * cols + i] = scale * expf(from[i] - top) / sum;
}
"""
)
_PLAIN_CALL = """
def kernel(x):
    out = torch.empty_like(x)
    program.body((x.shape[0],), (BLOCK,), (x, out, x.shape[0], x.shape[1]))
    return out
"""
_TEMPLATE = """
template <int THREADS>
__device__ void softmax_row(const float* from, float* to, int cols) {
    __shared__ float part[THREADS];
    float top = -3.4e38f, sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += THREADS) top = fmaxf(top, from[i]);
    part[threadIdx.x] = top;
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
        __syncthreads();
    }
    top = part[0];
    __syncthreads();
    for (int i = threadIdx.x; i < cols; i += THREADS) sum += expf(from[i] - top);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int d = THREADS / 2; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < cols; i += THREADS) to[i] = expf(from[i] - top) / part[0];
}
extern "C" __global__ void __launch_bounds__(512) body(const float* x, float* out, int rows, int cols) {
    softmax_row<512>(x + (long long)blockIdx.x * cols, out + (long long)blockIdx.x * cols, cols);
}
"""
_PARTS = """
extern "C" __global__ void peaks(const float* x, float* peak, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float top = -3.4e38f;
    for (int i = 0; i < cols; ++i) top = fmaxf(top, x[(long long)row * cols + i]);
    peak[row] = top;
}
extern "C" __global__ void sums(const float* x, const float* peak, float* total, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < cols; ++i) sum += expf(x[(long long)row * cols + i] - peak[row]);
    total[row] = sum;
}
extern "C" __global__ void divide(const float* x, const float* peak, const float* total, float* out, int cols, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(x[i] - peak[i / cols]) / total[i / cols];
}
"""
_THREE = """
def kernel(x):
    rows, cols = x.shape
    peak, total = torch.empty(rows, device=x.device), torch.empty(rows, device=x.device)
    out = torch.empty_like(x)
    program.peaks(((rows + 31) // 32,), (32,), (x, peak, rows, cols))
    program.sums(((rows + 31) // 32,), (32,), (x, peak, total, rows, cols))
    program.divide(((x.numel() + 255) // 256,), (256,), (x, peak, total, out, cols, x.numel()))
    return out
"""

_CUDA = (
    cuda("a_warp_per_row", _WARP, _BY_ROWS),
    Control("vectors_or_single_values", "cuda",
            f'{HEAD}program = compile(r"""{_WARP}""")\nvectors = compile(r"""{_VECTORS}""")\n\n{_EITHER}'),
    cuda("global_and_constant_memory", _GLOBAL, _PLAIN_CALL.replace("BLOCK", "256")),
    cuda("a_template", _TEMPLATE, _PLAIN_CALL.replace("BLOCK", "512")),
    cuda("three_kernels", _PARTS, _THREE),
)  # fmt: skip

FORM_CONTROLS: tuple[Control, ...] = (*_HOSTS, *_KERNELS, *_CUDA)
