import torch

from foretell.cuda import compile

# wgmma version: a block is one warpgroup pair; 128 (m) x 128 (n), BK 64, 128B swizzle, 4 stages.
_REGS = ",".join(f"%{i}" for i in range(64))
_OUTS = ",".join(f'"+f"(d[{i}])' for i in range(64))

program = compile(r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;
constexpr int BM = 128, BN = 128, BK = 64, ST = 4, AB = BM * 128, BB = BK * 256, STAGE = AB + BB;
__device__ __forceinline__ void cp(unsigned d, const void* s, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(d), "l"(s), "r"(ok ? 16 : 0));
}
__device__ __forceinline__ u64 make_desc(unsigned addr, unsigned lbo, unsigned sbo) {
    u64 d = (addr & 0x3FFFFu) >> 4;
    d |= (u64)(lbo >> 4) << 16;
    d |= (u64)(sbo >> 4) << 32;
    return d | (1ull << 62);
}
extern "C" __global__ void __launch_bounds__(256) grouped_wgmma(
    const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C, int m, int N, int K) {
    extern __shared__ unsigned char raw[];
    const unsigned base = ((unsigned)__cvta_generic_to_shared(raw) + 1023u) & ~1023u;
    const int tid = threadIdx.x, wg = tid >> 7, warp = (tid >> 5) & 3, lane = tid & 31;
    const __half* a = A + (size_t)blockIdx.z * m * K;
    const __half* b = B + (size_t)blockIdx.z * K * N;
    __half* c = C + (size_t)blockIdx.z * m * N;
    const int m0 = blockIdx.x * BM, n0 = blockIdx.y * BN, nt = (K + BK - 1) / BK;
    auto issue = [&](int t) {
        const unsigned s = base + (t % ST) * STAGE;
        const int k0 = t * BK;
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int v = tid + p * 256, r = v >> 3, q = v & 7;
            bool ok = m0 + r < m && k0 + q * 8 < K;
            cp(s + r * 128 + ((q ^ (r & 7)) << 4), ok ? a + (size_t)(m0 + r) * K + k0 + q * 8 : A, ok);
        }
        #pragma unroll
        for (int p = 0; p < 4; ++p) {                 // two 64-column panels, each 64 rows x 128 bytes
            int v = tid + p * 256, r = v >> 4, q = v & 15;
            bool ok = k0 + r < K && n0 + q * 8 < N;
            cp(s + AB + (q >> 3) * (BK * 128) + r * 128 + (((q & 7) ^ (r & 7)) << 4),
               ok ? b + (size_t)(k0 + r) * N + n0 + q * 8 : B, ok);
        }
    };
    float d[64];
    #pragma unroll
    for (int i = 0; i < 64; ++i) d[i] = 0.f;
    for (int t = 0; t < ST - 1; ++t) { if (t < nt) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nt; ++t) {
        asm volatile("cp.async.wait_group %0;" :: "n"(ST - 2) : "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        const unsigned s = base + (t % ST) * STAGE;
        // the upper warpgroup has nothing to do when the group has at most 64 rows
        if (m0 + wg * 64 < m) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int kk = 0; kk < 4; ++kk) {
                u64 da = make_desc(s + wg * 8192 + kk * 32, 16, 1024), db = make_desc(s + AB + kk * 2048, BK * 128, 1024);
                asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%REGS%}, %64, %65, 1, 1, 1, 0, 1;"
                    : %OUTS% : "l"(da), "l"(db));
            }
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        }
        if (t + ST - 1 < nt) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    const int r = m0 + wg * 64 + warp * 16 + (lane >> 2);
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
        int n = n0 + j * 8 + (lane & 3) * 2;
        if (n < N && r < m) *(__half2*)(c + (size_t)r * N + n) = __floats2half2_rn(d[4*j], d[4*j+1]);
        if (n < N && r + 8 < m) *(__half2*)(c + (size_t)(r + 8) * N + n) = __floats2half2_rn(d[4*j+2], d[4*j+3]);
    }
}
""".replace("%REGS%", _REGS).replace("%OUTS%", _OUTS))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    program.grouped_wgmma(((m + 127) // 128, (N + 127) // 128, G), (256,), (a, b, c, m, N, K), 4 * 32768 + 1024)
    return c
