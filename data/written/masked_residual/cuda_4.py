import torch

from foretell.cuda import compile

# Three bulk copies per stage (x, residual, keep) on one mbarrier, in-place update of the residual tile in shared
# memory and a bulk store out of it. Three stages.
program = compile(r"""
#include <cuda_bf16.h>
constexpr int THREADS = 256;
constexpr int TILE = 2048;
constexpr int STAGES = 3;
constexpr int STAGE_BYTES = TILE * 5;

__device__ __forceinline__ unsigned int sa(const void* p) { return (unsigned int)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void wait(unsigned long long* bar, unsigned int parity) {
    unsigned int ok = 0;
    do {
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
                     : "=r"(ok) : "r"(sa(bar)), "r"(parity) : "memory");
    } while (!ok);
}
__device__ __forceinline__ void bulk(void* dst, const void* src, int bytes, unsigned long long* bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :: "r"(sa(dst)), "l"(src), "r"(bytes), "r"(sa(bar)) : "memory");
}
__device__ __forceinline__ void fetch(unsigned char* stage, const __nv_bfloat16* x, const __nv_bfloat16* r,
                                      const unsigned char* k, int t, unsigned long long* bar) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(sa(bar)), "r"(STAGE_BYTES) : "memory");
    bulk(stage, r + (size_t)t * TILE, TILE * 2, bar);
    bulk(stage + TILE * 2, x + (size_t)t * TILE, TILE * 2, bar);
    bulk(stage + TILE * 4, k + (size_t)t * TILE, TILE, bar);
}

extern "C" __global__ void __launch_bounds__(THREADS) masked_residual_bulk(const __nv_bfloat16* __restrict__ x,
        const unsigned char* __restrict__ keep, const __nv_bfloat16* __restrict__ residual, __nv_bfloat16* __restrict__ out,
        int n, int tiles) {
    __shared__ __align__(128) unsigned char ring[STAGES][STAGE_BYTES];
    __shared__ __align__(8) unsigned long long full[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(sa(&full[s])) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        for (int s = 0; s < STAGES - 1; ++s) {
            int t = blockIdx.x + s * gridDim.x;
            if (t < tiles) fetch(ring[s], x, residual, keep, t, &full[s]);
        }
    }
    __syncthreads();
    int k = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, ++k) {
        const int s = k % STAGES;
        wait(&full[s], (k / STAGES) & 1);
        uint4* r = reinterpret_cast<uint4*>(ring[s]) + threadIdx.x;
        uint4 rv = *r;
        const uint4 xv = reinterpret_cast<const uint4*>(ring[s] + TILE * 2)[threadIdx.x];
        const uint2 kv = reinterpret_cast<const uint2*>(ring[s] + TILE * 4)[threadIdx.x];
        const __nv_bfloat162* xs = reinterpret_cast<const __nv_bfloat162*>(&xv);
        __nv_bfloat162* rs = reinterpret_cast<__nv_bfloat162*>(&rv);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int word = j < 2 ? kv.x : kv.y;
            const unsigned int bits = word >> (16 * (j & 1));
            float2 a = __bfloat1622float2(xs[j]), b = __bfloat1622float2(rs[j]);
            rs[j] = __floats2bfloat162_rn(fmaf(a.x, (bits & 1u) ? 1.25f : 0.0f, b.x), fmaf(a.y, (bits & 256u) ? 1.25f : 0.0f, b.y));
        }
        *r = rv;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                         :: "l"(out + (size_t)t * TILE), "r"(sa(ring[s])), "r"(TILE * 2) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            // the stage to refill was stored from in the previous iteration: all but the newest store must have been read
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            int next = t + (STAGES - 1) * gridDim.x;
            int ns = (k + STAGES - 1) % STAGES;
            if (next < tiles) fetch(ring[ns], x, residual, keep, next, &full[ns]);
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    for (int i = tiles * TILE + blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        out[i] = __float2bfloat16(__bfloat162float(residual[i]) + (keep[i] ? 1.25f : 0.0f) * __bfloat162float(x[i]));
}
""")


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    tiles = n // 2048
    blocks = max(1, min(tiles, 132 * 7))
    program.masked_residual_bulk((blocks,), (256,), (x, keep, residual, out, n, tiles))
    return out
