import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
// wmma version: a warp takes 16 rows and accumulates the 16x16 blocks A*B^T, A*A^T, B*B^T, then reads the
// diagonals. B^T in col_major with leading dimension cols is just B in row-major, so fragments load straight
// from global memory. The wmma loads need 16-row tiles and ldm % 8 == 0: other cases take the scalar kernel.
extern "C" __global__ void __launch_bounds__(128) cosine_wmma(const __half* __restrict__ a, const __half* __restrict__ b,
                                                              float* __restrict__ out, int rows, int cols) {
    __shared__ float diag[4][3][256];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row0 = blockIdx.x * 16;
    // the four warps split the columns
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> ab, aa, bb;
    wmma::fill_fragment(ab, 0.0f);
    wmma::fill_fragment(aa, 0.0f);
    wmma::fill_fragment(bb, 0.0f);
    const __half* pa = a + (size_t)row0 * cols;
    const __half* pb = b + (size_t)row0 * cols;
    for (int k = warp * 16; k < cols; k += 64) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> ra, rb;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> ca, cb;
        wmma::load_matrix_sync(ra, pa + k, cols);
        wmma::load_matrix_sync(cb, pb + k, cols);
        wmma::load_matrix_sync(rb, pb + k, cols);
        wmma::load_matrix_sync(ca, pa + k, cols);
        wmma::mma_sync(ab, ra, cb, ab);
        wmma::mma_sync(aa, ra, ca, aa);
        wmma::mma_sync(bb, rb, cb, bb);
    }
    wmma::store_matrix_sync(diag[warp][0], ab, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(diag[warp][1], aa, 16, wmma::mem_row_major);
    wmma::store_matrix_sync(diag[warp][2], bb, 16, wmma::mem_row_major);
    __syncthreads();
    if (threadIdx.x < 16) {
        float v[3];
        for (int j = 0; j < 3; ++j) {
            v[j] = 0.0f;
            for (int w = 0; w < 4; ++w) v[j] += diag[w][j][threadIdx.x * 17];
        }
        out[row0 + threadIdx.x] = v[0] / (sqrtf(fmaxf(v[1], 1e-16f)) * sqrtf(fmaxf(v[2], 1e-16f)));
    }
}

extern "C" __global__ void cosine_scalar(const __half* a, const __half* b, float* out, int row0, int rows, int cols) {
    int row = row0 + blockIdx.x;
    if (row >= rows) return;
    float d = 0, x2 = 0, y2 = 0;
    for (int i = threadIdx.x; i < cols; i += 32) {
        float x = __half2float(a[(size_t)row * cols + i]), y = __half2float(b[(size_t)row * cols + i]);
        d += x * y; x2 += x * x; y2 += y * y;
    }
    for (int o = 16; o; o >>= 1) {
        d += __shfl_xor_sync(~0u, d, o); x2 += __shfl_xor_sync(~0u, x2, o); y2 += __shfl_xor_sync(~0u, y2, o);
    }
    if (threadIdx.x == 0) out[row] = d / (sqrtf(fmaxf(x2, 1e-16f)) * sqrtf(fmaxf(y2, 1e-16f)));
}
""")


def kernel(a, b):
    rows, cols = a.shape
    out = torch.empty(rows, device=a.device, dtype=torch.float32)
    full = rows // 16 if cols % 16 == 0 else 0
    if full:
        program.cosine_wmma((full,), (128,), (a, b, out, rows, cols))
    left = rows - full * 16
    if left:
        program.cosine_scalar((left,), (32,), (a, b, out, full * 16, rows, cols))
    return out
