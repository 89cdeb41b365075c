import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;
// cp.async 4-stage ring, ldmatrix.trans on BOTH operands (A is m-contiguous), mma.m16n8k16 bf16.
constexpr int BM = 128, BN = 128, BK = 32, ST = 4;
constexpr int TILE = BK * 128;   // elements per operand and stage

__device__ __forceinline__ unsigned sptr(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ int at(int r, int chunk) { return r * 128 + ((chunk ^ (r & 7)) << 3); }
__device__ __forceinline__ void ldsm_t(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, const bf16* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(sptr(p)));
}

extern "C" __global__ void __launch_bounds__(256, 2) matmul_at_mma(
    const bf16* __restrict__ a, const bf16* __restrict__ b, bf16* __restrict__ c, int M, int N, int K) {
    extern __shared__ __align__(128) bf16 sm[];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wm = (warp & 1) * 64, wn = (warp >> 1) * 32;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int nk = (K + BK - 1) / BK;

    auto issue = [&](int t) {
        bf16* sa = sm + (t % ST) * 2 * TILE;
        bf16* sb = sa + TILE;
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int r = (tid >> 4) + p * 16, ch = tid & 15, k = t * BK + r;
            bool oka = k < K && m0 + ch * 8 < M, okb = k < K && n0 + ch * 8 < N;
            const bf16* ga = oka ? a + (size_t)k * M + m0 + ch * 8 : a;
            const bf16* gb = okb ? b + (size_t)k * N + n0 + ch * 8 : b;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sptr(sa + at(r, ch))), "l"(ga), "r"(oka ? 16 : 0));
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sptr(sb + at(r, ch))), "l"(gb), "r"(okb ? 16 : 0));
        }
    };
    float acc[4][4][4] = {};
    for (int t = 0; t < ST - 1; ++t) { if (t < nk) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nk; ++t) {
        asm volatile("cp.async.wait_group 2;");
        __syncthreads();
        if (t + ST - 1 < nk) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        const bf16* sa = sm + (t % ST) * 2 * TILE;
        const bf16* sb = sa + TILE;
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            unsigned fa[4][4], fb[4][2];
            // matrices in order (m0,k0) (m8,k0) (m0,k8) (m8,k8): lanes 8-15 step m, lanes 16-31 step k
            int ka = kk + (lane & 7) + ((lane >> 4) << 3), ma = (lane >> 3) & 1;
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                ldsm_t(fa[i][0], fa[i][1], fa[i][2], fa[i][3], sa + at(ka, (wm >> 3) + i * 2 + ma));
            int kb = kk + (lane & 15), nb = lane >> 4;
            #pragma unroll
            for (int j = 0; j < 2; ++j)
                ldsm_t(fb[2*j][0], fb[2*j][1], fb[2*j+1][0], fb[2*j+1][1], sb + at(kb, (wn >> 3) + j * 2 + nb));
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                        : "r"(fa[i][0]), "r"(fa[i][1]), "r"(fa[i][2]), "r"(fa[i][3]), "r"(fb[j][0]), "r"(fb[j][1]));
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int m = m0 + wm + i * 16 + (lane >> 2), n = n0 + wn + j * 8 + (lane & 3) * 2;
            if (n >= N) continue;
            if (m < M) *(__nv_bfloat162*)(c + (size_t)m * N + n) = __floats2bfloat162_rn(acc[i][j][0], acc[i][j][1]);
            if (m + 8 < M) *(__nv_bfloat162*)(c + (size_t)(m + 8) * N + n) = __floats2bfloat162_rn(acc[i][j][2], acc[i][j][3]);
        }
}
""")


def kernel(a, b):
    K, M = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    program.matmul_at_mma(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K), 4 * 2 * 32 * 128 * 2)
    return c
