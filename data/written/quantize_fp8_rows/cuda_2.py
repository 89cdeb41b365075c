import torch

from foretell.cuda import compile

# Row cached in registers: 8 bf16 (16 B) per load, up to CHUNKS loads per thread, warp-shuffle reduction,
# packed PTX conversions (two fp8 per cvt), 8-byte stores.  The row is read from DRAM exactly once.
program = compile(r"""
constexpr int T = 256;
constexpr int CHUNKS = 4;               // T * CHUNKS * 8 = 8192 columns at most

__device__ __forceinline__ unsigned cvt4(float a, float b, float c, float d) {
    unsigned short lo, hi;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(lo) : "f"(b), "f"(a));   // second operand -> low byte
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(hi) : "f"(d), "f"(c));
    return (unsigned)lo | ((unsigned)hi << 16);
}
__device__ __forceinline__ float lo(unsigned u) { return __uint_as_float(u << 16); }
__device__ __forceinline__ float hi(unsigned u) { return __uint_as_float(u & 0xffff0000u); }
// max of bf16 magnitudes, on integers, both halves of a word at once
__device__ __forceinline__ unsigned amax2(unsigned m, unsigned u) { return __vmaxu2(m, u & 0x7fff7fffu); }

extern "C" __global__ void __launch_bounds__(T) quantize_regs(const uint4* __restrict__ x, uint2* __restrict__ codes,
                                         float* __restrict__ scales, int n8) {
    __shared__ unsigned part[T / 32];
    const int t = threadIdx.x;
    const uint4* src = x + (size_t)blockIdx.x * n8;
    uint4 v[CHUNKS];
    unsigned m = 0;
    #pragma unroll
    for (int k = 0; k < CHUNKS; ++k) {
        int i = k * T + t;
        if (i < n8) {
            v[k] = __ldcs(src + i);
            m = amax2(amax2(amax2(amax2(m, v[k].x), v[k].y), v[k].z), v[k].w);
        }
    }
    m = max(m & 0xffffu, m >> 16);
    m = __reduce_max_sync(0xffffffffu, m);
    if ((t & 31) == 0) part[t >> 5] = m;
    __syncthreads();
    #pragma unroll
    for (int w = 0; w < T / 32; ++w) m = max(m, part[w]);
    const unsigned e = m ? (m >> 7) : 126u;
    const float inv = __uint_as_float((261u - e) << 23);
    uint2* dst = codes + (size_t)blockIdx.x * n8;
    #pragma unroll
    for (int k = 0; k < CHUNKS; ++k) {
        int i = k * T + t;
        if (i < n8) {
            uint2 o;
            o.x = cvt4(lo(v[k].x) * inv, hi(v[k].x) * inv, lo(v[k].y) * inv, hi(v[k].y) * inv);
            o.y = cvt4(lo(v[k].z) * inv, hi(v[k].z) * inv, lo(v[k].w) * inv, hi(v[k].w) * inv);
            dst[i] = o;
        }
    }
    if (t == 0) scales[blockIdx.x] = __uint_as_float((e - 7u) << 23);
}
""")


def kernel(x):
    rows, cols = x.shape
    assert cols % 8 == 0 and cols <= 8192
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    program.quantize_regs((rows,), (256,), (x, codes, scales, cols // 8))
    return codes, scales
