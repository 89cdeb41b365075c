import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>

// 8 elements per thread: 16 B of x, 16 B of residual, 8 B of keep
extern "C" __global__ void __launch_bounds__(256) masked_residual8(const __nv_bfloat16* __restrict__ x,
        const unsigned char* __restrict__ keep, const __nv_bfloat16* __restrict__ residual, __nv_bfloat16* __restrict__ out, int n) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i + 8 <= n) {
        uint4 xv = *reinterpret_cast<const uint4*>(x + i);
        uint4 rv = *reinterpret_cast<const uint4*>(residual + i);
        uint2 kv = *reinterpret_cast<const uint2*>(keep + i);
        const __nv_bfloat162* xs = reinterpret_cast<const __nv_bfloat162*>(&xv);
        __nv_bfloat162* rs = reinterpret_cast<__nv_bfloat162*>(&rv);
        const unsigned char* ks = reinterpret_cast<const unsigned char*>(&kv);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float2 a = __bfloat1622float2(xs[j]);
            float2 r = __bfloat1622float2(rs[j]);
            r.x = fmaf(a.x, ks[2 * j] ? 1.25f : 0.0f, r.x);
            r.y = fmaf(a.y, ks[2 * j + 1] ? 1.25f : 0.0f, r.y);
            rs[j] = __float22bfloat162_rn(r);
        }
        *reinterpret_cast<uint4*>(out + i) = rv;
    } else {
        for (int j = i; j < n; ++j)
            out[j] = __float2bfloat16(__bfloat162float(residual[j]) + __bfloat162float(x[j]) * (keep[j] ? 1.25f : 0.0f));
    }
}
""")


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    program.masked_residual8(((n + 2047) // 2048,), (256,), (x, keep, residual, out, n))
    return out
