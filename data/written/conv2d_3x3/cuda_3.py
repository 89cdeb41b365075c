import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
// wmma implicit GEMM. Output tile: 4 rows x 16 columns of pixels x 64 channels. The 6x18 halo is stored
// [pixel][16 channels] in shared memory, so a B fragment (16 pixels of one row) for tap (ky, kx) is a plain col_major
// load with ldm = 16: rows shift by 32 bytes, always aligned. Four warps, one 16-channel strip each, 4 pixel rows.
#define TC 16
extern "C" __global__ void __launch_bounds__(128) conv3x3_wmma(const __half* __restrict__ x, const __half* __restrict__ w,
                                   __half* __restrict__ out, int C, int O, int H, int W, int tiles_x) {
    __shared__ __align__(128) __half xs[6 * 18 * TC];
    __shared__ __align__(128) __half ws[9 * 64 * TC];
    __shared__ __align__(128) float os[4][16 * 16];
    int y0 = (blockIdx.x / tiles_x) * 4, x0 = (blockIdx.x % tiles_x) * 16;
    int o0 = blockIdx.y * 64, n = blockIdx.z;
    int tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
    const __half* xb = x + (long long)n * C * H * W;
    const __half zero = __float2half(0.f);
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4];
    #pragma unroll
    for (int r = 0; r < 4; ++r) wmma::fill_fragment(acc[r], 0.f);
    for (int c0 = 0; c0 < C; c0 += TC) {
        for (int i = tid; i < TC * 108; i += 128) {
            int c = i / 108, q = i % 108;
            int iy = y0 + q / 18 - 1, ix = x0 + q % 18 - 1;
            bool ok = c0 + c < C && iy >= 0 && iy < H && ix >= 0 && ix < W;
            xs[q * TC + c] = ok ? xb[((long long)(c0 + c) * H + iy) * W + ix] : zero;
        }
        for (int i = tid; i < 64 * TC * 9; i += 128) {
            int o = i / (TC * 9), ck = i % (TC * 9), c = ck / 9, t = ck % 9;
            ws[(t * 64 + o) * TC + c] = (o0 + o < O && c0 + c < C) ? w[((long long)(o0 + o) * C + c0) * 9 + ck] : zero;
        }
        __syncthreads();
        #pragma unroll
        for (int t = 0; t < 9; ++t) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
            wmma::load_matrix_sync(a, ws + (t * 64 + warp * 16) * TC, TC);
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(b, xs + ((r + t / 3) * 18 + t % 3) * TC, TC);
                wmma::mma_sync(acc[r], a, b, acc[r]);
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r) {
        wmma::store_matrix_sync(os[warp], acc[r], 16, wmma::mem_row_major);
        __syncwarp();
        for (int i = lane; i < 256; i += 32) {
            int o = o0 + warp * 16 + i / 16, xx = x0 + i % 16, y = y0 + r;
            if (o < O && y < H && xx < W) out[(((long long)n * O + o) * H + y) * W + xx] = __float2half(os[warp][i]);
        }
        __syncwarp();
    }
}
""")


def kernel(x, weights):
    N, C, H, W = x.shape
    O = weights.shape[0]
    out = torch.empty((N, O, H, W), device=x.device, dtype=x.dtype)
    tx, ty = (W + 15) // 16, (H + 3) // 4
    program.conv3x3_wmma((tx * ty, (O + 63) // 64, N), (128,), (x, weights, out, C, O, H, W, tx))
    return out
