import torch

from foretell.cuda import compile

program = compile(r"""
// Persistent, 16 lanes per group (16 bytes in, 8 bytes out per lane), four groups in flight per half-warp to cover the
// latency: all loads first, then the reductions interleaved, then the stores. The rounding uses the magic-number
// trick: adding 1.5 * 2^23 rounds to nearest-even, so floor(y + 0.5) is made by cvt.rmi instead - one instruction.
#define UNROLL 4
__device__ __forceinline__ int floor_int(float v) {
    int r;
    asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
__device__ __forceinline__ unsigned pack4(int a, int b, int c, int d) {
    // saturating packs: cvt.pack.sat clamps to [-128, 127] for free
    unsigned hi, r;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(hi) : "r"(d), "r"(c), "r"(0u));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(b), "r"(a), "r"(hi));
    return r;
}
__device__ __forceinline__ int q(unsigned f, float recip) { return floor_int(fmaf(__uint_as_float(f), recip, 0.5f)); }
__device__ __forceinline__ unsigned top2(unsigned w) { return max(w & 0x7fffu, (w >> 16) & 0x7fffu); }

extern "C" __global__ void __launch_bounds__(256) quantize_stream(const uint4* __restrict__ x, uint2* __restrict__ levels,
        float* __restrict__ scales, int groups) {
    const int sub = threadIdx.x & 15;
    const int step = gridDim.x * 16;
    for (int g0 = blockIdx.x * 16 + (threadIdx.x >> 4); __any_sync(0xffffffffu, g0 < groups); g0 += step * UNROLL) {
        uint4 v[UNROLL];
        unsigned top[UNROLL];
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int g = g0 + u * step;
            v[u] = g < groups ? __ldcs(x + (size_t)g * 16 + sub) : make_uint4(0, 0, 0, 0);
        }
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) top[u] = max(max(top2(v[u].x), top2(v[u].y)), max(top2(v[u].z), top2(v[u].w)));
        #pragma unroll
        for (int d = 8; d; d >>= 1) {
            #pragma unroll
            for (int u = 0; u < UNROLL; ++u) top[u] = max(top[u], __shfl_xor_sync(0xffffffffu, top[u], d));
        }
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            const int g = g0 + u * step;
            if (g >= groups) continue;
            const unsigned biased = top[u] == 0 ? 126u : top[u] >> 7;
            const float r = __uint_as_float((260u - biased) << 23);
            uint2 o;
            o.x = pack4(q(v[u].x << 16, r), q(v[u].x & 0xffff0000u, r), q(v[u].y << 16, r), q(v[u].y & 0xffff0000u, r));
            o.y = pack4(q(v[u].z << 16, r), q(v[u].z & 0xffff0000u, r), q(v[u].w << 16, r), q(v[u].w & 0xffff0000u, r));
            __stcs(levels + (size_t)g * 16 + sub, o);
            if (sub == 0) scales[g] = __uint_as_float((biased - 6u) << 23);
        }
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    groups = rows * cols // 128
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    program.quantize_stream((min(sms * 8, (groups + 15) // 16),), (256,), (x, levels, scales, groups))
    return levels, scales
