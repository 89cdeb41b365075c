import torch

from foretell.cuda import compile

program = compile(r"""
// cp.async ring: each thread copies its own float4 of the four inputs STAGES tiles ahead, so the bytes in flight do
// not cost registers. A thread only reads back what it copied itself: no barriers needed, only wait_group.
#define STAGES 4
#define THREADS 256
__device__ __forceinline__ void cp16(void* d, const void* s) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" :: "r"((unsigned)__cvta_generic_to_shared(d)), "l"(s));
}
__device__ __forceinline__ float one(float p, float g, float& m, float& v, float a, float b) {
    m = 0.9f * m + 0.1f * g;
    v = 0.999f * v + 0.001f * (g * g);
    return 0.99f * p - a * m / (sqrtf(v) * b + 1e-8f);
}
extern "C" __global__ void __launch_bounds__(THREADS) adamw_async(const float* __restrict__ p, const float* __restrict__ g,
        const float* __restrict__ m, const float* __restrict__ v, float* __restrict__ po, float* __restrict__ mo,
        float* __restrict__ vo, int n, float a, float b) {
    extern __shared__ __align__(16) float4 ring[];  // [STAGES][4][THREADS]
    const int n4 = n / 4, tid = threadIdx.x;
    const int stride = gridDim.x * THREADS;
    const int first = blockIdx.x * THREADS + tid;
    auto ask = [&](int i, int s) {
        if (i < n4) {
            float4* slot = ring + s * 4 * THREADS + tid;
            cp16(slot, p + 4 * (size_t)i);
            cp16(slot + THREADS, g + 4 * (size_t)i);
            cp16(slot + 2 * THREADS, m + 4 * (size_t)i);
            cp16(slot + 3 * THREADS, v + 4 * (size_t)i);
        }
        asm volatile("cp.async.commit_group;\n" ::: "memory");
    };
    #pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) ask(first + s * stride, s);
    int s = 0;
    for (int i = first; i < n4; i += stride) {
        ask(i + (STAGES - 1) * stride, (s + STAGES - 1) % STAGES);
        asm volatile("cp.async.wait_group %0;\n" :: "n"(STAGES - 1) : "memory");
        const float4* slot = ring + s * 4 * THREADS + tid;
        float4 pv = slot[0], gv = slot[THREADS], mv = slot[2 * THREADS], vv = slot[3 * THREADS];
        pv.x = one(pv.x, gv.x, mv.x, vv.x, a, b);
        pv.y = one(pv.y, gv.y, mv.y, vv.y, a, b);
        pv.z = one(pv.z, gv.z, mv.z, vv.z, a, b);
        pv.w = one(pv.w, gv.w, mv.w, vv.w, a, b);
        __stcs((float4*)po + i, pv);
        __stcs((float4*)mo + i, mv);
        __stcs((float4*)vo + i, vv);
        s = (s + 1) % STAGES;
    }
    const int k = n4 * 4 + first;
    if (first < n - n4 * 4) {
        float mk = m[k], vk = v[k];
        po[k] = one(p[k], g[k], mk, vk, a, b);
        mo[k] = mk;
        vo[k] = vk;
    }
}
""")


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    blocks = max(1, min(sms * 3, (n // 4 + 255) // 256))
    shared = 4 * 4 * 256 * 16
    program.adamw_async((blocks,), (256,), (p, g, m, v, po, mo, vo, n, 0.1 / (1 - 0.9**10), (1 - 0.999**10) ** -0.5), shared)
    return po, mo, vo
