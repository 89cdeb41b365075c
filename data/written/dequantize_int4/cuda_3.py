import torch

from foretell.cuda import compile

# 16-byte loads (32 nibbles = half a group per thread), and a warp-level transpose through shuffles so
# that the four 16-byte stores of a thread are coalesced across the warp: in store step k lane L writes
# vector k*32 + L of the warp's 128 output vectors, whose word lives in lane (k*32+L)/4, component L%4.
program = compile(r"""
#include <cuda_fp16.h>
__device__ __forceinline__ unsigned two(unsigned byte, __half2 s) {
    unsigned bits = (byte & 15u) | ((byte & 0xf0u) << 12) | 0x64006400u;
    __half2 h = *reinterpret_cast<__half2*>(&bits);
    const __half2 c = __float2half2_rn(1032.0f);
    h = __hmul2(__hsub2(h, c), s);
    return *reinterpret_cast<unsigned*>(&h);
}
extern "C" __global__ void __launch_bounds__(256) dequant_shuffle(const uint4* __restrict__ packed, const __half* __restrict__ scales,
                                   uint4* __restrict__ out, unsigned n_vec) {
    const unsigned lane = threadIdx.x & 31;
    const unsigned warp0 = (blockIdx.x * blockDim.x + threadIdx.x) & ~31u;   // first vector of the warp
    if (warp0 >= n_vec) return;
    const unsigned i = warp0 + lane;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (i < n_vec) v = __ldcs(packed + i);
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int from = k * 8 + (lane >> 2);
        unsigned x = __shfl_sync(0xffffffffu, v.x, from);
        unsigned y = __shfl_sync(0xffffffffu, v.y, from);
        unsigned z = __shfl_sync(0xffffffffu, v.z, from);
        unsigned t = __shfl_sync(0xffffffffu, v.w, from);
        unsigned c = lane & 3;
        unsigned w = c == 0 ? x : c == 1 ? y : c == 2 ? z : t;
        const unsigned o_idx = warp0 * 4 + k * 32 + lane;        // output vector = packed word index
        if (o_idx < n_vec * 4) {
            const __half2 s = __half2half2(__ldg(scales + (o_idx >> 3)));
            uint4 o;
            o.x = two(w & 255u, s);
            o.y = two((w >> 8) & 255u, s);
            o.z = two((w >> 16) & 255u, s);
            o.w = two(w >> 24, s);
            __stcs(out + o_idx, o);
        }
    }
}
""")


def kernel(packed, scales):
    rows, half = packed.shape
    out = torch.empty((rows, half * 2), dtype=torch.float16, device=packed.device)
    n_vec = rows * half // 16
    program.dequant_shuffle(((n_vec + 255) // 256,), (256,), (packed, scales, out, n_vec))
    return out
