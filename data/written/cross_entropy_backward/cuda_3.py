import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// Registers only. GROUP warps cooperate on a row; each thread keeps NV 16-byte packs (8 bf16 each).
//  - cols <= 1024: a single warp owns the row (4 packs per lane), no shared memory
//  - cols <= 8192: 8 warps own the row (4 packs per thread)
template <int NV, int WARPS>
__device__ __forceinline__ void run(const __nv_bfloat16* logits, const long long* targets, const float* grad,
                                    __nv_bfloat16* out, int row, int cols, int t_in_row) {
    const int T = WARPS * 32;
    const int n8 = cols >> 3;
    const uint4* src = (const uint4*)(logits + (size_t)row * cols);
    uint4* dst = (uint4*)(out + (size_t)row * cols);
    float x[NV * 8];
    float m = -1e30f;
    #pragma unroll
    for (int v = 0; v < NV; ++v) {
        int i = t_in_row + v * T;
        if (i < n8) {
            uint4 u = __ldcs(src + i);
            const unsigned w[4] = {u.x, u.y, u.z, u.w};
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                // bf16 -> f32 is just a shift
                x[v * 8 + 2 * k] = __uint_as_float(w[k] << 16);
                x[v * 8 + 2 * k + 1] = __uint_as_float(w[k] & 0xffff0000u);
            }
        } else {
            #pragma unroll
            for (int k = 0; k < 8; ++k) x[v * 8 + k] = -1e30f;
        }
        #pragma unroll
        for (int k = 0; k < 8; ++k) m = fmaxf(m, x[v * 8 + k]);
    }
    __shared__ float red[2][WARPS];
    #pragma unroll
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (WARPS > 1) {
        if ((threadIdx.x & 31) == 0) red[0][threadIdx.x >> 5] = m;
        __syncthreads();
        #pragma unroll
        for (int w = 0; w < WARPS; ++w) m = fmaxf(m, red[0][w]);
    }
    float s = 0.0f;
    #pragma unroll
    for (int k = 0; k < NV * 8; ++k) { x[k] = __expf(x[k] - m); s += x[k]; }
    #pragma unroll
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (WARPS > 1) {
        if ((threadIdx.x & 31) == 0) red[1][threadIdx.x >> 5] = s;
        __syncthreads();
        s = 0.0f;
        #pragma unroll
        for (int w = 0; w < WARPS; ++w) s += red[1][w];
    }
    const float g = grad[row];
    const int t = (int)targets[row];
    const float scale = __fdividef(g, s);
    #pragma unroll
    for (int v = 0; v < NV; ++v) {
        int i = t_in_row + v * T;
        if (i >= n8) continue;
        union { uint4 u; __nv_bfloat162 h[4]; } p;
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            int c = i * 8 + 2 * k;
            float a = x[v * 8 + 2 * k] * scale, b = x[v * 8 + 2 * k + 1] * scale;
            if (c == t) a -= g;
            if (c + 1 == t) b -= g;
            p.h[k] = __floats2bfloat162_rn(a, b);
        }
        __stcs(dst + i, p.u);
    }
}

extern "C" __global__ void __launch_bounds__(128) warp_rows(const __nv_bfloat16* logits, const long long* targets, const float* grad, __nv_bfloat16* out, int rows, int cols) {
    int row = blockIdx.x * 4 + (threadIdx.x >> 5);
    if (row < rows) run<4, 1>(logits, targets, grad, out, row, cols, threadIdx.x & 31);
}
extern "C" __global__ void __launch_bounds__(256) block_rows(const __nv_bfloat16* logits, const long long* targets, const float* grad, __nv_bfloat16* out, int rows, int cols) {
    run<4, 8>(logits, targets, grad, out, blockIdx.x, cols, threadIdx.x);
}
// rows that are not 16-byte aligned
extern "C" __global__ void __launch_bounds__(32) odd_rows(const __nv_bfloat16* logits, const long long* targets, const float* grad, __nv_bfloat16* out, int rows, int cols) {
    const __nv_bfloat16* x = logits + (size_t)blockIdx.x * cols;
    float m = -1e30f, s = 0.0f;
    for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, __bfloat162float(x[i]));
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    for (int i = threadIdx.x; i < cols; i += 32) s += __expf(__bfloat162float(x[i]) - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    float g = grad[blockIdx.x];
    for (int i = threadIdx.x; i < cols; i += 32)
        out[(size_t)blockIdx.x * cols + i] = __float2bfloat16((__expf(__bfloat162float(x[i]) - m) / s - (i == targets[blockIdx.x] ? 1.0f : 0.0f)) * g);
}
""")


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    args = (logits, targets, grad, out, rows, cols)
    if cols % 8 or cols > 8192:
        program.odd_rows((rows,), (32,), args)
    elif cols <= 1024:
        program.warp_rows(((rows + 3) // 4,), (128,), args)
    else:
        program.block_rows((rows,), (256,), args)
    return out
