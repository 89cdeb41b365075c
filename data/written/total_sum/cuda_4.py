import torch

from foretell.cuda import compile

# Deep cp.async.bulk pipeline: one thread per block keeps 6 x 16 KB bulk loads in flight, the block reduces them from shared memory.
# Two blocks per SM -> 192 KB in flight per SM, more than enough to saturate 4.8 TB/s.
program = compile(r"""
#define THREADS 256
#define STAGES 6
#define TILE 4096   // floats, 16 KB
typedef unsigned long long u64;
__device__ __forceinline__ unsigned sp(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __launch_bounds__(THREADS) sum_bulk(const float* __restrict__ x, float* __restrict__ out, int n) {
    extern __shared__ __align__(128) float buf[];
    __shared__ __align__(8) u64 bar[STAGES];
    __shared__ float part[THREADS / 32];
    const int tid = threadIdx.x;
    const int tiles = n / TILE;                       // whole tiles only; the tail is summed directly below
    if (tid == 0) {
        for (int s = 0; s < STAGES; ++s) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(sp(bar + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    auto issue = [&](int tile, int s) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(sp(bar + s)), "r"(TILE * 4) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(sp(buf + s * TILE)), "l"(x + (size_t)tile * TILE), "r"(TILE * 4), "r"(sp(bar + s)) : "memory");
    };
    if (tid == 0)
        for (int s = 0; s < STAGES; ++s) {
            int t = blockIdx.x + s * gridDim.x;
            if (t < tiles) issue(t, s);
        }
    float a = 0.f, b = 0.f;
    int s = 0;
    unsigned phase = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
        unsigned ok = 0;
        while (!ok)
            asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                         : "=r"(ok) : "r"(sp(bar + s)), "r"(phase) : "memory");
        const float4* v = (const float4*)(buf + s * TILE);
        #pragma unroll
        for (int k = 0; k < TILE / 4 / THREADS; ++k) {
            float4 q = v[tid + k * THREADS];
            a += q.x + q.y;
            b += q.z + q.w;
        }
        __syncthreads();                               // everyone is done with this stage
        int next = t + STAGES * gridDim.x;
        if (tid == 0 && next < tiles) issue(next, s);
        if (++s == STAGES) { s = 0; phase ^= 1; }
    }
    for (int i = tiles * TILE + blockIdx.x * THREADS + tid; i < n; i += gridDim.x * THREADS) a += x[i];
    a += b;
    for (int o = 16; o; o >>= 1) a += __shfl_xor_sync(~0u, a, o);
    if ((tid & 31) == 0) part[tid >> 5] = a;
    __syncthreads();
    if (tid == 0) {
        float total = 0.f;
        for (int w = 0; w < THREADS / 32; ++w) total += part[w];
        atomicAdd(out, total);
    }
}
""")


def kernel(x):
    n = x.numel()
    out = torch.zeros((), dtype=torch.float32, device=x.device)
    blocks = max(1, min(132 * 2, n // 4096))
    program.sum_bulk((blocks,), (256,), (x, out, n), 6 * 4096 * 4)
    return out
