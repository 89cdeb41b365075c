import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
// wmma: x tile [position + halo][16 channels] (col_major B), weights [tap][64 outputs][16 channels] (row_major A).
// Warp w: 16 output channels, 4 position groups of 16, two phases -> 8 accumulators.
#define TL 64
#define TO 64
extern "C" __global__ void __launch_bounds__(128) convt_wmma(const __half* __restrict__ x, const __half* __restrict__ w,
                                 __half* __restrict__ out, int C, int O, int L) {
    __shared__ __align__(128) __half xs[(TL + 2) * 16];
    __shared__ __align__(128) __half ws[4 * TO * 16];
    __shared__ __align__(128) float es[4][2][256];
    int m0 = blockIdx.x * TL, o0 = blockIdx.y * TO, b = blockIdx.z;
    int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
    const __half zero = __float2half(0.f);
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> ev[4], od[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) { wmma::fill_fragment(ev[j], 0.f); wmma::fill_fragment(od[j], 0.f); }
    for (int c0 = 0; c0 < C; c0 += 16) {
        for (int i = tid; i < 16 * (TL + 2); i += 128) {
            int c = i / (TL + 2), p = i % (TL + 2), m = m0 + p - 1;
            xs[p * 16 + c] = (c0 + c < C && m >= 0 && m < L) ? x[((long long)b * C + c0 + c) * L + m] : zero;
        }
        for (int i = tid; i < 16 * TO * 4; i += 128) {
            int c = i / (TO * 4), q = i % (TO * 4), o = q >> 2, k = q & 3;
            ws[(k * TO + o) * 16 + c] = (c0 + c < C && o0 + o < O) ? w[((long long)(c0 + c) * O + o0) * 4 + q] : zero;
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) wmma::load_matrix_sync(a[k], ws + (k * TO + warp * 16) * 16, 16);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> f;
            wmma::load_matrix_sync(f, xs + (j * 16) * 16, 16);       // x[m - 1]
            wmma::mma_sync(ev[j], a[3], f, ev[j]);
            wmma::load_matrix_sync(f, xs + (j * 16 + 1) * 16, 16);   // x[m]
            wmma::mma_sync(ev[j], a[1], f, ev[j]);
            wmma::mma_sync(od[j], a[2], f, od[j]);
            wmma::load_matrix_sync(f, xs + (j * 16 + 2) * 16, 16);   // x[m + 1]
            wmma::mma_sync(od[j], a[0], f, od[j]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        wmma::store_matrix_sync(es[warp][0], ev[j], 16, wmma::mem_row_major);
        wmma::store_matrix_sync(es[warp][1], od[j], 16, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < 256; i += 32) {
            int o = o0 + warp * 16 + i / 16, m = m0 + j * 16 + i % 16;
            if (o < O && m < L)
                reinterpret_cast<__half2*>(out)[((long long)b * O + o) * L + m] = __floats2half2_rn(es[warp][0][i], es[warp][1][i]);
        }
        __syncwarp();
    }
}
""")


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[1]
    out = torch.empty((B, O, 2 * L), device=x.device, dtype=x.dtype)
    program.convt_wmma(((L + 63) // 64, (O + 63) // 64, B), (128,), (x, weights, out, C, O, L))
    return out
