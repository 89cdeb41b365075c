import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
// 64x128 tile per block, 4 warps side by side (64x32 each), wmma.
constexpr int BM = 64, BN = 128, BK = 32, LA = BK + 8, LB = BN + 8, LC = BN + 4;
extern "C" __global__ void __launch_bounds__(128) grouped_wmma(
    const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c, int m, int N, int K) {
    __shared__ __align__(32) unsigned char raw[BM * LC * 4];       // tiles during the loop, float C afterwards
    __half* As = (__half*)raw;
    __half* Bs = As + BM * LA;
    float* Cs = (float*)raw;
    const size_t g = blockIdx.z;
    a += g * m * K; b += g * K * N; c += g * m * N;
    const int tid = threadIdx.x, warp = tid / 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4][2];
    for (int i = 0; i < 4; ++i) for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.f);
    const uint4 z = make_uint4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += BK) {
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int v = tid + p * 128, r = v / 4, q = (v % 4) * 8;
            *(uint4*)&As[r * LA + q] = (m0 + r < m && k0 + q < K) ? *(const uint4*)(a + (size_t)(m0 + r) * K + k0 + q) : z;
        }
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int v = tid + p * 128, r = v / 16, q = (v % 16) * 8;
            *(uint4*)&Bs[r * LB + q] = (k0 + r < K && n0 + q < N) ? *(const uint4*)(b + (size_t)(k0 + r) * N + n0 + q) : z;
        }
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb[2];
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(fb[j], &Bs[kk * LB + warp * 32 + j * 16], LB);
            for (int i = 0; i < 4; ++i) {
                wmma::load_matrix_sync(fa, &As[i * 16 * LA + kk], LA);
                for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], fa, fb[j], acc[i][j]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(&Cs[i * 16 * LC + warp * 32 + j * 16], acc[i][j], LC, wmma::mem_row_major);
    __syncthreads();
    for (int v = tid; v < BM * BN / 2; v += 128) {
        int r = v / (BN / 2), q = (v % (BN / 2)) * 2;
        if (m0 + r < m && n0 + q < N)
            *(__half2*)(c + (size_t)(m0 + r) * N + n0 + q) = __floats2half2_rn(Cs[r * LC + q], Cs[r * LC + q + 1]);
    }
}
""")


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    program.grouped_wmma(((N + 127) // 128, (m + 63) // 64, G), (128,), (a, b, c, m, N, K))
    return c
