import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
// straightforward: kept is written in the first pass and read back in the second
extern "C" __global__ void add_rmsnorm(const bf16* x, const bf16* residual, const bf16* gamma, bf16* out, bf16* kept, int cols, float eps) {
    __shared__ float shared[32];
    const size_t base = (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        bf16 s = __float2bfloat16(__bfloat162float(x[base + i]) + __bfloat162float(residual[base + i]));
        kept[base + i] = s;
        float f = __bfloat162float(s);
        sum += f * f;
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : 0.0f;
        for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
        if (threadIdx.x == 0) shared[0] = rsqrtf(sum / cols + eps);
    }
    __syncthreads();
    const float scale = shared[0];
    for (int i = threadIdx.x; i < cols; i += blockDim.x)
        out[base + i] = __float2bfloat16(__bfloat162float(kept[base + i]) * scale * __bfloat162float(gamma[i]));
}
""")


def kernel(x, residual, gamma):
    rows, cols = x.shape
    out, kept = torch.empty_like(x), torch.empty_like(x)
    program.add_rmsnorm((rows,), (512,), (x, residual, gamma, out, kept, cols, 1e-5))
    return out, kept
