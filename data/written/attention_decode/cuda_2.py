import torch
from foretell.cuda import compile

# Split-K decode with 16-byte loads. A key row is DIM/8 chunks of 16 bytes: 8 (dim 64) or 16 (dim 128) lanes per key, so a
# warp reads 4 or 2 keys per instruction, unrolled by 4 for memory level parallelism. Second kernel merges.
SOURCE = r"""
#include <cuda_fp16.h>
#define LANES (DIM / 8)
#define KEYS_PER_WARP (32 / LANES)
#define UNROLL 4

__device__ __forceinline__ void unpack(const uint4& p, float* f) {
    const __half2* h = reinterpret_cast<const __half2*>(&p);
    #pragma unroll
    for (int i = 0; i < 4; i++) { float2 t = __half22float2(h[i]); f[2 * i] = t.x; f[2 * i + 1] = t.y; }
}

extern "C" __global__ void __launch_bounds__(128) split_decode(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, float* __restrict__ part, float* __restrict__ stats, int length, int per_split, float scale) {
    __shared__ float s_acc[4 * KEYS_PER_WARP][DIM];
    __shared__ float s_m[4 * KEYS_PER_WARP], s_l[4 * KEYS_PER_WARP];
    const int head = blockIdx.y, split = blockIdx.x;
    const int lane = threadIdx.x & 31, c = lane % LANES;
    const int group = threadIdx.x / LANES;                    // which key stream of the block
    const int groups = 128 / LANES;
    const int lo = split * per_split, hi = min(lo + per_split, length);
    const uint4* k4 = reinterpret_cast<const uint4*>(k + (size_t)head * length * DIM) + c;
    const uint4* v4 = reinterpret_cast<const uint4*>(v + (size_t)head * length * DIM) + c;
    float qf[8], acc[8] = {};
    unpack(reinterpret_cast<const uint4*>(q + head * DIM)[c], qf);
    #pragma unroll
    for (int i = 0; i < 8; i++) qf[i] *= scale;
    float m = -1e30f, l = 0.f;
    for (int j0 = lo; j0 < hi; j0 += groups * UNROLL) {
        uint4 kk[UNROLL], vv[UNROLL];
        float s[UNROLL];
        #pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            int j = min(j0 + u * groups + group, hi - 1);
            kk[u] = __ldcs(k4 + (size_t)j * LANES);
            vv[u] = __ldcs(v4 + (size_t)j * LANES);
        }
        float top = m;
        #pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            float f[8], t = 0.f;
            unpack(kk[u], f);
            #pragma unroll
            for (int i = 0; i < 8; i++) t = fmaf(f[i], qf[i], t);
            #pragma unroll
            for (int o = LANES / 2; o > 0; o >>= 1) t += __shfl_xor_sync(0xffffffffu, t, o);
            s[u] = j0 + u * groups + group < hi ? t : -1e30f;
            top = fmaxf(top, s[u]);
        }
        float a = exp2f(m - top);
        l *= a;
        #pragma unroll
        for (int i = 0; i < 8; i++) acc[i] *= a;
        #pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            float p = s[u] > -1e29f ? exp2f(s[u] - top) : 0.f, f[8];
            l += p;
            unpack(vv[u], f);
            #pragma unroll
            for (int i = 0; i < 8; i++) acc[i] = fmaf(p, f[i], acc[i]);
        }
        m = top;
    }
    #pragma unroll
    for (int i = 0; i < 8; i++) s_acc[group][c * 8 + i] = acc[i];
    if (c == 0) { s_m[group] = m; s_l[group] = l; }
    __syncthreads();
    float top = -1e30f;
    for (int g = 0; g < groups; g++) top = fmaxf(top, s_m[g]);
    const size_t slot = (size_t)head * gridDim.x + split;
    float den = 0.f;
    for (int g = 0; g < groups; g++) den += s_l[g] * exp2f(s_m[g] - top);
    for (int d = threadIdx.x; d < DIM; d += 128) {
        float num = 0.f;
        for (int g = 0; g < groups; g++) num += s_acc[g][d] * exp2f(s_m[g] - top);
        part[slot * DIM + d] = num;
    }
    if (threadIdx.x == 0) { stats[2 * slot] = top; stats[2 * slot + 1] = den; }
}

extern "C" __global__ void merge_decode(const float* part, const float* stats, __half* out, int splits) {
    const int head = blockIdx.x, d = threadIdx.x;
    float top = -1e30f, num = 0.f, den = 0.f;
    for (int s = 0; s < splits; s++) top = fmaxf(top, stats[2 * (head * splits + s)]);
    for (int s = 0; s < splits; s++) {
        float w = exp2f(stats[2 * (head * splits + s)] - top);
        den += w * stats[2 * (head * splits + s) + 1];
        num += w * part[(size_t)(head * splits + s) * DIM + d];
    }
    out[head * DIM + d] = __float2half(num / den);
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = k.shape
    out = torch.empty_like(q)
    splits = max(1, min((length + 127) // 128, 1056 // heads))
    per_split = (length + splits - 1) // splits
    splits = (length + per_split - 1) // per_split
    part = torch.empty((heads, splits, dim), device=q.device, dtype=torch.float32)
    stats = torch.empty((heads, splits, 2), device=q.device, dtype=torch.float32)
    programs[dim].split_decode(
        (splits, heads), (128,), (q, k, v, part, stats, length, per_split, dim**-0.5 * 1.44269504)
    )
    programs[dim].merge_decode((heads,), (dim,), (part, stats, out, splits))
    return out
