import torch

from foretell.cuda import compile

# 16-byte loads (8 bf16), row kept in registers as packed bf16, block per row. Rows whose size is not a multiple of 8 are
# misaligned, so those sizes take a scalar kernel.
program = compile(r"""
#include <cuda_bf16.h>
#define THREADS 128
#define MAXV 4   // 128 threads * 4 * 8 = 4096 columns

__device__ __forceinline__ float block_reduce(float v, bool is_max) {
    __shared__ float part[2][THREADS / 32];
    #pragma unroll
    for (int o = 16; o; o >>= 1) {
        float u = __shfl_xor_sync(~0u, v, o);
        v = is_max ? fmaxf(v, u) : v + u;
    }
    if ((threadIdx.x & 31) == 0) part[is_max][threadIdx.x >> 5] = v;
    __syncthreads();
    v = part[is_max][0];
    #pragma unroll
    for (int w = 1; w < THREADS / 32; ++w) v = is_max ? fmaxf(v, part[is_max][w]) : v + part[is_max][w];
    return v;
}

extern "C" __global__ void __launch_bounds__(THREADS) causal_vec(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int size) {
    const int row = blockIdx.x % size;
    const int n = row + 1;
    const uint4* xr = (const uint4*)(x + (size_t)blockIdx.x * size);
    uint4* yr = (uint4*)(out + (size_t)blockIdx.x * size);
    const int nv = size / 8;
    float v[MAXV][8];
    float m = -1e30f;
    #pragma unroll
    for (int k = 0; k < MAXV; ++k) {
        int i = threadIdx.x + k * THREADS;
        if (i * 8 < n) {
            uint4 raw = __ldg(xr + i);
            const __nv_bfloat162* h = (const __nv_bfloat162*)&raw;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float2 f = __bfloat1622float2(h[j]);
                v[k][2 * j] = i * 8 + 2 * j < n ? f.x : -1e30f;
                v[k][2 * j + 1] = i * 8 + 2 * j + 1 < n ? f.y : -1e30f;
            }
        } else {
            #pragma unroll
            for (int j = 0; j < 8; ++j) v[k][j] = -1e30f;
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) m = fmaxf(m, v[k][j]);
    }
    m = block_reduce(m, true);
    float s = 0.f;
    #pragma unroll
    for (int k = 0; k < MAXV; ++k) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) { v[k][j] = __expf(v[k][j] - m); s += v[k][j]; }
    }
    s = block_reduce(s, false);
    const float inv = 1.f / s;
    #pragma unroll
    for (int k = 0; k < MAXV; ++k) {
        int i = threadIdx.x + k * THREADS;
        if (i < nv) {
            uint4 raw;
            __nv_bfloat162* h = (__nv_bfloat162*)&raw;
            #pragma unroll
            for (int j = 0; j < 4; ++j) h[j] = __floats2bfloat162_rn(v[k][2 * j] * inv, v[k][2 * j + 1] * inv);
            yr[i] = raw;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) causal_scalar(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int size) {
    const int row = blockIdx.x % size;
    const __nv_bfloat16* xr = x + (size_t)blockIdx.x * size;
    __nv_bfloat16* yr = out + (size_t)blockIdx.x * size;
    float m = -1e30f, s = 0.f;
    for (int c = threadIdx.x; c <= row; c += THREADS) m = fmaxf(m, __bfloat162float(xr[c]));
    m = block_reduce(m, true);
    for (int c = threadIdx.x; c <= row; c += THREADS) s += __expf(__bfloat162float(xr[c]) - m);
    s = block_reduce(s, false);
    for (int c = threadIdx.x; c < size; c += THREADS)
        yr[c] = __float2bfloat16(c <= row ? __expf(__bfloat162float(xr[c]) - m) / s : 0.f);
}
""")


def kernel(x):
    batch, size, _ = x.shape
    out = torch.empty_like(x)
    if size % 8 == 0:
        program.causal_vec((batch * size,), (128,), (x, out, size))
    else:
        program.causal_scalar((batch * size,), (128,), (x, out, size))
    return out
