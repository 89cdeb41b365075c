import torch
from foretell.cuda import compile

# Tensor cores through wmma. 4 warps, 64 queries x 64 keys per step. Scores and the output accumulator live in shared
# memory because wmma fragments have an opaque layout and the rows must be rescaled.
SOURCE = r"""
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define BM 64
#define BN 64
#define LDH (DIM + 8)
#define LDS (BN + 4)
#define LDP (BN + 8)
#define LDO (DIM + 4)

__device__ void load_tile(__half* dst, const __half* src, int row0, int length) {
    for (int i = threadIdx.x; i < 64 * DIM / 8; i += 128) {
        int r = i / (DIM / 8), c = (i % (DIM / 8)) * 8;
        uint4 val = make_uint4(0, 0, 0, 0);
        if (row0 + r < length) val = *reinterpret_cast<const uint4*>(src + (size_t)(row0 + r) * DIM + c);
        *reinterpret_cast<uint4*>(dst + r * LDH + c) = val;
    }
}

extern "C" __global__ void __launch_bounds__(128) attn_wmma(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    extern __shared__ __align__(128) unsigned char smem[];
    __half* sQ = reinterpret_cast<__half*>(smem);
    __half* sK = sQ + BM * LDH;
    __half* sV = sK + BN * LDH;
    __half* sP = sV + BN * LDH;
    float* sS = reinterpret_cast<float*>(sP + BM * LDP);
    float* sO = sS + BM * LDS;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int block = gridDim.x - 1 - blockIdx.x;
    const int row0 = block * BM;
    const size_t base = (size_t)blockIdx.y * length * DIM;
    load_tile(sQ, q + base, row0, length);
    for (int i = threadIdx.x; i < BM * LDO; i += 128) sO[i] = 0.f;

    // each warp owns 16 rows; two lanes per row keep its running max and sum
    const int r = warp * 16 + lane / 2;
    const int side = lane & 1;
    float m = -1e30f, l = 0.f;

    for (int n0 = 0; n0 < row0 + BM && n0 < length; n0 += BN) {
        __syncthreads();
        load_tile(sK, k + base, n0, length);
        load_tile(sV, v + base, n0, length);
        __syncthreads();
        #pragma unroll
        for (int n = 0; n < BN / 16; n++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
            wmma::fill_fragment(s, 0.f);
            #pragma unroll
            for (int d = 0; d < DIM / 16; d++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
                wmma::load_matrix_sync(a, sQ + warp * 16 * LDH + d * 16, LDH);
                wmma::load_matrix_sync(b, sK + n * 16 * LDH + d * 16, LDH);
                wmma::mma_sync(s, a, b, s);
            }
            wmma::store_matrix_sync(sS + warp * 16 * LDS + n * 16, s, LDS, wmma::mem_row_major);
        }
        __syncwarp();
        float top = m;
        for (int c = side; c < BN; c += 2) {
            float s = (n0 + c <= row0 + r) ? sS[r * LDS + c] * scale : -1e30f;
            sS[r * LDS + c] = s;
            top = fmaxf(top, s);
        }
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        float corr = __expf(m - top), sum = 0.f;
        for (int c = side; c < BN; c += 2) {
            float p = __expf(sS[r * LDS + c] - top);
            sum += p;
            sP[r * LDP + c] = __float2half(p);
        }
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        l = l * corr + sum;
        m = top;
        for (int c = side; c < DIM; c += 2) sO[r * LDO + c] *= corr;
        __syncwarp();
        #pragma unroll
        for (int d = 0; d < DIM / 16; d++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> o;
            wmma::load_matrix_sync(o, sO + warp * 16 * LDO + d * 16, LDO, wmma::mem_row_major);
            #pragma unroll
            for (int n = 0; n < BN / 16; n++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
                wmma::load_matrix_sync(a, sP + warp * 16 * LDP + n * 16, LDP);
                wmma::load_matrix_sync(b, sV + n * 16 * LDH + d * 16, LDH);
                wmma::mma_sync(o, a, b, o);
            }
            wmma::store_matrix_sync(sO + warp * 16 * LDO + d * 16, o, LDO, wmma::mem_row_major);
        }
        __syncwarp();
    }
    if (row0 + r < length) {
        float inv = 1.f / l;
        for (int c = side; c < DIM; c += 2)
            out[base + (size_t)(row0 + r) * DIM + c] = __float2half(sO[r * LDO + c] * inv);
    }
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    shared = 2 * (3 * 64 * (dim + 8) + 64 * 72) + 4 * (64 * 68 + 64 * (dim + 4))
    programs[dim].attn_wmma(((length + 63) // 64, heads), (128,), (q, k, v, out, length, dim**-0.5), shared)
    return out
