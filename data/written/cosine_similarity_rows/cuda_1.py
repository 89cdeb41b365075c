import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
extern "C" __global__ void cosine(const half* a, const half* b, float* out, int cols) {
    int row = blockIdx.x;
    int tid = threadIdx.x;
    __shared__ float s_dot[256], s_a[256], s_b[256];
    float dot = 0, na = 0, nb = 0;
    for (int i = tid; i < cols; i += 256) {
        float x = __half2float(a[(size_t)row * cols + i]);
        float y = __half2float(b[(size_t)row * cols + i]);
        dot += x * y;
        na += x * x;
        nb += y * y;
    }
    s_dot[tid] = dot; s_a[tid] = na; s_b[tid] = nb;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (tid < s) {
            s_dot[tid] += s_dot[tid + s];
            s_a[tid] += s_a[tid + s];
            s_b[tid] += s_b[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) out[row] = s_dot[0] / (fmaxf(sqrtf(s_a[0]), 1e-8f) * fmaxf(sqrtf(s_b[0]), 1e-8f));
}
""")


def kernel(a, b):
    rows, cols = a.shape
    out = torch.empty(rows, device=a.device, dtype=torch.float32)
    program.cosine((rows,), (256,), (a, b, out, cols))
    return out
