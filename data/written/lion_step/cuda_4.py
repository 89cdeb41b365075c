import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// Producer thread + bulk copies in both directions: tiles of 2048 elements arrive by cp.async.bulk on an mbarrier,
// are updated in place in shared memory and leave by cp.async.bulk as well. Two stages; n % 8 by plain code.
#define TILE 2048
#define STAGES 2
__device__ __forceinline__ unsigned sp(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void load(void* d, const void* s, unsigned bytes, unsigned long long* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(sp(d)), "l"(s), "r"(bytes), "r"(sp(bar)) : "memory");
}
__device__ __forceinline__ void save(void* d, const void* s, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(d), "r"(sp(s)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void lion1(__nv_bfloat16& p, __nv_bfloat16 g, __nv_bfloat16& m) {
    const float gf = __bfloat162float(g), mf = __bfloat162float(m);
    const float c = 7.f * mf + gf;
    const float s = c > 0.f ? 0.125f : (c < 0.f ? -0.125f : 0.f);
    p = __float2bfloat16(__bfloat162float(p) * 0.96875f - s);
    m = __float2bfloat16(0.96875f * mf + 0.03125f * gf);
}
extern "C" __global__ void __launch_bounds__(256) lion_bulk(const __nv_bfloat16* __restrict__ p, const __nv_bfloat16* __restrict__ g,
        const __nv_bfloat16* __restrict__ m, __nv_bfloat16* __restrict__ po, __nv_bfloat16* __restrict__ mo, int n) {
    __shared__ __align__(128) __nv_bfloat16 buf[STAGES][3][TILE];
    __shared__ __align__(8) unsigned long long bar[STAGES];
    const int whole = n / 8 * 8, tiles = (whole + TILE - 1) / TILE;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(sp(bar + s)));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();
    auto ask = [&](int t, int s) {
        const unsigned bytes = min(TILE, whole - t * TILE) * 2;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(sp(bar + s)), "r"(3 * bytes) : "memory");
        load(buf[s][0], p + (size_t)t * TILE, bytes, bar + s);
        load(buf[s][1], g + (size_t)t * TILE, bytes, bar + s);
        load(buf[s][2], m + (size_t)t * TILE, bytes, bar + s);
    };
    if (threadIdx.x == 0 && blockIdx.x < tiles) ask(blockIdx.x, 0);
    int it = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, ++it) {
        const int s = it & 1;
        if (threadIdx.x == 0 && t + (int)gridDim.x < tiles) {
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");  // the other stage has been written out
            ask(t + gridDim.x, s ^ 1);
        }
        asm volatile("{\n.reg .pred q;\nW_%=:\nmbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1;\n@!q bra W_%=;\n}"
                     :: "r"(sp(bar + s)), "r"((it >> 1) & 1) : "memory");
        const int len = min(TILE, whole - t * TILE);
        for (int i = threadIdx.x; i < len; i += 256) lion1(buf[s][0][i], buf[s][1][i], buf[s][2][i]);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            save(po + (size_t)t * TILE, buf[s][0], len * 2);
            save(mo + (size_t)t * TILE, buf[s][2], len * 2);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (blockIdx.x == 0 && threadIdx.x < n - whole) {
        const int k = whole + threadIdx.x;
        __nv_bfloat16 pk = p[k], mk = m[k];
        lion1(pk, g[k], mk);
        po[k] = pk;
        mo[k] = mk;
    }
}
""")


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    program.lion_bulk((max(1, min(sms * 8, (n // 8 * 8 + 2047) // 2048)),), (256,), (p, g, m, po, mo, n))
    return po, mo
