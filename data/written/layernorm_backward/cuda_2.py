import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Block per row, both rows resident in registers as 16-byte vectors, four sums reduced together as a float4.
// threads * VPT * 8 >= cols; the variance is taken around the first element of the row to avoid cancellation.
template <int VPT>
__device__ __forceinline__ void body(const uint4* x, const uint4* dy, const uint4* gamma, uint4* dx, int nvec, float inv, float shift) {
    __shared__ float4 red[32];
    uint4 xv[VPT], wv[VPT], gv[VPT];
    const uint4 zero = make_uint4(0, 0, 0, 0);
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        const bool ok = i < nvec;
        xv[k] = ok ? __ldcs(x + i) : zero;
        wv[k] = ok ? __ldcs(dy + i) : zero;
        gv[k] = ok ? __ldg(gamma + i) : zero;
    }
    float4 a = make_float4(0.f, 0.f, 0.f, 0.f);
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        if (k * blockDim.x + threadIdx.x >= nvec) continue;
        const __half2 *xh = (const __half2*)&xv[k], *yh = (const __half2*)&wv[k], *gh = (const __half2*)&gv[k];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float2 xf = __half22float2(xh[j]), yf = __half22float2(yh[j]), gf = __half22float2(gh[j]);
            xf.x -= shift; xf.y -= shift;
            const float w0 = yf.x * gf.x, w1 = yf.y * gf.y;
            a.x += xf.x + xf.y;
            a.y += xf.x * xf.x + xf.y * xf.y;
            a.z += w0 + w1;
            a.w += w0 * xf.x + w1 * xf.y;
        }
    }
    #pragma unroll
    for (int d = 16; d; d >>= 1) {
        a.x += __shfl_xor_sync(~0u, a.x, d); a.y += __shfl_xor_sync(~0u, a.y, d);
        a.z += __shfl_xor_sync(~0u, a.z, d); a.w += __shfl_xor_sync(~0u, a.w, d);
    }
    if (blockDim.x > 32) {
        if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = a;
        __syncthreads();
        a = red[0];
        for (int w = 1; w < blockDim.x >> 5; ++w) { float4 o = red[w]; a.x += o.x; a.y += o.y; a.z += o.z; a.w += o.w; }
    }
    const float m = a.x * inv, mw = a.z * inv;
    const float rstd = rsqrtf(fmaxf(a.y * inv - m * m, 0.f) + 1e-5f);
    const float k2 = (a.w * inv - m * mw) * rstd * rstd;
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        if (i >= nvec) continue;
        const __half2 *xh = (const __half2*)&xv[k], *yh = (const __half2*)&wv[k], *gh = (const __half2*)&gv[k];
        uint4 ov;
        __half2* oh = (__half2*)&ov;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float2 xf = __half22float2(xh[j]), yf = __half22float2(yh[j]), gf = __half22float2(gh[j]);
            oh[j] = __floats2half2_rn(rstd * (yf.x * gf.x - mw - (xf.x - shift - m) * k2),
                                      rstd * (yf.y * gf.y - mw - (xf.y - shift - m) * k2));
        }
        __stcs(dx + i, ov);
    }
}
extern "C" __global__ void ln_bwd_vec(const uint4* __restrict__ x, const uint4* __restrict__ dy, const uint4* __restrict__ gamma,
        uint4* __restrict__ dx, int nvec, int vpt) {
    const long long off = (long long)blockIdx.x * nvec;
    const float shift = __half2float(*(const __half*)(x + off));
    const float inv = 1.0f / (nvec * 8);
    if (vpt == 1) body<1>(x + off, dy + off, gamma, dx + off, nvec, inv, shift);
    else body<2>(x + off, dy + off, gamma, dx + off, nvec, inv, shift);
}
""")


def kernel(x, dy, gamma):
    rows, cols = x.shape
    assert cols % 8 == 0 and cols <= 16384
    dx = torch.empty_like(x)
    nvec = cols // 8
    vpt = 1 if nvec <= 256 else 2
    threads = (-(-nvec // vpt) + 31) // 32 * 32
    program.ln_bwd_vec((rows,), (threads,), (x, dy, gamma, dx, nvec, vpt))
    return dx
