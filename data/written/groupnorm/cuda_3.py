import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Registers only. VPT 16-byte vectors per thread hold the whole group; sum and sum of squares go through one
// combined reduction, so there is a single __syncthreads per group.
template <int VPT>
__device__ __forceinline__ void run(const uint4* x, const __half* gamma, const __half* beta, uint4* out, int nvec, int hwvec, float inv) {
    __shared__ float2 part[32];
    uint4 keep[VPT];
    float s = 0.f, q = 0.f;
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        keep[k] = i < nvec ? x[i] : make_uint4(0u, 0u, 0u, 0u);
    }
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        const __half2* h = reinterpret_cast<const __half2*>(&keep[k]);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            float2 f = __half22float2(h[j]);
            s += f.x + f.y;
            q = fmaf(f.x, f.x, fmaf(f.y, f.y, q));
        }
    }
    #pragma unroll
    for (int d = 16; d; d >>= 1) {
        s += __shfl_xor_sync(0xffffffffu, s, d);
        q += __shfl_xor_sync(0xffffffffu, q, d);
    }
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = make_float2(s, q);
    __syncthreads();
    s = 0.f; q = 0.f;
    for (int w = 0; w < blockDim.x / 32; ++w) { s += part[w].x; q += part[w].y; }
    const float mean = s * inv;
    const float rstd = rsqrtf(fmaxf(q * inv - mean * mean, 0.f) + 1e-5f);
    #pragma unroll
    for (int k = 0; k < VPT; ++k) {
        const int i = k * blockDim.x + threadIdx.x;
        if (i < nvec) {
            const int c = i / hwvec;
            const float scale = __half2float(gamma[c]) * rstd;
            const float shift = fmaf(-mean, scale, __half2float(beta[c]));
            __half2* h = reinterpret_cast<__half2*>(&keep[k]);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float2 f = __half22float2(h[j]);
                h[j] = __floats2half2_rn(fmaf(f.x, scale, shift), fmaf(f.y, scale, shift));
            }
            out[i] = keep[k];
        }
    }
}
extern "C" __global__ void groupnorm_regs(const uint4* __restrict__ x, const __half* __restrict__ gamma, const __half* __restrict__ beta,
        uint4* __restrict__ out, int cpg, int hwvec, int vpt) {
    const int nvec = cpg * hwvec;
    const int g = blockIdx.x & 31;
    x += (long long)blockIdx.x * nvec;
    out += (long long)blockIdx.x * nvec;
    const float inv = 1.0f / (nvec * 8);
    if (vpt == 1) run<1>(x, gamma + g * cpg, beta + g * cpg, out, nvec, hwvec, inv);
    else if (vpt == 2) run<2>(x, gamma + g * cpg, beta + g * cpg, out, nvec, hwvec, inv);
    else run<4>(x, gamma + g * cpg, beta + g * cpg, out, nvec, hwvec, inv);
}
// any hw: one warp per group, scalar accesses
extern "C" __global__ void groupnorm_odd(const __half* __restrict__ x, const __half* __restrict__ gamma, const __half* __restrict__ beta,
        __half* __restrict__ out, int cpg, int hw, int groups) {
    const int gi = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (gi >= groups) return;
    const int lane = threadIdx.x & 31, size = cpg * hw, g = gi & 31;
    x += (long long)gi * size; out += (long long)gi * size;
    float s = 0.f, q = 0.f;
    for (int i = lane; i < size; i += 32) { float v = __half2float(x[i]); s += v; q += v * v; }
    #pragma unroll
    for (int d = 16; d; d >>= 1) { s += __shfl_xor_sync(0xffffffffu, s, d); q += __shfl_xor_sync(0xffffffffu, q, d); }
    const float mean = s / size, rstd = rsqrtf(fmaxf(q / size - mean * mean, 0.f) + 1e-5f);
    for (int i = lane; i < size; i += 32) {
        const int c = g * cpg + i / hw;
        out[i] = __float2half((__half2float(x[i]) - mean) * rstd * __half2float(gamma[c]) + __half2float(beta[c]));
    }
}
""")


def kernel(x, gamma, beta):
    n, c, hw = x.shape
    out = torch.empty_like(x)
    cpg = c // 32
    if hw % 8 == 0 and cpg * hw <= 512 * 8 * 4:
        nvec = cpg * hw // 8
        threads = 512 if nvec > 1024 else 128
        vpt = -(-nvec // threads)
        if vpt > 4:
            threads, vpt = 512, -(-nvec // 512)
        program.groupnorm_regs((n * 32,), (threads,), (x, gamma, beta, out, cpg, hw // 8, vpt))
    else:
        program.groupnorm_odd(((n * 32 + 3) // 4,), (128,), (x, gamma, beta, out, cpg, hw, n * 32))
    return out
