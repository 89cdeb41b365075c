import torch

from foretell.cuda import compile

# wgmma m64n64k16 twice per k-step (gate and up) from one A tile in 128B-swizzled shared memory.
_G = ", ".join(f"%{i}" for i in range(32))
_O = ", ".join(f'"+f"(d[{i}])' for i in range(32))

program = compile(r"""
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
typedef unsigned long long u64;
constexpr int BM = 128, BN = 64, BK = 64, ST = 4;
constexpr int A_B = BM * BK * 2, W_B = BK * BN * 2, STAGE = A_B + 2 * W_B;   // 32 KB per stage

__device__ __forceinline__ void cp16(unsigned d, const void* s, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(d), "l"(s), "r"(ok ? 16 : 0));
}
// 128-byte swizzle: layout type 1 in bits 62-63; stride byte offset 1024 between 8-row groups
__device__ __forceinline__ u64 mk(unsigned addr) {
    return (u64)((addr & 0x3FFFF) >> 4) | ((u64)1 << 16) | ((u64)64 << 32) | ((u64)1 << 62);
}
__device__ __forceinline__ void wgmma64(float* d, u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {@REGS@}, %32, %33, 1, 1, 1, 0, 1;"
                 : @OUTS@ : "l"(a), "l"(b));
}
extern "C" __global__ void __launch_bounds__(256) silu_gate_wgmma(
    const bf16* __restrict__ A, const bf16* __restrict__ G, const bf16* __restrict__ U, bf16* __restrict__ C,
    int M, int N, int K) {
    extern __shared__ unsigned char raw[];
    const unsigned base = ((unsigned)__cvta_generic_to_shared(raw) + 1023u) & ~1023u;
    const int tid = threadIdx.x, wg = tid >> 7, warp = (tid >> 5) & 3, lane = tid & 31;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN, nt = (K + BK - 1) / BK;
    auto issue = [&](int t) {
        unsigned s = base + (t % ST) * STAGE;
        int c = tid & 7, k0 = t * BK;
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int r = (tid >> 3) + 32 * p;
            bool ok = m0 + r < M && k0 + c * 8 < K;
            cp16(s + r * 128 + ((c ^ (r & 7)) << 4), ok ? A + (size_t)(m0 + r) * K + k0 + c * 8 : A, ok);
        }
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int r = (tid >> 3) + 32 * p;
            bool ok = k0 + r < K && n0 + c * 8 < N;
            size_t o = ok ? (size_t)(k0 + r) * N + n0 + c * 8 : 0;
            unsigned d = r * 128 + ((c ^ (r & 7)) << 4);
            cp16(s + A_B + d, G + o, ok);
            cp16(s + A_B + W_B + d, U + o, ok);
        }
    };
    float g[32], u[32];
    #pragma unroll
    for (int i = 0; i < 32; ++i) g[i] = u[i] = 0.f;
    for (int t = 0; t < ST - 1; ++t) { if (t < nt) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nt; ++t) {
        asm volatile("cp.async.wait_group %0;" :: "n"(ST - 2) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        unsigned s = base + (t % ST) * STAGE, sa = s + wg * 64 * 128;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int kk = 0; kk < 4; ++kk) {
            u64 da = mk(sa + kk * 32);
            wgmma64(g, da, mk(s + A_B + kk * 2048));
            wgmma64(u, da, mk(s + A_B + W_B + kk * 2048));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (t + ST - 1 < nt) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    const int r0 = m0 + wg * 64 + warp * 16 + (lane >> 2);
    #pragma unroll
    for (int i = 0; i < 32; i += 2) {
        int r = r0 + ((i >> 1) & 1) * 8, c = n0 + (i >> 2) * 8 + (lane & 3) * 2;
        float x = g[i], y = g[i + 1];
        x = __fdividef(x, 1.f + __expf(-x)) * u[i];
        y = __fdividef(y, 1.f + __expf(-y)) * u[i + 1];
        if (r < M && c < N) *(__nv_bfloat162*)(C + (size_t)r * N + c) = __floats2bfloat162_rn(x, y);
    }
}
""".replace("@REGS@", _G).replace("@OUTS@", _O))


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    program.silu_gate_wgmma(((N + 63) // 64, (M + 127) // 128), (256,), (a, gate, up, c, M, N, K), 4 * 32768 + 1024)
    return c
