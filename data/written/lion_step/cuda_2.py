import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// 16-byte vectors (8 bf16); scalar tail by the last block
__device__ __forceinline__ void lion1(float& p, float g, float& m) {
    const float c = fmaf(7.0f, m, g);
    p = fmaf(p, 0.96875f, c > 0.f ? -0.125f : (c < 0.f ? 0.125f : 0.f));
    m = fmaf(0.96875f, m, 0.03125f * g);
}
__device__ __forceinline__ void lion8(uint4& p, const uint4& g, uint4& m) {
    __nv_bfloat162* ph = reinterpret_cast<__nv_bfloat162*>(&p);
    const __nv_bfloat162* gh = reinterpret_cast<const __nv_bfloat162*>(&g);
    __nv_bfloat162* mh = reinterpret_cast<__nv_bfloat162*>(&m);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        float2 pf = __bfloat1622float2(ph[k]), gf = __bfloat1622float2(gh[k]), mf = __bfloat1622float2(mh[k]);
        lion1(pf.x, gf.x, mf.x);
        lion1(pf.y, gf.y, mf.y);
        ph[k] = __float22bfloat162_rn(pf);
        mh[k] = __float22bfloat162_rn(mf);
    }
}
extern "C" __global__ void __launch_bounds__(256) lion_vec8(const __nv_bfloat16* __restrict__ p, const __nv_bfloat16* __restrict__ g,
        const __nv_bfloat16* __restrict__ m, __nv_bfloat16* __restrict__ po, __nv_bfloat16* __restrict__ mo, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int nv = n >> 3;
    if (i < nv) {
        uint4 pv = __ldcs((const uint4*)p + i), gv = __ldcs((const uint4*)g + i), mv = __ldcs((const uint4*)m + i);
        lion8(pv, gv, mv);
        __stcs((uint4*)po + i, pv);
        __stcs((uint4*)mo + i, mv);
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x < (n & 7)) {
        const int k = nv * 8 + threadIdx.x;
        float pf = __bfloat162float(p[k]), mf = __bfloat162float(m[k]);
        lion1(pf, __bfloat162float(g[k]), mf);
        po[k] = __float2bfloat16_rn(pf);
        mo[k] = __float2bfloat16_rn(mf);
    }
}
""")


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    program.lion_vec8((max(1, (n // 8 + 255) // 256),), (256,), (p, g, m, po, mo, n))
    return po, mo
