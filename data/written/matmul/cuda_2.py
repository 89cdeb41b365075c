import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// 128x128 block tile, 8 warps (4x2), each warp 32x64 of wmma 16x16x16 fragments.
constexpr int BM = 128, BN = 128, BK = 32;
constexpr int LDA = BK + 8, LDB = BN + 8;   // +8 halves against bank conflicts

extern "C" __global__ void __launch_bounds__(256) matmul_wmma(
    const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C, int M, int N, int K) {
    __shared__ __align__(16) __half As[BM * LDA];
    __shared__ __align__(16) __half Bs[BK * LDB];
    __shared__ __align__(16) float stage[8][16 * 16];

    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int wm = (warp / 2) * 32, wn = (warp % 2) * 64;
    const int bm = blockIdx.y * BM, bn = blockIdx.x * BN;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][4];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) wmma::fill_fragment(acc[i][j], 0.0f);

    const uint4 zero = make_uint4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        // A: 128x32 halves = 512 vectors of 8 halves, B: 32x128 likewise. K, N are multiples of 8.
        #pragma unroll
        for (int i = tid; i < BM * BK / 8; i += 256) {
            int r = i / (BK / 8), c = (i % (BK / 8)) * 8;
            bool ok = bm + r < M && k0 + c < K;
            *(uint4*)&As[r * LDA + c] = ok ? *(const uint4*)&A[(size_t)(bm + r) * K + k0 + c] : zero;
        }
        #pragma unroll
        for (int i = tid; i < BK * BN / 8; i += 256) {
            int r = i / (BN / 8), c = (i % (BN / 8)) * 8;
            bool ok = k0 + r < K && bn + c < N;
            *(uint4*)&Bs[r * LDB + c] = ok ? *(const uint4*)&B[(size_t)(k0 + r) * N + bn + c] : zero;
        }
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[4];
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(fa[i], &As[(wm + i * 16) * LDA + kk], LDA);
            for (int j = 0; j < 4; ++j) wmma::load_matrix_sync(fb[j], &Bs[kk * LDB + wn + j * 16], LDB);
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 4; ++j) wmma::mma_sync(acc[i][j], fa[i], fb[j], acc[i][j]);
        }
        __syncthreads();
    }

    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) {
            wmma::store_matrix_sync(stage[warp], acc[i][j], 16, wmma::mem_row_major);
            __syncwarp();
            for (int e = lane; e < 256; e += 32) {
                int r = bm + wm + i * 16 + e / 16, c = bn + wn + j * 16 + e % 16;
                if (r < M && c < N) C[(size_t)r * N + c] = __float2half(stage[warp][e]);
            }
            __syncwarp();
        }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    program.matmul_wmma(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K))
    return c
