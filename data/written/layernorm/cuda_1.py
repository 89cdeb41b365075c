import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Plain version: one block per row, shared memory tree reductions, scalar accesses.
extern "C" __global__ void layernorm(const __half* x, const __half* gamma, const __half* beta, __half* out, int cols) {
    __shared__ float buf[256];
    const int tid = threadIdx.x;
    const __half* row = x + (long long)blockIdx.x * cols;
    __half* dst = out + (long long)blockIdx.x * cols;

    float s = 0.0f;
    for (int i = tid; i < cols; i += 256) s += __half2float(row[i]);
    buf[tid] = s;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (tid < k) buf[tid] += buf[tid + k];
        __syncthreads();
    }
    const float mean = buf[0] / cols;
    __syncthreads();

    float q = 0.0f;
    for (int i = tid; i < cols; i += 256) {
        float d = __half2float(row[i]) - mean;
        q += d * d;
    }
    buf[tid] = q;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (tid < k) buf[tid] += buf[tid + k];
        __syncthreads();
    }
    const float rstd = rsqrtf(buf[0] / cols + 1e-5f);

    for (int i = tid; i < cols; i += 256) {
        float v = (__half2float(row[i]) - mean) * rstd;
        dst[i] = __float2half(v * __half2float(gamma[i]) + __half2float(beta[i]));
    }
}
""")


def kernel(x, gamma, beta):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.layernorm((rows,), (256,), (x, gamma, beta, out, cols))
    return out
