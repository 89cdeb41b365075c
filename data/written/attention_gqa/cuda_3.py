import torch
from foretell.cuda import compile

# wmma, one warp per head of the group: the 4 warps of a block hold the same 16 query positions of the 4 heads, and
# share each 64-key tile of K and V.
SOURCE = r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define BN 64
#define LD (DIM + 8)

extern "C" __global__ void __launch_bounds__(128) gqa_wmma(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    extern __shared__ __align__(128) unsigned char raw[];
    __half* sK = reinterpret_cast<__half*>(raw);
    __half* sV = sK + BN * LD;
    __half* sQ = sV + BN * LD;                       // 4 x 16 rows
    __half* sP = sQ + 64 * LD;                       // 4 x 16 x (BN + 8)
    float* sS = reinterpret_cast<float*>(sP + 64 * (BN + 8));   // 4 x 16 x (BN + 4)
    float* sO = sS + 64 * (BN + 4);                  // 4 x 16 x (DIM + 4)

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int head = blockIdx.y * 4 + warp;
    const int row0 = blockIdx.x * 16;
    const __half* kb = k + (size_t)blockIdx.y * length * DIM;
    const __half* vb = v + (size_t)blockIdx.y * length * DIM;
    __half* myQ = sQ + warp * 16 * LD;
    __half* myP = sP + warp * 16 * (BN + 8);
    float* myS = sS + warp * 16 * (BN + 4);
    float* myO = sO + warp * 16 * (DIM + 4);

    for (int i = lane; i < 16 * DIM / 8; i += 32) {
        int r = i / (DIM / 8), c = i % (DIM / 8) * 8;
        uint4 x = make_uint4(0, 0, 0, 0);
        if (row0 + r < length) x = *reinterpret_cast<const uint4*>(q + ((size_t)head * length + row0 + r) * DIM + c);
        *reinterpret_cast<uint4*>(myQ + r * LD + c) = x;
    }
    for (int i = lane; i < 16 * (DIM + 4); i += 32) myO[i] = 0.f;
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> qa[DIM / 16];
    #pragma unroll
    for (int d = 0; d < DIM / 16; d++) wmma::load_matrix_sync(qa[d], myQ + d * 16, LD);

    const int r = lane / 2, side = lane % 2;          // softmax: two lanes per row
    float m = -1e30f, l = 0.f;
    for (int n0 = 0; n0 < length; n0 += BN) {
        __syncthreads();
        for (int i = threadIdx.x; i < BN * DIM / 8; i += 128) {
            int rr = i / (DIM / 8), c = i % (DIM / 8) * 8;
            uint4 x = make_uint4(0, 0, 0, 0), y = x;
            if (n0 + rr < length) {
                x = *reinterpret_cast<const uint4*>(kb + (size_t)(n0 + rr) * DIM + c);
                y = *reinterpret_cast<const uint4*>(vb + (size_t)(n0 + rr) * DIM + c);
            }
            *reinterpret_cast<uint4*>(sK + rr * LD + c) = x;
            *reinterpret_cast<uint4*>(sV + rr * LD + c) = y;
        }
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < BN / 16; n++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
            wmma::fill_fragment(s, 0.f);
            #pragma unroll
            for (int d = 0; d < DIM / 16; d++) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(b, sK + n * 16 * LD + d * 16, LD);
                wmma::mma_sync(s, qa[d], b, s);
            }
            wmma::store_matrix_sync(myS + n * 16, s, BN + 4, wmma::mem_row_major);
        }
        __syncwarp();
        const int valid = min(BN, length - n0);
        float top = m, sum = 0.f;
        for (int c = side; c < valid; c += 2) top = fmaxf(top, myS[r * (BN + 4) + c] * scale);
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        for (int c = side; c < BN; c += 2) {
            float p = c < valid ? exp2f(myS[r * (BN + 4) + c] * scale - top) : 0.f;
            sum += p;
            myP[r * (BN + 8) + c] = __float2half(p);
        }
        float corr = exp2f(m - top);
        l = l * corr + sum + __shfl_xor_sync(0xffffffffu, sum, 1);
        m = top;
        for (int c = side; c < DIM; c += 2) myO[r * (DIM + 4) + c] *= corr;
        __syncwarp();
        #pragma unroll
        for (int d = 0; d < DIM / 16; d++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
            wmma::load_matrix_sync(o, myO + d * 16, DIM + 4, wmma::mem_row_major);
            #pragma unroll
            for (int n = 0; n < BN / 16; n++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
                wmma::load_matrix_sync(a, myP + n * 16, BN + 8);
                wmma::load_matrix_sync(b, sV + n * 16 * LD + d * 16, LD);
                wmma::mma_sync(o, a, b, o);
            }
            wmma::store_matrix_sync(myO + d * 16, o, DIM + 4, wmma::mem_row_major);
        }
        __syncwarp();
    }
    if (row0 + r < length)
        for (int c = side; c < DIM; c += 2)
            out[((size_t)head * length + row0 + r) * DIM + c] = __float2half(myO[r * (DIM + 4) + c] / l);
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    shared = 2 * (3 * 64 * (dim + 8) + 64 * 72) + 4 * (64 * 68 + 64 * (dim + 4))
    programs[dim].gqa_wmma(
        ((length + 15) // 16, heads // 4), (128,), (q, k, v, out, length, dim**-0.5 * 1.44269504), shared
    )
    return out
