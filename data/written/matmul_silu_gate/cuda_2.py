import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
typedef __nv_bfloat16 bf16;
// 128x64 output tile, 8 warps in 4x2, each warp 32x32 of gate AND of up: the accumulator fragments of the two products
// have the same layout, so silu(g)*u is applied elementwise on the fragments before staging.
constexpr int BM = 128, BN = 64, BK = 32, LA = BK + 8, LB = BN + 8;

extern "C" __global__ void __launch_bounds__(256) silu_gate_wmma(
    const bf16* __restrict__ A, const bf16* __restrict__ G, const bf16* __restrict__ U, bf16* __restrict__ C,
    int M, int N, int K) {
    __shared__ __align__(32) bf16 sa[BM * LA], sg[BK * LB], su[BK * LB];
    __shared__ __align__(32) float out[8][16 * 20];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int wm = warp / 2 * 32, wn = warp % 2 * 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> g[2][2], u[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) { wmma::fill_fragment(g[i][j], 0.f); wmma::fill_fragment(u[i][j], 0.f); }
    const uint4 zero = make_uint4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int p = 0; p < 2; ++p) {
            int v = tid + p * 256, r = v / 4, c = v % 4 * 8;
            *(uint4*)&sa[r * LA + c] = (m0 + r < M && k0 + c < K) ? *(const uint4*)&A[(size_t)(m0 + r) * K + k0 + c] : zero;
        }
        int r = tid / 8, c = tid % 8 * 8;
        bool ok = k0 + r < K && n0 + c < N;
        size_t at = (size_t)(k0 + r) * N + n0 + c;
        *(uint4*)&sg[r * LB + c] = ok ? *(const uint4*)&G[at] : zero;
        *(uint4*)&su[r * LB + c] = ok ? *(const uint4*)&U[at] : zero;
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> fb;
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(fa[i], &sa[(wm + i * 16) * LA + kk], LA);
            for (int j = 0; j < 2; ++j) {
                wmma::load_matrix_sync(fb, &sg[kk * LB + wn + j * 16], LB);
                for (int i = 0; i < 2; ++i) wmma::mma_sync(g[i][j], fa[i], fb, g[i][j]);
                wmma::load_matrix_sync(fb, &su[kk * LB + wn + j * 16], LB);
                for (int i = 0; i < 2; ++i) wmma::mma_sync(u[i][j], fa[i], fb, u[i][j]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            for (int e = 0; e < g[i][j].num_elements; ++e) {
                float x = g[i][j].x[e];
                g[i][j].x[e] = x / (1.f + __expf(-x)) * u[i][j].x[e];
            }
            wmma::store_matrix_sync(out[warp], g[i][j], 20, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 256; e += 32) {
                int r = m0 + wm + i * 16 + e / 16, c = n0 + wn + j * 16 + e % 16;
                if (r < M && c < N) C[(size_t)r * N + c] = __float2bfloat16(out[warp][e / 16 * 20 + e % 16]);
            }
            __syncwarp();
        }
}
""")


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    program.silu_gate_wmma(((N + 63) // 64, (M + 127) // 128), (256,), (a, gate, up, c, M, N, K))
    return c
