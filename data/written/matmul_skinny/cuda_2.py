import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// wmma straight from global memory for B (each B element is used once per m-tile, caching it in smem buys
// nothing for m=16); A comes from L1/L2. Split K over blockIdx.z with fp32 atomics.
// m8n32k16 would fit tiny m better, but 16x16 keeps it simple; A padded through shared memory.
extern "C" __global__ void __launch_bounds__(128) skinny_wmma(
    const __half* __restrict__ A, const __half* __restrict__ B, float* __restrict__ acc_out,
    int M, int N, int K, int kchunk) {
    __shared__ __align__(32) __half As[64 * 24];
    __shared__ __align__(32) float out[4][256];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int n0 = (blockIdx.x * 4 + warp) * 16;
    const int k_lo = blockIdx.y * kchunk, k_hi = min(K, k_lo + kchunk);
    const int mt = (M + 15) / 16;

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) wmma::fill_fragment(acc[i], 0.0f);

    for (int k = k_lo; k < k_hi; k += 16) {
        // 64 x 16 slab of A: 128 threads x 8 halves
        int r = threadIdx.x / 2, h = (threadIdx.x % 2) * 8;
        uint4 v = make_uint4(0, 0, 0, 0);
        if (r < M) v = *(const uint4*)(A + (size_t)r * K + k + h);
        *(uint4*)&As[r * 24 + h] = v;
        __syncthreads();
        if (n0 < N) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
            wmma::load_matrix_sync(fb, B + (size_t)k * N + n0, N);
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (i < mt) {
                    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
                    wmma::load_matrix_sync(fa, &As[i * 16 * 24], 24);
                    wmma::mma_sync(acc[i], fa, fb, acc[i]);
                }
            }
        }
        __syncthreads();
    }
    if (n0 >= N) return;
    for (int i = 0; i < mt; ++i) {
        wmma::store_matrix_sync(out[warp], acc[i], 16, wmma::mem_row_major);
        __syncwarp();
        for (int e = lane; e < 256; e += 32) {
            int m = i * 16 + e / 16, n = n0 + e % 16;
            if (m < M) atomicAdd(&acc_out[(size_t)m * N + n], out[warp][e]);
        }
        __syncwarp();
    }
}

extern "C" __global__ void to_half(const float* __restrict__ in, __half* __restrict__ out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2half(in[i]);
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    buf = torch.zeros((M, N), device=a.device, dtype=torch.float32)
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    strips = (N + 63) // 64
    splits = max(1, min(16, (132 * 8) // strips))
    kchunk = ((K + splits - 1) // splits + 15) // 16 * 16
    splits = (K + kchunk - 1) // kchunk
    program.skinny_wmma((strips, splits), (128,), (a, b, buf, M, N, K, kchunk))
    program.to_half(((M * N + 255) // 256,), (256,), (buf, c, M * N))
    return c
