import torch

from foretell.cuda import compile

program = compile(r"""
#include <mma.h>
using namespace nvcuda;
// wmma 16x16x16 s8: 128x128 block, 8 warps 2x4 each 64x32.
constexpr int BM = 128, BN = 128, BK = 64, LA = BK + 16, LB = BN + 16;
extern "C" __global__ void __launch_bounds__(256) igemm_wmma(
    const signed char* __restrict__ A, const signed char* __restrict__ B, int* __restrict__ C, int M, int N, int K) {
    __shared__ __align__(32) signed char As[BM * LA];
    __shared__ __align__(32) signed char Bs[BK * LB];
    __shared__ __align__(32) int out[8][256];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int wm = (warp / 4) * 64, wn = (warp % 4) * 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc[4][2];
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0);
    const uint4 zero = make_uint4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int v = tid + p * 256;
            int r = v / 4, c = (v % 4) * 16;              // 128 rows of 64 bytes
            *(uint4*)&As[r * LA + c] = (m0 + r < M && k0 + c < K) ? *(const uint4*)(A + (size_t)(m0 + r) * K + k0 + c) : zero;
            r = v / 8; c = (v % 8) * 16;                  // 64 rows of 128 bytes
            *(uint4*)&Bs[r * LB + c] = (k0 + r < K && n0 + c < N) ? *(const uint4*)(B + (size_t)(k0 + r) * N + n0 + c) : zero;
        }
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa[4];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> fb[2];
            for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(fa[i], &As[(wm + i * 16) * LA + kk], LA);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &Bs[kk * LB + wn + j * 16], LB);
            for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) {
            int m = m0 + wm + i * 16, n = n0 + wn + j * 16;
            if (n >= N || m >= M) continue;
            if (m + 16 <= M) {
                wmma::store_matrix_sync(C + (size_t)m * N + n, acc[i][j], N, wmma::mem_row_major);   // N % 16 == 0
            } else {
                wmma::store_matrix_sync(out[warp], acc[i][j], 16, wmma::mem_row_major);
                __syncwarp();
                for (int e = lane; e < 256; e += 32)
                    if (m + e / 16 < M) C[(size_t)(m + e / 16) * N + n + e % 16] = out[warp][e];
                __syncwarp();
            }
        }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.int32)
    program.igemm_wmma(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K))
    return c
