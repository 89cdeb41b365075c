import torch

from foretell.cuda import compile

# Warp per row, online softmax, 8-byte vectors where the row is aligned; the zero half of the output is written FIRST so the
# stores drain while the loads of the visible half are in flight. Long rows are scheduled first (reverse order).
program = compile(r"""
#include <cuda_bf16.h>
#define WARPS 8

__device__ __forceinline__ void merge(float& m, float& s, float m2, float s2) {
    float t = fmaxf(m, m2);
    s = s * __expf(m - t) + s2 * __expf(m2 - t);
    m = t;
}

extern "C" __global__ void __launch_bounds__(WARPS * 32) causal_online(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int batch, int size, int vec) {
    const int lane = threadIdx.x & 31;
    const int id = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (id >= batch * size) return;
    const int row = size - 1 - id / batch;
    const int b = id % batch;
    const size_t base = ((size_t)b * size + row) * size;
    const int n = row + 1;
    float m = -1e30f, s = 0.f;

    if (vec) {
        const uint2* xr = (const uint2*)(x + base);
        uint2* yr = (uint2*)(out + base);
        const int groups = size / 4, full = n / 4, part = (n + 3) / 4;
        for (int g = part + lane; g < groups; g += 32) yr[g] = make_uint2(0, 0);
        #pragma unroll 4
        for (int g = lane; g < part; g += 32) {
            uint2 raw = xr[g];
            float2 a = __bfloat1622float2(*(__nv_bfloat162*)&raw.x);
            float2 c = __bfloat1622float2(*(__nv_bfloat162*)&raw.y);
            if (g >= full) {
                if (g * 4 + 1 >= n) a.y = -1e30f;
                if (g * 4 + 2 >= n) c.x = -1e30f;
                if (g * 4 + 3 >= n) c.y = -1e30f;
            }
            float gm = fmaxf(fmaxf(a.x, a.y), fmaxf(c.x, c.y));
            merge(m, s, gm, __expf(a.x - gm) + __expf(a.y - gm) + __expf(c.x - gm) + __expf(c.y - gm));
        }
    } else {
        for (int c = n + lane; c < size; c += 32) out[base + c] = __float2bfloat16(0.f);
        for (int c = lane; c < n; c += 32) merge(m, s, __bfloat162float(x[base + c]), 1.f);
    }
    #pragma unroll
    for (int o = 16; o; o >>= 1) {
        float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, s, o);
        merge(m, s, m2, s2);
    }
    const float inv = 1.f / s;
    if (vec) {
        const uint2* xr = (const uint2*)(x + base);
        uint2* yr = (uint2*)(out + base);
        const int part = (n + 3) / 4;
        #pragma unroll 4
        for (int g = lane; g < part; g += 32) {
            uint2 raw = xr[g];
            float2 a = __bfloat1622float2(*(__nv_bfloat162*)&raw.x);
            float2 c = __bfloat1622float2(*(__nv_bfloat162*)&raw.y);
            a.x = __expf(a.x - m) * inv;
            a.y = g * 4 + 1 < n ? __expf(a.y - m) * inv : 0.f;
            c.x = g * 4 + 2 < n ? __expf(c.x - m) * inv : 0.f;
            c.y = g * 4 + 3 < n ? __expf(c.y - m) * inv : 0.f;
            __nv_bfloat162 lo = __floats2bfloat162_rn(a.x, a.y), hi = __floats2bfloat162_rn(c.x, c.y);
            yr[g] = make_uint2(*(unsigned*)&lo, *(unsigned*)&hi);
        }
    } else {
        for (int c = lane; c < n; c += 32)
            out[base + c] = __float2bfloat16(__expf(__bfloat162float(x[base + c]) - m) * inv);
    }
}
""")


def kernel(x):
    batch, size, _ = x.shape
    out = torch.empty_like(x)
    total = batch * size
    program.causal_online(((total + 7) // 8,), (256,), (x, out, batch, size, int(size % 4 == 0)))
    return out
