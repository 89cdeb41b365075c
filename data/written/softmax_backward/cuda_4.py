import torch

from foretell.cuda import compile

# Dot products with tensor cores? sum_j y_ij g_ij is the diagonal of Y G^T. For 16 rows at a time, accumulate
# the 16x16 product over k with wmma and take its diagonal: 15/16 of the math is wasted but tensor cores are idle anyway.
# Each block: 16 rows, 8 warps splitting k, partial diagonals summed through shared memory; then an elementwise sweep.
program = compile(r"""
#include <cuda_bf16.h>
#include <mma.h>
using namespace nvcuda;
#define WARPS 8

extern "C" __global__ void __launch_bounds__(WARPS * 32) bwd_wmma(const __nv_bfloat16* __restrict__ y, const __nv_bfloat16* __restrict__ grad, __nv_bfloat16* __restrict__ out, int rows, int cols) {
    __shared__ float tile[WARPS][256];
    __shared__ float dots[16];
    const int warp = threadIdx.x >> 5;
    const int row0 = blockIdx.x * 16;
    const int have = min(16, rows - row0);
    const __nv_bfloat16* yb = y + (size_t)row0 * cols;
    const __nv_bfloat16* gb = grad + (size_t)row0 * cols;
    __nv_bfloat16* ob = out + (size_t)row0 * cols;

    if (have == 16 && cols % 16 == 0) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;   // G^T
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
        wmma::fill_fragment(acc, 0.f);
        for (int k = warp * 16; k < cols; k += WARPS * 16) {
            wmma::load_matrix_sync(a, yb + k, cols);
            wmma::load_matrix_sync(b, gb + k, cols);
            wmma::mma_sync(acc, a, b, acc);
        }
        wmma::store_matrix_sync(tile[warp], acc, 16, wmma::mem_row_major);
        __syncthreads();
        if (threadIdx.x < 16) {
            float s = 0.f;
            for (int w = 0; w < WARPS; ++w) s += tile[w][threadIdx.x * 17];
            dots[threadIdx.x] = s;
        }
    } else {
        // ragged tail: plain warp dot products
        const int lane = threadIdx.x & 31;
        for (int r = warp; r < have; r += WARPS) {
            float s = 0.f;
            for (int c = lane; c < cols; c += 32)
                s += __bfloat162float(yb[(size_t)r * cols + c]) * __bfloat162float(gb[(size_t)r * cols + c]);
            for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
            if (lane == 0) dots[r] = s;
        }
    }
    __syncthreads();

    const int n = have * cols;
    if (cols % 2 == 0) {
        for (int i = threadIdx.x; i < n / 2; i += WARPS * 32) {
            float d = dots[(2 * i) / cols];
            float2 u = __bfloat1622float2(((const __nv_bfloat162*)yb)[i]);
            float2 v = __bfloat1622float2(((const __nv_bfloat162*)gb)[i]);
            ((__nv_bfloat162*)ob)[i] = __floats2bfloat162_rn(u.x * (v.x - d), u.y * (v.y - d));
        }
    } else {
        for (int i = threadIdx.x; i < n; i += WARPS * 32) {
            float u = __bfloat162float(yb[i]);
            ob[i] = __float2bfloat16(u * (__bfloat162float(gb[i]) - dots[i / cols]));
        }
    }
}
""")


def kernel(y, grad):
    rows, cols = y.shape
    out = torch.empty_like(y)
    program.bwd_wmma(((rows + 15) // 16,), (256,), (y, grad, out, rows, cols))
    return out
