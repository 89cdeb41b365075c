import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// thread = channel, loop over pixels; reads are coalesced because channels are last.
extern "C" __global__ void gap(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int P, int C) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (c >= C) return;
    const __nv_bfloat16* p = x + (long long)b * P * C + c;
    float s = 0.f;
    for (int i = 0; i < P; ++i) s += __bfloat162float(p[(long long)i * C]);
    out[b * C + c] = __float2bfloat16(s / P);
}
""")


def kernel(x):
    B, H, W, C = x.shape
    out = torch.empty((B, C), device=x.device, dtype=x.dtype)
    program.gap(((C + 127) // 128, B), (128,), (x, out, H * W, C))
    return out
