import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Warp per row, no barriers. Rows up to 4096 wide: the slices live in shared memory (each lane only touches its own
// slots, so no __syncwarp is needed either) - registers would spill at 4096 columns.
__device__ __forceinline__ float wsum(float v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}
extern "C" __global__ void __launch_bounds__(128) ln_bwd_warp(const uint2* __restrict__ x, const uint2* __restrict__ dy,
        const uint2* __restrict__ gamma, uint2* __restrict__ dx, int rows, int nq) {
    extern __shared__ __align__(16) unsigned char raw[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = blockIdx.x * 4 + warp;
    if (row >= rows) return;
    uint2* xs = reinterpret_cast<uint2*>(raw) + (long long)warp * 2 * nq;
    uint2* ws = xs + nq;
    x += (long long)row * nq; dy += (long long)row * nq; dx += (long long)row * nq;
    float s = 0.f;
    #pragma unroll 4
    for (int i = lane; i < nq; i += 32) {
        uint2 v = x[i];
        xs[i] = v;
        ws[i] = dy[i];
        float2 a = __half22float2(*(__half2*)&v.x), b = __half22float2(*(__half2*)&v.y);
        s += (a.x + a.y) + (b.x + b.y);
    }
    const float inv = 1.0f / (4 * nq);
    const float mean = wsum(s) * inv;
    float q = 0.f, sw = 0.f, sc = 0.f;
    #pragma unroll 2
    for (int i = lane; i < nq; i += 32) {
        uint2 v = xs[i], y = ws[i], g = __ldg(gamma + i);
        float2 a = __half22float2(*(__half2*)&v.x), b = __half22float2(*(__half2*)&v.y);
        float2 ya = __half22float2(*(__half2*)&y.x), yb = __half22float2(*(__half2*)&y.y);
        float2 ga = __half22float2(*(__half2*)&g.x), gb = __half22float2(*(__half2*)&g.y);
        a.x -= mean; a.y -= mean; b.x -= mean; b.y -= mean;
        ya.x *= ga.x; ya.y *= ga.y; yb.x *= gb.x; yb.y *= gb.y;
        q += a.x * a.x + a.y * a.y + b.x * b.x + b.y * b.y;
        sw += ya.x + ya.y + yb.x + yb.y;
        sc += a.x * ya.x + a.y * ya.y + b.x * yb.x + b.y * yb.y;
    }
    const float rstd = rsqrtf(wsum(q) * inv + 1e-5f);
    const float mw = wsum(sw) * inv;
    const float k = wsum(sc) * inv * rstd * rstd;
    #pragma unroll 2
    for (int i = lane; i < nq; i += 32) {
        uint2 v = xs[i], y = ws[i], g = __ldg(gamma + i), o;
        float2 a = __half22float2(*(__half2*)&v.x), b = __half22float2(*(__half2*)&v.y);
        float2 ya = __half22float2(*(__half2*)&y.x), yb = __half22float2(*(__half2*)&y.y);
        float2 ga = __half22float2(*(__half2*)&g.x), gb = __half22float2(*(__half2*)&g.y);
        *(__half2*)&o.x = __floats2half2_rn(rstd * (ya.x * ga.x - mw - (a.x - mean) * k), rstd * (ya.y * ga.y - mw - (a.y - mean) * k));
        *(__half2*)&o.y = __floats2half2_rn(rstd * (yb.x * gb.x - mw - (b.x - mean) * k), rstd * (yb.y * gb.y - mw - (b.y - mean) * k));
        dx[i] = o;
    }
}
""")


def kernel(x, dy, gamma):
    rows, cols = x.shape
    assert cols % 4 == 0
    dx = torch.empty_like(x)
    shared = 4 * 2 * cols * 2
    program.ln_bwd_warp(((rows + 3) // 4,), (128,), (x, dy, gamma, dx, rows, cols // 4), shared)
    return dx
