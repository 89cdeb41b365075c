import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
// cp.async 3 stages + ldmatrix + mma.sync. Block 128x64 for both products, BK=64, 8 warps (4x2) of 32x32.
constexpr int BM = 128, BN = 64, BK = 64, ST = 3;
constexpr int SA = BM * BK, SB = BK * BN, STAGE = SA + 2 * SB;
__device__ __forceinline__ unsigned s32(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void cp16(const bf16* d, const bf16* s, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(s32(d)), "l"(s), "r"(ok ? 16 : 0));
}
// all tiles have 64-element rows: 8 chunks of 16 bytes, xor with row
__device__ __forceinline__ int at(int r, int c) { return r * 64 + ((c ^ (r & 7)) << 3); }
__device__ __forceinline__ void mma(float* d, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void ldb(unsigned b[4][2], const bf16* s, int kk, int wn, int lane) {
    #pragma unroll
    for (int j = 0; j < 2; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(b[2*j][0]), "=r"(b[2*j][1]), "=r"(b[2*j+1][0]), "=r"(b[2*j+1][1])
            : "r"(s32(s + at(kk * 16 + (lane & 15), wn / 8 + j * 2 + (lane >> 4)))));
}
__device__ __forceinline__ float gate_mul(float g, float u) { return __fdividef(g, 1.f + __expf(-g)) * u; }

extern "C" __global__ void __launch_bounds__(256) silu_gate_mma(
    const bf16* __restrict__ A, const bf16* __restrict__ G, const bf16* __restrict__ U, bf16* __restrict__ C,
    int M, int N, int K) {
    extern __shared__ __align__(128) bf16 sm[];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wm = (warp >> 1) * 32, wn = (warp & 1) * 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int nt = (K + BK - 1) / BK;
    auto issue = [&](int t) {
        bf16* sa = sm + (t % ST) * STAGE;
        const int k0 = t * BK, c = tid & 7;
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int r = (tid >> 3) + p * 32;
            bool ok = m0 + r < M && k0 + c * 8 < K;
            cp16(sa + at(r, c), ok ? A + (size_t)(m0 + r) * K + k0 + c * 8 : A, ok);
        }
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int r = (tid >> 3) + p * 32;
            bool ok = k0 + r < K && n0 + c * 8 < N;
            size_t o = ok ? (size_t)(k0 + r) * N + n0 + c * 8 : 0;
            cp16(sa + SA + at(r, c), G + o, ok);
            cp16(sa + SA + SB + at(r, c), U + o, ok);
        }
    };
    float g[2][4][4] = {}, u[2][4][4] = {};
    for (int t = 0; t < ST - 1; ++t) { if (t < nt) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nt; ++t) {
        asm volatile("cp.async.wait_group %0;" :: "n"(ST - 2));
        __syncthreads();
        if (t + ST - 1 < nt) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        const bf16* sa = sm + (t % ST) * STAGE;
        #pragma unroll
        for (int kk = 0; kk < BK / 16; ++kk) {
            unsigned a[2][4], b[4][2];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                    : "r"(s32(sa + at(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)))));
            ldb(b, sa + SA, kk, wn, lane);
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) mma(g[i][j], a[i], b[j]);
            ldb(b, sa + SA + SB, kk, wn, lane);
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) mma(u[i][j], a[i], b[j]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j)
            #pragma unroll
            for (int h = 0; h < 2; ++h) {
                int r = m0 + wm + i * 16 + (lane >> 2) + h * 8, c = n0 + wn + j * 8 + (lane & 3) * 2;
                if (r < M && c < N)
                    *(__nv_bfloat162*)(C + (size_t)r * N + c) = __floats2bfloat162_rn(
                        gate_mul(g[i][j][2*h], u[i][j][2*h]), gate_mul(g[i][j][2*h+1], u[i][j][2*h+1]));
            }
}
""")


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    smem = 3 * (128 * 64 + 2 * 64 * 64) * 2
    program.silu_gate_mma(((N + 63) // 64, (M + 127) // 128), (256,), (a, gate, up, c, M, N, K), smem)
    return c
