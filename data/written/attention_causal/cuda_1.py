import torch
from foretell.cuda import compile

# First version: one warp per query, lanes split the head dimension, online softmax over the keys.
program = compile(r"""
#include <cuda_fp16.h>

__device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    return v;
}

extern "C" __global__ void attn_warp_per_query(const __half* q, const __half* k, const __half* v, __half* out,
                                               int heads, int length, int dim, float scale) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (warp >= heads * length) return;
    int head = warp / length;
    int row = warp % length;
    size_t base = (size_t)head * length * dim;

    // dim is 64 or 128 -> 2 or 4 values per lane, as half2 pairs
    int pairs = dim / 64;
    float2 qr[2], acc[2];
    const __half2* q2 = reinterpret_cast<const __half2*>(q + base + (size_t)row * dim);
    for (int i = 0; i < pairs; i++) {
        qr[i] = __half22float2(q2[lane + 32 * i]);
        qr[i].x *= scale; qr[i].y *= scale;
        acc[i] = make_float2(0.f, 0.f);
    }
    float m = -INFINITY, l = 0.f;
    for (int j = 0; j <= row; j++) {
        const __half2* k2 = reinterpret_cast<const __half2*>(k + base + (size_t)j * dim);
        const __half2* v2 = reinterpret_cast<const __half2*>(v + base + (size_t)j * dim);
        float s = 0.f;
        for (int i = 0; i < pairs; i++) {
            float2 kk = __half22float2(k2[lane + 32 * i]);
            s += qr[i].x * kk.x + qr[i].y * kk.y;
        }
        s = warp_sum(s);
        float m_new = fmaxf(m, s);
        float corr = __expf(m - m_new);
        float p = __expf(s - m_new);
        l = l * corr + p;
        for (int i = 0; i < pairs; i++) {
            float2 vv = __half22float2(v2[lane + 32 * i]);
            acc[i].x = acc[i].x * corr + p * vv.x;
            acc[i].y = acc[i].y * corr + p * vv.y;
        }
        m = m_new;
    }
    __half2* o2 = reinterpret_cast<__half2*>(out + base + (size_t)row * dim);
    float inv = 1.f / l;
    for (int i = 0; i < pairs; i++)
        o2[lane + 32 * i] = __floats2half2_rn(acc[i].x * inv, acc[i].y * inv);
}
""")


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    warps = heads * length
    program.attn_warp_per_query(((warps + 7) // 8,), (256,), (q, k, v, out, heads, length, dim, dim**-0.5))
    return out
