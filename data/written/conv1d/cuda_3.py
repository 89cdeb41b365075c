import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
// Tensor cores through wmma. The x tile is kept transposed in shared memory, xs[position][channel], so a tap is a
// shift by whole rows and wmma pointers stay 32-byte aligned. 64 outputs x 64 positions per block, 4 warps (2 x 2).
#define TO 64
#define TL 64
#define TC 16
#define LDX 16
extern "C" __global__ void __launch_bounds__(128) conv1d_wmma(const __half* __restrict__ x, const __half* __restrict__ w,
                                        __half* __restrict__ out, int C, int O, int L) {
    __shared__ __align__(128) __half xs[(TL + 4) * LDX];
    __shared__ __align__(128) __half ws[5 * TO * TC];
    __shared__ __align__(128) float os[TO * TL];
    int l0 = blockIdx.x * TL, o0 = blockIdx.y * TO, b = blockIdx.z;
    int tid = threadIdx.x, warp = tid / 32;
    int wo = (warp / 2) * 32, wl = (warp % 2) * 32;
    const __half* xb = x + (long long)b * C * L;
    const __half zero = __float2half(0.f);
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(acc[i][j], 0.f);

    for (int c0 = 0; c0 < C; c0 += TC) {
        for (int i = tid; i < TC * (TL + 4); i += 128) {
            int c = i / (TL + 4), p = i % (TL + 4);
            int l = l0 + p - 2;
            xs[p * LDX + c] = (c0 + c < C && l >= 0 && l < L) ? xb[(long long)(c0 + c) * L + l] : zero;
        }
        for (int i = tid; i < TO * TC * 5; i += 128) {
            int o = i / (TC * 5), ck = i % (TC * 5);
            int c = ck / 5, k = ck % 5;
            ws[(k * TO + o) * TC + c] =
                (o0 + o < O && c0 + c < C) ? w[((long long)(o0 + o) * C + c0) * 5 + ck] : zero;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < 5; ++k) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> bm[2];
            for (int i = 0; i < 2; ++i) wmma::load_matrix_sync(a[i], &ws[(k * TO + wo + i * 16) * TC], TC);
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(bm[j], &xs[(wl + j * 16 + k) * LDX], LDX);
            for (int i = 0; i < 2; ++i)
                for (int j = 0; j < 2; ++j) wmma::mma_sync(acc[i][j], a[i], bm[j], acc[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            wmma::store_matrix_sync(&os[(wo + i * 16) * TL + wl + j * 16], acc[i][j], TL, wmma::mem_row_major);
    __syncthreads();
    for (int i = tid; i < TO * TL; i += 128) {
        int o = o0 + i / TL, l = l0 + i % TL;
        if (o < O && l < L) out[((long long)b * O + o) * L + l] = __float2half(os[i]);
    }
}
""")


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    program.conv1d_wmma(((L + 63) // 64, (O + 63) // 64, B), (128,), (x, weights, out, C, O, L))
    return out
