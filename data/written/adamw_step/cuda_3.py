import torch

from foretell.cuda import compile

program = compile(r"""
// Grid-stride with two float4 per stream in flight (8 outstanding 16-byte loads per thread) and approximate
// intrinsics for the square root and the quotient (both ~1-2 ulp, plenty here).
__device__ __forceinline__ float4 step4(float4 p, const float4 g, float4& m, float4& v, const float cb1, const float cb2) {
    #define ONE(c)                                                            \
        m.c = fmaf(0.1f, g.c - m.c, m.c);                                     \
        v.c = fmaf(0.001f, g.c * g.c, 0.999f * v.c);                          \
        p.c = fmaf(0.99f, p.c, -cb1 * __fdividef(m.c, fmaf(__fsqrt_rn(v.c), cb2, 1e-8f)));
    ONE(x) ONE(y) ONE(z) ONE(w)
    #undef ONE
    return p;
}
extern "C" __global__ void __launch_bounds__(256, 4) adamw_stride(const float4* __restrict__ p, const float4* __restrict__ g,
        const float4* __restrict__ m, const float4* __restrict__ v, float4* __restrict__ po, float4* __restrict__ mo,
        float4* __restrict__ vo, int n4, int tail, float cb1, float cb2) {
    const int stride = gridDim.x * 256;
    int i = blockIdx.x * 256 + threadIdx.x;
    for (; i + stride < n4; i += 2 * stride) {
        const int j = i + stride;
        float4 g0 = g[i], g1 = g[j];
        float4 m0 = m[i], m1 = m[j];
        float4 v0 = v[i], v1 = v[j];
        float4 p0 = p[i], p1 = p[j];
        p0 = step4(p0, g0, m0, v0, cb1, cb2);
        p1 = step4(p1, g1, m1, v1, cb1, cb2);
        po[i] = p0; mo[i] = m0; vo[i] = v0;
        po[j] = p1; mo[j] = m1; vo[j] = v1;
    }
    if (i < n4) {
        float4 m0 = m[i], v0 = v[i];
        po[i] = step4(p[i], g[i], m0, v0, cb1, cb2);
        mo[i] = m0; vo[i] = v0;
    }
    if (blockIdx.x == 0 && threadIdx.x < tail) {
        const int k = n4 * 4 + threadIdx.x;
        const float gk = ((const float*)g)[k];
        const float mk = 0.9f * ((const float*)m)[k] + 0.1f * gk;
        const float vk = 0.999f * ((const float*)v)[k] + 0.001f * gk * gk;
        ((float*)po)[k] = 0.99f * ((const float*)p)[k] - cb1 * mk / (sqrtf(vk) * cb2 + 1e-8f);
        ((float*)mo)[k] = mk;
        ((float*)vo)[k] = vk;
    }
}
""")


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    n4 = n // 4
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    blocks = max(1, min(sms * 8, (n4 + 255) // 256))
    program.adamw_stride(
        (blocks,), (256,), (p, g, m, v, po, mo, vo, n4, n % 4, 0.1 / (1 - 0.9**10), (1 - 0.999**10) ** -0.5)
    )
    return po, mo, vo
