import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
extern "C" __global__ void kl_div_rows(const __half* logp, const __half* q, float* out, int cols) {
    __shared__ float partial[128];
    long long base = (long long)blockIdx.x * cols;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        float qv = __half2float(q[base + i]);
        float lp = __half2float(logp[base + i]);
        if (qv > 0.0f) sum += qv * (logf(qv) - lp);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
""")


def kernel(logp, q):
    rows, cols = q.shape
    out = torch.empty(rows, device=q.device, dtype=torch.float32)
    program.kl_div_rows((rows,), (128,), (logp, q, out, cols))
    return out
