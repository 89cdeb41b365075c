import torch

from foretell.cuda import compile

# Producer/consumer: warp 8 copies rows into a 3-deep shared ring with cp.async + mbarriers, warps 0-7 compute. Persistent grid.
program = compile(r"""
#define CONSUMERS 256
#define STAGES 3
typedef unsigned long long u64;

__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64* b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(sa(b)), "r"(n)); }
__device__ __forceinline__ void arrive(u64* b) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(sa(b)) : "memory");
}
__device__ __forceinline__ void wait(u64* b, unsigned parity) {
    unsigned done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(sa(b)), "r"(parity) : "memory");
    }
}
__device__ __forceinline__ void csync() { asm volatile("bar.sync 1, 256;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32) log_softmax_ws(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
    extern __shared__ __align__(16) float4 ring[];
    __shared__ __align__(8) u64 full[STAGES], empty[STAGES];
    __shared__ float wm[8], wsum[8];
    const int tid = threadIdx.x;
    const int n4 = cols >> 2;
    if (tid == 0) for (int s = 0; s < STAGES; ++s) { init(full + s, 32); init(empty + s, CONSUMERS); }
    __syncthreads();

    if (tid >= CONSUMERS) {
        const int lane = tid - CONSUMERS;
        int it = 0;
        for (int row = blockIdx.x; row < rows; row += gridDim.x, ++it) {
            const int s = it % STAGES;
            if (it >= STAGES) wait(empty + s, ((it / STAGES) - 1) & 1);
            const float4* src = (const float4*)(x + (size_t)row * cols);
            float4* dst = ring + s * n4;
            for (int i = lane; i < n4; i += 32)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(sa(dst + i)), "l"(src + i) : "memory");
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(sa(full + s)) : "memory");
        }
        asm volatile("cp.async.wait_all;" ::: "memory");
        return;
    }
    int it = 0;
    for (int row = blockIdx.x; row < rows; row += gridDim.x, ++it) {
        const int s = it % STAGES;
        wait(full + s, (it / STAGES) & 1);
        const float4* cur = ring + s * n4;
        float m = -1e30f;
        for (int i = tid; i < n4; i += CONSUMERS) { float4 v = cur[i]; m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w))); }
        for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
        if ((tid & 31) == 0) wm[tid >> 5] = m;
        csync();
        for (int w = 0; w < 8; ++w) m = fmaxf(m, wm[w]);
        float sum = 0.f;
        for (int i = tid; i < n4; i += CONSUMERS) {
            float4 v = cur[i];
            sum += __expf(v.x - m) + __expf(v.y - m) + __expf(v.z - m) + __expf(v.w - m);
        }
        for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
        if ((tid & 31) == 0) wsum[tid >> 5] = sum;
        csync();
        sum = 0.f;
        for (int w = 0; w < 8; ++w) sum += wsum[w];
        const float lse = m + __logf(sum);
        float4* dst = (float4*)(y + (size_t)row * cols);
        for (int i = tid; i < n4; i += CONSUMERS) {
            float4 v = cur[i];
            __stcs(dst + i, make_float4(v.x - lse, v.y - lse, v.z - lse, v.w - lse));
        }
        arrive(empty + s);
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    shared = 3 * cols * 4
    blocks = min(rows, 132 * (4 if cols > 1024 else 6))
    program.log_softmax_ws((blocks,), (288,), (x, out, rows, cols), shared)
    return out
