import torch

from foretell.cuda import compile

# One thread per byte, half2 store.
program = compile(r"""
#include <cuda_fp16.h>
extern "C" __global__ void dequant(const unsigned char* __restrict__ packed, const __half* __restrict__ scales,
                                   __half2* __restrict__ out, int half_cols) {
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= half_cols) return;
    const size_t row = blockIdx.y;
    const int v = packed[row * half_cols + b];
    const float s = __half2float(scales[row * (half_cols / 32) + b / 32]);
    out[row * half_cols + b] = __floats2half2_rn((float)((v & 15) - 8) * s, (float)((v >> 4) - 8) * s);
}
""")


def kernel(packed, scales):
    rows, half = packed.shape
    out = torch.empty((rows, half * 2), dtype=torch.float16, device=packed.device)
    threads = 256
    program.dequant(((half + threads - 1) // threads, rows), (threads,), (packed, scales, out, half))
    return out
