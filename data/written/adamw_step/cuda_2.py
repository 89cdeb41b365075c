import torch

from foretell.cuda import compile

program = compile(r"""
__device__ __forceinline__ void update(float& p, float g, float& m, float& v, float inv_b1, float inv_b2) {
    m = fmaf(0.9f, m, 0.1f * g);
    v = fmaf(0.999f, v, 0.001f * g * g);
    p = 0.99f * p - 0.1f * ((m * inv_b1) / (sqrtf(v * inv_b2) + 1e-8f));
}

// float4 everywhere, streaming cache hints (every byte is touched once); the last n % 4 elements by the first threads
extern "C" __global__ void __launch_bounds__(256) adamw_vec4(const float* __restrict__ p, const float* __restrict__ g,
        const float* __restrict__ m, const float* __restrict__ v, float* __restrict__ po, float* __restrict__ mo,
        float* __restrict__ vo, int n, float inv_b1, float inv_b2) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const int n4 = n >> 2;
    if (i < n4) {
        float4 pv = __ldcs((const float4*)p + i);
        float4 gv = __ldcs((const float4*)g + i);
        float4 mv = __ldcs((const float4*)m + i);
        float4 vv = __ldcs((const float4*)v + i);
        update(pv.x, gv.x, mv.x, vv.x, inv_b1, inv_b2);
        update(pv.y, gv.y, mv.y, vv.y, inv_b1, inv_b2);
        update(pv.z, gv.z, mv.z, vv.z, inv_b1, inv_b2);
        update(pv.w, gv.w, mv.w, vv.w, inv_b1, inv_b2);
        __stcs((float4*)po + i, pv);
        __stcs((float4*)mo + i, mv);
        __stcs((float4*)vo + i, vv);
    }
    const int tail = n4 * 4 + i;
    if (i < (n & 3)) {
        float pi = p[tail], mi = m[tail], vi = v[tail];
        update(pi, g[tail], mi, vi, inv_b1, inv_b2);
        po[tail] = pi;
        mo[tail] = mi;
        vo[tail] = vi;
    }
}
""")


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    blocks = max(1, (n // 4 + 255) // 256)
    program.adamw_vec4((blocks,), (256,), (p, g, m, v, po, mo, vo, n, 1 / (1 - 0.9**10), 1 / (1 - 0.999**10)))
    return po, mo, vo
