import torch

from foretell.cuda import compile

# 16 elements per thread so that the mask is a full 16-byte load too; the mask bytes are spread over bf16 lanes with
# __byte_perm and the arithmetic is HFMA2.BF16 with a packed coefficient (1.25 or 0).
program = compile(r"""
#include <cuda_bf16.h>
constexpr int THREADS = 256;

__device__ __forceinline__ unsigned int fma2(unsigned int x, unsigned int c, unsigned int r) {
    unsigned int o;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(o) : "r"(x), "r"(c), "r"(r));
    return o;
}
// bytes k0 k1 (0 or 1) -> two bf16: 1.25 = 0x3FA0
__device__ __forceinline__ unsigned int coefficient(unsigned int k, unsigned int selector) {
    return __byte_perm(k, 0, selector) * 0x3FA0u;
}
__device__ __forceinline__ uint4 apply(uint4 x, uint4 r, unsigned int k0, unsigned int k1) {
    // selector digits: 4 picks a zero byte of the second operand
    return make_uint4(fma2(x.x, coefficient(k0, 0x4140), r.x), fma2(x.y, coefficient(k0, 0x4342), r.y),
                      fma2(x.z, coefficient(k1, 0x4140), r.z), fma2(x.w, coefficient(k1, 0x4342), r.w));
}

extern "C" __global__ void __launch_bounds__(THREADS) masked_residual16(const uint4* __restrict__ x, const uint4* __restrict__ keep,
        const uint4* __restrict__ residual, uint4* __restrict__ out, int n16) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n16; i += gridDim.x * THREADS) {
        const uint4 k = __ldcs(keep + i);
        const uint4 x0 = __ldcs(x + 2 * i), x1 = __ldcs(x + 2 * i + 1);
        const uint4 r0 = __ldcs(residual + 2 * i), r1 = __ldcs(residual + 2 * i + 1);
        __stcs(out + 2 * i, apply(x0, r0, k.x, k.y));
        __stcs(out + 2 * i + 1, apply(x1, r1, k.z, k.w));
    }
}
extern "C" __global__ void masked_residual_tail(const __nv_bfloat16* x, const unsigned char* keep, const __nv_bfloat16* residual,
                                                __nv_bfloat16* out, int from, int n) {
    int i = from + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(__bfloat162float(residual[i]) + (keep[i] ? 1.25f : 0.0f) * __bfloat162float(x[i]));
}
""")


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    n16 = n // 16
    if n16:
        program.masked_residual16((min((n16 + 255) // 256, 132 * 16),), (256,), (x, keep, residual, out, n16))
    if n % 16:
        program.masked_residual_tail((1,), (32,), (x, keep, residual, out, n16 * 16, n))
    return out
