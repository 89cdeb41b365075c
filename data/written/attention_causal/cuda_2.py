import torch
from foretell.cuda import compile

# K/V tiles staged in shared memory, shared by 64 queries; two threads per query, each owning half the head dim.
SOURCE = r"""
#include <cuda_fp16.h>
#define QUERIES 64
#define TILE 32
#define HALF_D (DIM / 2)

extern "C" __global__ void __launch_bounds__(128) attn_tiled(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    __shared__ __half ks[TILE][DIM];
    __shared__ __half vs[TILE][DIM];
    const int tid = threadIdx.x;
    const int part = tid & 1;
    const int block = gridDim.x - 1 - blockIdx.x;      // heavy blocks first
    const int row = block * QUERIES + (tid >> 1);
    const size_t base = (size_t)blockIdx.y * length * DIM;

    __half2 qr[HALF_D / 2];
    float acc[HALF_D];
    #pragma unroll
    for (int i = 0; i < HALF_D / 2; i++)
        qr[i] = row < length ? reinterpret_cast<const __half2*>(q + base + (size_t)row * DIM + part * HALF_D)[i]
                             : __floats2half2_rn(0.f, 0.f);
    #pragma unroll
    for (int i = 0; i < HALF_D; i++) acc[i] = 0.f;
    float m = -1e30f, l = 0.f;

    const int last = min((block + 1) * QUERIES, length);
    for (int n0 = 0; n0 < last; n0 += TILE) {
        __syncthreads();
        // 16-byte loads
        for (int i = tid; i < TILE * DIM / 8; i += 128) {
            int r = i / (DIM / 8), c = i % (DIM / 8);
            uint4 kk = make_uint4(0, 0, 0, 0), vv = kk;
            if (n0 + r < length) {
                kk = reinterpret_cast<const uint4*>(k + base + (size_t)(n0 + r) * DIM)[c];
                vv = reinterpret_cast<const uint4*>(v + base + (size_t)(n0 + r) * DIM)[c];
            }
            reinterpret_cast<uint4*>(ks[r])[c] = kk;
            reinterpret_cast<uint4*>(vs[r])[c] = vv;
        }
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            float s = 0.f;
            const __half2* k2 = reinterpret_cast<const __half2*>(ks[j] + part * HALF_D);
            #pragma unroll
            for (int i = 0; i < HALF_D / 2; i++) {
                float2 a = __half22float2(qr[i]), b = __half22float2(k2[i]);
                s = fmaf(a.x, b.x, s);
                s = fmaf(a.y, b.y, s);
            }
            s += __shfl_xor_sync(0xffffffffu, s, 1);
            s *= scale;
            if (n0 + j <= row) {
                if (s > m) {                    // rescale only when the maximum moves
                    float c = __expf(m - s);
                    l *= c;
                    #pragma unroll
                    for (int i = 0; i < HALF_D; i++) acc[i] *= c;
                    m = s;
                }
                float p = __expf(s - m);
                l += p;
                const __half2* v2 = reinterpret_cast<const __half2*>(vs[j] + part * HALF_D);
                #pragma unroll
                for (int i = 0; i < HALF_D / 2; i++) {
                    float2 b = __half22float2(v2[i]);
                    acc[2 * i] = fmaf(p, b.x, acc[2 * i]);
                    acc[2 * i + 1] = fmaf(p, b.y, acc[2 * i + 1]);
                }
            }
            __syncwarp();
        }
    }
    if (row < length) {
        float inv = 1.f / l;
        __half2* o2 = reinterpret_cast<__half2*>(out + base + (size_t)row * DIM + part * HALF_D);
        #pragma unroll
        for (int i = 0; i < HALF_D / 2; i++) o2[i] = __floats2half2_rn(acc[2 * i] * inv, acc[2 * i + 1] * inv);
    }
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    programs[dim].attn_tiled(((length + 63) // 64, heads), (128,), (q, k, v, out, length, dim**-0.5))
    return out
