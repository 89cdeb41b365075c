import torch

from foretell.cuda import compile

program = compile(r"""
// A warp per group: each lane reads 4 bf16 (8 bytes) and writes 4 int8 (4 bytes), both fully coalesced.
// The maximum is taken on the integer images with the hardware warp reduction (redux.sync).
__device__ __forceinline__ int level(unsigned half_bits, float recip) {
    const float v = __uint_as_float(half_bits << 16);
    const int q = __float2int_rd(fmaf(v, recip, 0.5f));
    return min(q, 127) & 255;
}
extern "C" __global__ void __launch_bounds__(256) quantize_warp(const uint2* __restrict__ x, unsigned* __restrict__ levels,
        float* __restrict__ scales, int groups) {
    const int g = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (g >= groups) return;
    const uint2 w = __ldcs(x + (size_t)g * 32 + lane);
    const unsigned a = w.x & 0x7fffu, b = (w.x >> 16) & 0x7fffu, c = w.y & 0x7fffu, d = (w.y >> 16) & 0x7fffu;
    const unsigned top = __reduce_max_sync(0xffffffffu, max(max(a, b), max(c, d)));
    const unsigned biased = top == 0 ? 126u : top >> 7;
    const float recip = __uint_as_float((260u - biased) << 23);
    const unsigned out = level(w.x & 0xffffu, recip) | (level(w.x >> 16, recip) << 8) | (level(w.y & 0xffffu, recip) << 16)
                       | ((unsigned)level(w.y >> 16, recip) << 24);
    __stcs(levels + (size_t)g * 32 + lane, out);
    if (lane == 0) scales[g] = __uint_as_float((biased - 6u) << 23);
}
""")


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    groups = rows * cols // 128
    program.quantize_warp(((groups + 7) // 8,), (256,), (x, levels, scales, groups))
    return levels, scales
