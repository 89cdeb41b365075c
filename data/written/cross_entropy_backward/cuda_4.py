import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// Persistent blocks with a double-buffered row in shared memory filled by cp.async: the next row streams in
// while the present one is reduced and written. Odd rows use 2-byte copies through registers.
constexpr int T = 256;

__device__ __forceinline__ void prefetch(__nv_bfloat16* dst, const __nv_bfloat16* src, int cols, bool vec) {
    if (vec) {
        unsigned d = (unsigned)__cvta_generic_to_shared(dst);
        for (int i = threadIdx.x * 8; i < cols; i += T * 8)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(d + i * 2), "l"(src + i));
    } else {
        for (int i = threadIdx.x; i < cols; i += T) dst[i] = src[i];
    }
}
__device__ __forceinline__ float reduce_max(float v, float* buf) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    if ((threadIdx.x & 31) == 0) buf[threadIdx.x >> 5] = v;
    __syncthreads();
    v = buf[threadIdx.x & 7];
    for (int o = 4; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
__device__ __forceinline__ float reduce_sum(float v, float* buf) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) buf[threadIdx.x >> 5] = v;
    __syncthreads();
    v = buf[threadIdx.x & 7];
    for (int o = 4; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

extern "C" __global__ void __launch_bounds__(T) ce_backward(const __nv_bfloat16* __restrict__ logits, const long long* __restrict__ targets,
        const float* __restrict__ grad, __nv_bfloat16* __restrict__ out, int rows, int cols, int pitch) {
    extern __shared__ __align__(16) unsigned char raw[];
    __nv_bfloat16* stage = (__nv_bfloat16*)raw;
    __shared__ float bmax[8], bsum[8];
    const bool vec = cols % 8 == 0;
    int row = blockIdx.x, which = 0;
    if (row < rows) prefetch(stage, logits + (size_t)row * cols, cols, vec);
    asm volatile("cp.async.commit_group;");
    for (; row < rows; row += gridDim.x, which ^= 1) {
        int next = row + gridDim.x;
        if (next < rows) prefetch(stage + (which ^ 1) * pitch, logits + (size_t)next * cols, cols, vec);
        asm volatile("cp.async.commit_group;");
        float g = grad[row];
        int t = (int)targets[row];
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        const __nv_bfloat162* cur2 = (const __nv_bfloat162*)(stage + which * pitch);
        const __nv_bfloat16* cur = stage + which * pitch;
        float m = -1e30f, s = 0.0f;
        for (int i = threadIdx.x; i < cols / 2; i += T) { float2 f = __bfloat1622float2(cur2[i]); m = fmaxf(m, fmaxf(f.x, f.y)); }
        if ((cols & 1) && threadIdx.x == 0) m = fmaxf(m, __bfloat162float(cur[cols - 1]));
        m = reduce_max(m, bmax);
        for (int i = threadIdx.x; i < cols / 2; i += T) { float2 f = __bfloat1622float2(cur2[i]); s += __expf(f.x - m) + __expf(f.y - m); }
        if ((cols & 1) && threadIdx.x == 0) s += __expf(__bfloat162float(cur[cols - 1]) - m);
        s = reduce_sum(s, bsum);
        float scale = g / s;
        __nv_bfloat16* dst = out + (size_t)row * cols;
        if (vec) {
            for (int i = threadIdx.x; i < cols / 2; i += T) {
                float2 f = __bfloat1622float2(cur2[i]);
                float a = __expf(f.x - m) * scale - (2 * i == t ? g : 0.f);
                float b = __expf(f.y - m) * scale - (2 * i + 1 == t ? g : 0.f);
                ((__nv_bfloat162*)dst)[i] = __floats2bfloat162_rn(a, b);
            }
        } else {
            for (int i = threadIdx.x; i < cols; i += T)
                dst[i] = __float2bfloat16(__expf(__bfloat162float(cur[i]) - m) * scale - (i == t ? g : 0.f));
        }
        __syncthreads();  // the buffer is refilled by the next turn's prefetch
    }
}
""")


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    pitch = (cols + 7) // 8 * 8
    grid = min(rows, 132 * (4 if cols > 2048 else 8))
    program.ce_backward((grid,), (256,), (logits, targets, grad, out, rows, cols, pitch), pitch * 2 * 2)
    return out
