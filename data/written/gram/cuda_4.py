import torch

from foretell.cuda import compile

# Both operands K-major: the easy case for wgmma (no transpose bits), 128B swizzled tiles of 64 halves.
_R = ", ".join(f"%{i}" for i in range(64))
_O = ", ".join(f'"+f"(d[{i}])' for i in range(64))

program = compile(r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;
constexpr int BT = 128, BK = 64, ST = 4, TB = BT * 128;
__device__ __forceinline__ u64 desc(unsigned addr) {
    return (u64)((addr & 0x3FFFFu) >> 4) | (1ull << 16) | ((u64)(1024 >> 4) << 32) | (1ull << 62);
}
__device__ __forceinline__ void wgmma(float* d, u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {<R>}, %64, %65, 1, 1, 1, 0, 0;" : <O> : "l"(a), "l"(b));
}
extern "C" __global__ void __launch_bounds__(256) gram_wgmma(const __half* __restrict__ A, __half* __restrict__ C, int M, int K) {
    if (blockIdx.x > blockIdx.y) return;          // symmetric, keep the lower triangle
    extern __shared__ unsigned char raw[];
    const unsigned base = ((unsigned)__cvta_generic_to_shared(raw) + 1023u) & ~1023u;
    const int tid = threadIdx.x, wg = tid >> 7, warp = (tid >> 5) & 3, lane = tid & 31;
    const int i0 = blockIdx.y * BT, j0 = blockIdx.x * BT, nt = (K + BK - 1) / BK;
    const bool diag = i0 == j0;                   // a diagonal block needs a single tile
    auto tile = [&](unsigned s, int r0, int k0) {
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int r = (tid >> 3) + p * 32, c = tid & 7;
            bool ok = r0 + r < M && k0 + c * 8 < K;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(s + r * 128 + ((c ^ (r & 7)) << 4)),
                         "l"(ok ? A + (size_t)(r0 + r) * K + k0 + c * 8 : A), "r"(ok ? 16 : 0));
        }
    };
    auto issue = [&](int t) {
        unsigned s = base + (t % ST) * 2 * TB;
        tile(s, i0, t * BK);
        if (!diag) tile(s + TB, j0, t * BK);
    };
    float d[64];
    #pragma unroll
    for (int i = 0; i < 64; ++i) d[i] = 0.f;
    for (int t = 0; t < ST - 1; ++t) { if (t < nt) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nt; ++t) {
        asm volatile("cp.async.wait_group %0;" :: "n"(ST - 2) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        unsigned si = base + (t % ST) * 2 * TB, sj = diag ? si : si + TB;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int kk = 0; kk < 4; ++kk) wgmma(d, desc(si + wg * 8192 + kk * 32), desc(sj + kk * 32));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (t + ST - 1 < nt) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    const int r = i0 + wg * 64 + warp * 16 + (lane >> 2);
    const bool even = (M & 1) == 0;
    #pragma unroll
    for (int j = 0; j < 32; ++j) {
        int i = r + (j & 1) * 8, n = j0 + (j >> 1) * 8 + (lane & 3) * 2;
        __half2 v = __floats2half2_rn(d[2 * j], d[2 * j + 1]);
        if (i < M && n < M) {
            if (even) *(__half2*)(C + (size_t)i * M + n) = v;
            else {
                C[(size_t)i * M + n] = __low2half(v);
                if (n + 1 < M) C[(size_t)i * M + n + 1] = __high2half(v);
            }
            if (!diag) {     // mirror: 8 lanes of a column write 16 contiguous bytes, L2 merges the sectors
                C[(size_t)n * M + i] = __low2half(v);
                if (n + 1 < M) C[(size_t)(n + 1) * M + i] = __high2half(v);
            }
        }
    }
}
""".replace("<R>", _R).replace("<O>", _O))


def kernel(a):
    M, K = a.shape
    c = torch.empty((M, M), device=a.device, dtype=torch.float16)
    n = (M + 127) // 128
    program.gram_wgmma((n, n), (256,), (a, c, M, K), 4 * 32768 + 1024)
    return c
