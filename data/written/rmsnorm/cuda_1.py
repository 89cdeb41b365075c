import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
extern "C" __global__ void rmsnorm_naive(const __nv_bfloat16* x, const __nv_bfloat16* gamma, __nv_bfloat16* out, int rows, int cols) {
    // one thread block per row
    __shared__ float sums[8];
    int row = blockIdx.x;
    const __nv_bfloat16* xr = x + (size_t)row * cols;
    float acc = 0.f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float v = __bfloat162float(xr[i]);
        acc += v * v;
    }
    for (int o = 16; o > 0; o /= 2) acc += __shfl_down_sync(0xffffffff, acc, o);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = acc;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < 8; w++) total += sums[w];
    float inv = rsqrtf(total / cols + 1e-5f);
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[(size_t)row * cols + i] = __float2bfloat16(__bfloat162float(xr[i]) * inv * __bfloat162float(gamma[i]));
}
""")


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.rmsnorm_naive((rows,), (256,), (x, gamma, out, rows, cols))
    return out
