"""Kernels whose knobs the tests look for."""

LAUNCHED = '''
import torch
import triton
import triton.language as tl

WIDTH = 4  # not a knob: nothing tunable goes by this name
# BLOCK = 4096 in a comment is not one either
NOTE = "BLOCK=512, num_warps=2"


@triton.jit
def scale(x_ptr, y_ptr, n, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr):
    """Launched with BLOCK = 64."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * 2, mask=offs < n)


def kernel(x):
    y = torch.empty_like(x)
    scale[((x.numel() + 1023) // 1024,)](x, y, x.numel(), HEAD_DIM=64, BLOCK=1024)
    return y
'''

NAMED = """
import torch
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(y_ptr, tl.sum(acc, axis=0))


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = 2048

    def forward(self, x):
        y = x.new_empty(1)
        warps = 4 if x.numel() < 4096 else 8
        total[(1,)](
            x,
            y,
            x.numel(),
            BLOCK=self.block,
            num_warps=warps,  # by size
        )
        return y
"""

TUNED = """
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, num_stages=3),
        triton.Config({"BM": 128, "BN": 64, "BK": 32}, num_warps=8, num_stages=2),
    ],
    key=["n"],
)
@triton.jit
def product(a, b, c, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, n, BK):
        acc += tl.dot(tl.load(a + k), tl.load(b + k))
    tl.store(c, acc)


def kernel(a, b):
    c = torch.empty_like(a)
    product[lambda meta: (triton.cdiv(a.shape[0], meta["BM"]),)](a, b, c, a.shape[0])
    return c
"""

CUDA = r"""
#include <cuda_runtime.h>
// #define TILE 8 in a comment is not a knob
#define TILE 32
#define WARP_SIZE 32
/* constexpr int CHUNK = 4; */
#if 0
#define CHUNK 16
#endif
constexpr int BM = 64, BN = 64;
constexpr int THREADS = (BM / 8) * (BN / 8);

__global__ void __launch_bounds__(256) add(const float* x, float* y, int n) {
    __shared__ float part[256];
    __shared__ float tile[TILE][TILE + 1];
    const char* note = "constexpr int ITEMS = 4;";
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 4
    for (int k = 0; k < 8; ++k) part[threadIdx.x] = x[i];
    if (i < n) y[i] = part[threadIdx.x] + tile[0][0] + (note != nullptr);
}

template <int VEC>
__global__ void widen(float* y) { for (int v = 0; v < VEC; ++v) y[v] = v; }

__global__ void tiled(float* y) { y[threadIdx.x] = THREADS; }

void run(const float* x, float* y, int n) {
    const int threads = 256;
    add<<<(n + 255) / 256, threads>>>(x, y, n);
    widen<4><<<1, 128>>>(y);
    tiled<<<1, THREADS>>>(y);
}
"""

INLINE = f'''
"""A module with CUDA in a string.

#define TILE 64 in a docstring is not a knob
"""
import torch
from torch.utils.cpp_extension import load_inline

OLD = """
#define UNROLL 8
__global__ void old() {{}}
"""
source = r"""{CUDA}"""
module = load_inline(name="m", cpp_sources="", cuda_sources=source, extra_cuda_cflags=["-O3", "-DROWS_PER_BLOCK=4"])
'''
