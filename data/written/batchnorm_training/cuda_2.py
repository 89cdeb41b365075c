import torch

from foretell.cuda import compile

program = compile(r"""
// Split statistics: blocks (channel, slice) -> float2 partials, no atomics; the apply kernel re-reduces the few
// partials of its channel itself. float4 accesses wherever hw % 4 == 0.
__device__ __forceinline__ float2 warp_sum2(float2 v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) {
        v.x += __shfl_xor_sync(0xffffffffu, v.x, d);
        v.y += __shfl_xor_sync(0xffffffffu, v.y, d);
    }
    return v;
}

extern "C" __global__ void __launch_bounds__(256) bn_partial(const float* __restrict__ x, float2* __restrict__ part, int n, int c, int hw) {
    const int ch = blockIdx.x, slice = blockIdx.y, slices = gridDim.y;
    float2 a = make_float2(0.f, 0.f);
    if ((hw & 3) == 0) {
        const int hv = hw >> 2, total = n * hv;
        for (int i = slice * 256 + threadIdx.x; i < total; i += slices * 256) {
            const int b = i / hv, p = i - b * hv;
            float4 v = reinterpret_cast<const float4*>(x)[((long long)b * c + ch) * hv + p];
            a.x += (v.x + v.y) + (v.z + v.w);
            a.y += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
        }
    } else {
        const int total = n * hw;
        for (int i = slice * 256 + threadIdx.x; i < total; i += slices * 256) {
            const int b = i / hw, p = i - b * hw;
            float v = x[((long long)b * c + ch) * hw + p];
            a.x += v; a.y += v * v;
        }
    }
    __shared__ float2 red[8];
    a = warp_sum2(a);
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) { a.x += red[w].x; a.y += red[w].y; }
        part[ch * slices + slice] = a;
    }
}

extern "C" __global__ void __launch_bounds__(256) bn_apply(const float* __restrict__ x, const float* __restrict__ gamma,
        const float* __restrict__ beta, const float2* __restrict__ part, float* __restrict__ out, float* __restrict__ mean_out,
        float* __restrict__ rstd_out, int n, int c, int hw, int slices) {
    const int ch = blockIdx.x;
    float2 a = make_float2(0.f, 0.f);
    for (int i = threadIdx.x & 31; i < slices; i += 32) { float2 p = part[ch * slices + i]; a.x += p.x; a.y += p.y; }
    a = warp_sum2(a);
    const float inv = 1.0f / ((float)n * hw);
    const float mean = a.x * inv;
    const float rstd = rsqrtf(fmaxf(a.y * inv - mean * mean, 0.f) + 1e-5f);
    if (blockIdx.y == 0 && threadIdx.x == 0) { mean_out[ch] = mean; rstd_out[ch] = rstd; }
    const float scale = gamma[ch] * rstd, shift = beta[ch] - mean * scale;
    if ((hw & 3) == 0) {
        const int hv = hw >> 2, total = n * hv;
        for (int i = blockIdx.y * 256 + threadIdx.x; i < total; i += gridDim.y * 256) {
            const int b = i / hv, p = i - b * hv;
            const long long k = ((long long)b * c + ch) * hv + p;
            float4 v = reinterpret_cast<const float4*>(x)[k];
            v.x = v.x * scale + shift; v.y = v.y * scale + shift; v.z = v.z * scale + shift; v.w = v.w * scale + shift;
            __stcs(reinterpret_cast<float4*>(out) + k, v);
        }
    } else {
        const int total = n * hw;
        for (int i = blockIdx.y * 256 + threadIdx.x; i < total; i += gridDim.y * 256) {
            const int b = i / hw, p = i - b * hw;
            const long long k = ((long long)b * c + ch) * hw + p;
            out[k] = x[k] * scale + shift;
        }
    }
}
""")


def kernel(x, gamma, beta):
    n, c, hw = x.shape
    dev = x.device
    out = torch.empty_like(x)
    mean = torch.empty(c, device=dev, dtype=torch.float32)
    rstd = torch.empty(c, device=dev, dtype=torch.float32)
    slices = max(1, min(132 * 8 // c, n * hw // 4096))
    part = torch.empty((c, slices, 2), device=dev, dtype=torch.float32)
    program.bn_partial((c, slices), (256,), (x, part, n, c, hw))
    program.bn_apply((c, slices), (256,), (x, gamma, beta, part, out, mean, rstd, n, c, hw, slices))
    return out, mean, rstd
