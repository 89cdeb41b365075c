import torch
from foretell.cuda import compile

# The group shares its keys: a warp takes one query position for all 4 heads of a group, so every K/V value read
# from shared memory is used 4 times. 8 warps (8 positions x 4 heads = 32 query rows) per block.
SOURCE = r"""
#include <cuda_fp16.h>
#define TILE 32
#define PAIRS (DIM / 64)

extern "C" __global__ void __launch_bounds__(256) gqa_group_warp(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    __shared__ __half2 ks[TILE][DIM / 2];
    __shared__ __half2 vs[TILE][DIM / 2];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int kv = blockIdx.y;
    const int pos = blockIdx.x * 8 + warp;
    const size_t kbase = (size_t)kv * length * DIM;

    float2 qr[4][PAIRS], acc[4][PAIRS];
    float m[4], l[4];
    #pragma unroll
    for (int g = 0; g < 4; g++) {
        m[g] = -1e30f; l[g] = 0.f;
        #pragma unroll
        for (int i = 0; i < PAIRS; i++) {
            acc[g][i] = make_float2(0.f, 0.f);
            qr[g][i] = make_float2(0.f, 0.f);
            if (pos < length) {
                const __half2* p = reinterpret_cast<const __half2*>(q + ((size_t)(kv * 4 + g) * length + pos) * DIM);
                qr[g][i] = __half22float2(p[lane + 32 * i]);
                qr[g][i].x *= scale; qr[g][i].y *= scale;
            }
        }
    }
    for (int n0 = 0; n0 < length; n0 += TILE) {
        __syncthreads();
        int rows = min(TILE, length - n0);
        const uint4* k4 = reinterpret_cast<const uint4*>(k + kbase + (size_t)n0 * DIM);
        const uint4* v4 = reinterpret_cast<const uint4*>(v + kbase + (size_t)n0 * DIM);
        for (int i = threadIdx.x; i < rows * DIM / 8; i += 256) {
            reinterpret_cast<uint4*>(ks)[i] = k4[i];
            reinterpret_cast<uint4*>(vs)[i] = v4[i];
        }
        __syncthreads();
        for (int j = 0; j < rows; j++) {
            float s[4] = {0.f, 0.f, 0.f, 0.f};
            #pragma unroll
            for (int i = 0; i < PAIRS; i++) {
                float2 kk = __half22float2(ks[j][lane + 32 * i]);
                #pragma unroll
                for (int g = 0; g < 4; g++) s[g] += qr[g][i].x * kk.x + qr[g][i].y * kk.y;
            }
            #pragma unroll
            for (int o = 16; o > 0; o >>= 1)
                #pragma unroll
                for (int g = 0; g < 4; g++) s[g] += __shfl_xor_sync(0xffffffffu, s[g], o);
            float p[4], c[4];
            #pragma unroll
            for (int g = 0; g < 4; g++) {
                float t = fmaxf(m[g], s[g]);
                c[g] = exp2f(m[g] - t);
                p[g] = exp2f(s[g] - t);
                l[g] = l[g] * c[g] + p[g];
                m[g] = t;
            }
            #pragma unroll
            for (int i = 0; i < PAIRS; i++) {
                float2 vv = __half22float2(vs[j][lane + 32 * i]);
                #pragma unroll
                for (int g = 0; g < 4; g++) {
                    acc[g][i].x = acc[g][i].x * c[g] + p[g] * vv.x;
                    acc[g][i].y = acc[g][i].y * c[g] + p[g] * vv.y;
                }
            }
        }
    }
    if (pos >= length) return;
    #pragma unroll
    for (int g = 0; g < 4; g++) {
        __half2* o = reinterpret_cast<__half2*>(out + ((size_t)(kv * 4 + g) * length + pos) * DIM);
        #pragma unroll
        for (int i = 0; i < PAIRS; i++) o[lane + 32 * i] = __floats2half2_rn(acc[g][i].x / l[g], acc[g][i].y / l[g]);
    }
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    programs[dim].gqa_group_warp(
        ((length + 7) // 8, heads // 4), (256,), (q, k, v, out, length, dim**-0.5 * 1.44269504)
    )
    return out
