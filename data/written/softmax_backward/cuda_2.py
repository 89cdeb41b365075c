import torch

from foretell.cuda import compile

# 128-bit loads, both operands held packed in registers (2 x 16 bytes per 8 elements), converted twice instead of keeping
# floats: halves the registers. Template on the number of vectors per thread; a row is handled by 64/128/256 threads.
program = compile(r"""
#include <cuda_bf16.h>

__device__ __forceinline__ float dot8(const uint4& a, const uint4& b) {
    const __nv_bfloat162* p = reinterpret_cast<const __nv_bfloat162*>(&a);
    const __nv_bfloat162* q = reinterpret_cast<const __nv_bfloat162*>(&b);
    float s = 0.f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 u = __bfloat1622float2(p[i]), v = __bfloat1622float2(q[i]);
        s = fmaf(u.x, v.x, s);
        s = fmaf(u.y, v.y, s);
    }
    return s;
}
__device__ __forceinline__ uint4 apply8(const uint4& a, const uint4& b, float d) {
    const __nv_bfloat162* p = reinterpret_cast<const __nv_bfloat162*>(&a);
    const __nv_bfloat162* q = reinterpret_cast<const __nv_bfloat162*>(&b);
    uint4 r;
    __nv_bfloat162* o = reinterpret_cast<__nv_bfloat162*>(&r);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 u = __bfloat1622float2(p[i]), v = __bfloat1622float2(q[i]);
        o[i] = __floats2bfloat162_rn(u.x * (v.x - d), u.y * (v.y - d));
    }
    return r;
}
__device__ __forceinline__ float block_sum(float v) {
    __shared__ float part[32];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0.f;
    for (int w = 0; w < (blockDim.x >> 5); ++w) v += part[w];
    return v;
}

extern "C" __global__ void __launch_bounds__(256) bwd_vec(const uint4* __restrict__ y, const uint4* __restrict__ grad, uint4* __restrict__ out, int nvec) {
    const size_t base = (size_t)blockIdx.x * nvec;
    uint4 a[2], b[2];
    float s = 0.f;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        int i = threadIdx.x + k * blockDim.x;
        a[k] = b[k] = make_uint4(0, 0, 0, 0);
        if (i < nvec) { a[k] = __ldcs(y + base + i); b[k] = __ldcs(grad + base + i); }
    }
    #pragma unroll
    for (int k = 0; k < 2; ++k) s += dot8(a[k], b[k]);
    s = block_sum(s);
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        int i = threadIdx.x + k * blockDim.x;
        if (i < nvec) __stcs(out + base + i, apply8(a[k], b[k], s));
    }
}

extern "C" __global__ void bwd_any(const __nv_bfloat16* __restrict__ y, const __nv_bfloat16* __restrict__ grad, __nv_bfloat16* __restrict__ out, int cols) {
    const size_t base = (size_t)blockIdx.x * cols;
    float s = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) s += __bfloat162float(y[base + c]) * __bfloat162float(grad[base + c]);
    s = block_sum(s);
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[base + c] = __float2bfloat16(__bfloat162float(y[base + c]) * (__bfloat162float(grad[base + c]) - s));
}
""")


def kernel(y, grad):
    rows, cols = y.shape
    out = torch.empty_like(y)
    if cols % 8 == 0 and cols <= 4096:
        nvec = cols // 8
        threads = min(256, max(32, (nvec + 1) // 2 + 31 & ~31))
        program.bwd_vec((rows,), (threads,), (y, grad, out, nvec))
    else:
        program.bwd_any((rows,), (128,), (y, grad, out, cols))
    return out
