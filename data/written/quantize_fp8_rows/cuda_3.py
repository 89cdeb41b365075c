import torch

from foretell.cuda import compile

# A warp per row: no block barrier at all.  Row parked in shared memory between the max pass and the
# conversion pass (4096 columns * 2 B = 8 KB per warp, 4 warps = 32 KB).
program = compile(r"""
#include <cuda_bf16.h>
#include <cuda_fp8.h>
constexpr int WARPS = 4;
extern "C" __global__ void __launch_bounds__(WARPS * 32) quantize_warp(const __nv_bfloat16* __restrict__ x, unsigned char* __restrict__ codes,
                                         float* __restrict__ scales, int rows, int cols) {
    extern __shared__ __align__(16) unsigned char smem[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row = blockIdx.x * WARPS + warp;
    if (row >= rows) return;
    const int n8 = cols >> 3;
    uint4* keep = reinterpret_cast<uint4*>(smem) + warp * n8;
    const uint4* src = reinterpret_cast<const uint4*>(x + (size_t)row * cols);
    __nv_bfloat162 best = __float2bfloat162_rn(0.0f);
    #pragma unroll 4
    for (int i = lane; i < n8; i += 32) {
        uint4 v = __ldg(src + i);
        keep[i] = v;
        const __nv_bfloat162* h = reinterpret_cast<const __nv_bfloat162*>(&v);
        #pragma unroll
        for (int q = 0; q < 4; ++q) best = __hmax2(best, __habs2(h[q]));
    }
    float top = fmaxf(__low2float(best), __high2float(best));
    #pragma unroll
    for (int d = 16; d; d >>= 1) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, d));
    const int e = top == 0.0f ? 0 : ilogbf(top) + 1;          // frexp's exponent
    const float scale = ldexpf(1.0f, e - 8);
    const float inv = ldexpf(1.0f, 8 - e);
    uint2* dst = reinterpret_cast<uint2*>(codes + (size_t)row * cols);
    for (int i = lane; i < n8; i += 32) {                      // every lane reads back its own vectors
        uint4 v = keep[i];
        const __nv_bfloat162* h = reinterpret_cast<const __nv_bfloat162*>(&v);
        unsigned short o[4];
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
            float2 f = __bfloat1622float2(h[q]);
            o[q] = __nv_cvt_float2_to_fp8x2(make_float2(f.x * inv, f.y * inv), __NV_SATFINITE, __NV_E4M3);
        }
        dst[i] = make_uint2(o[0] | ((unsigned)o[1] << 16), o[2] | ((unsigned)o[3] << 16));
    }
    if (lane == 0) scales[row] = scale;
}
""")


def kernel(x):
    rows, cols = x.shape
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    program.quantize_warp(((rows + 3) // 4,), (128,), (x, codes, scales, rows, cols), 4 * cols * 2)
    return codes, scales
