import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// Eight lanes per group, 16 values per lane: two 16-byte loads in, one 16-byte store out. Four groups per warp.
// |x| maxima with packed bf16x2 instructions (HMNMX2), then three shuffles over the 8 lanes.
__device__ __forceinline__ unsigned quad(unsigned lo, unsigned hi, float recip) {
    const unsigned h[4] = {lo << 16, lo & 0xffff0000u, hi << 16, hi & 0xffff0000u};
    unsigned r = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int q = min(__float2int_rd(__uint_as_float(h[k]) * recip + 0.5f), 127);
        r |= (unsigned)(q & 255) << (8 * k);
    }
    return r;
}
extern "C" __global__ void __launch_bounds__(256) quantize_lanes8(const uint4* __restrict__ x, uint4* __restrict__ levels,
        float* __restrict__ scales, int groups) {
    const int t = blockIdx.x * 256 + threadIdx.x;
    const int g = t >> 3;
    const bool live = g < groups;
    uint4 a = make_uint4(0, 0, 0, 0), b = a;
    if (live) { a = x[2 * (size_t)t]; b = x[2 * (size_t)t + 1]; }
    const unsigned w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    __nv_bfloat162 top = __habs2(*(const __nv_bfloat162*)&w[0]);
    #pragma unroll
    for (int k = 1; k < 8; ++k) top = __hmax2(top, __habs2(*(const __nv_bfloat162*)&w[k]));
    #pragma unroll
    for (int d = 4; d; d >>= 1) {
        unsigned o = __shfl_xor_sync(0xffffffffu, *(unsigned*)&top, d);
        top = __hmax2(top, *(__nv_bfloat162*)&o);
    }
    const unsigned bits = *(unsigned*)&top;
    const unsigned m = max(bits & 0xffffu, bits >> 16);
    const unsigned biased = m == 0 ? 126u : m >> 7;
    const float recip = __uint_as_float((260u - biased) << 23);
    if (live) {
        levels[t] = make_uint4(quad(a.x, a.y, recip), quad(a.z, a.w, recip), quad(b.x, b.y, recip), quad(b.z, b.w, recip));
        if ((threadIdx.x & 7) == 0) scales[g] = __uint_as_float((biased - 6u) << 23);
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    groups = rows * cols // 128
    program.quantize_lanes8(((groups * 8 + 255) // 256,), (256,), (x, levels, scales, groups))
    return levels, scales
