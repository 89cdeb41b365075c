import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// One thread per input element: one 2-byte read, two half2 (4-byte) writes. Flat over the input.
extern "C" __global__ void __launch_bounds__(256) upsample(const __half* __restrict__ x, __half2* __restrict__ out, int total, int w) {
    int p = blockIdx.x * 256 + threadIdx.x;
    if (p >= total) return;
    int row = p / w;
    __half2 v = __half2half2(x[p]);
    // in units of half2 an output row has w entries; input row r maps to output rows 2r and 2r + 1
    __half2* dst = out + p + (size_t)row * w;
    dst[0] = v;
    dst[w] = v;
}
""")


def kernel(x):
    n, h, w = x.shape
    out = torch.empty((n, 2 * h, 2 * w), device=x.device, dtype=x.dtype)
    total = x.numel()
    program.upsample(((total + 255) // 256,), (256,), (x, out, total, w))
    return out
