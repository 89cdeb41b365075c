import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>

__device__ float block_reduce(float v, bool is_max) {
    __shared__ float shared[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2) {
        float o = __shfl_down_sync(0xffffffff, v, offset);
        v = is_max ? fmaxf(v, o) : v + o;
    }
    __syncthreads();
    if (lane == 0) shared[warp] = v;
    __syncthreads();
    float r = shared[0];
    for (int w = 1; w < blockDim.x / 32; w++) r = is_max ? fmaxf(r, shared[w]) : r + shared[w];
    return r;
}

// Straightforward: one block per row, three passes, scalar bf16 accesses.
extern "C" __global__ void ce_backward(const __nv_bfloat16* logits, const long long* targets, const float* grad,
                                       __nv_bfloat16* out, int cols) {
    long long row = blockIdx.x;
    const __nv_bfloat16* x = logits + row * cols;
    __nv_bfloat16* y = out + row * cols;
    float m = -1e30f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, __bfloat162float(x[c]));
    m = block_reduce(m, true);
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += __expf(__bfloat162float(x[c]) - m);
    s = block_reduce(s, false);
    float g = grad[row];
    int t = (int)targets[row];
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float p = __expf(__bfloat162float(x[c]) - m) / s;
        if (c == t) p -= 1.0f;
        y[c] = __float2bfloat16(p * g);
    }
}
""")


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    program.ce_backward((rows,), (256,), (logits, targets, grad, out, cols))
    return out
