import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Hybrid: sub-warp groups for short rows, whole block for long rows, all loads issued before any math.
// LANES threads handle a row with UNROLL 16-byte packets of each operand in flight.
template <int LANES, int UNROLL>
__device__ __forceinline__ float3 row_dots(const uint4* __restrict__ a, const uint4* __restrict__ b, int n8, int t) {
    float dot = 0.f, na = 0.f, nb = 0.f;
    for (int i0 = 0; i0 < n8; i0 += LANES * UNROLL) {
        uint4 u[UNROLL], v[UNROLL];
        #pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            int i = i0 + k * LANES + t;
            bool in = i < n8;
            u[k] = in ? __ldcs(a + i) : make_uint4(0, 0, 0, 0);
            v[k] = in ? __ldcs(b + i) : make_uint4(0, 0, 0, 0);
        }
        #pragma unroll
        for (int k = 0; k < UNROLL; ++k) {
            const __half2* x = (const __half2*)&u[k];
            const __half2* y = (const __half2*)&v[k];
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float2 p = __half22float2(x[j]), q = __half22float2(y[j]);
                dot += p.x * q.x + p.y * q.y;
                na += p.x * p.x + p.y * p.y;
                nb += q.x * q.x + q.y * q.y;
            }
        }
    }
    constexpr int W = LANES < 32 ? LANES : 32;
    #pragma unroll
    for (int o = W / 2; o; o >>= 1) {
        dot += __shfl_xor_sync(~0u, dot, o);
        na += __shfl_xor_sync(~0u, na, o);
        nb += __shfl_xor_sync(~0u, nb, o);
    }
    return make_float3(dot, na, nb);
}
__device__ __forceinline__ float finish(float3 s) {
    return s.x * rsqrtf(fmaxf(s.y, 1e-16f)) * rsqrtf(fmaxf(s.z, 1e-16f));
}

extern "C" __global__ void __launch_bounds__(256) cos_short(const __half* a, const __half* b, float* out, int rows, int cols) {
    constexpr int LANES = 16;
    int row = blockIdx.x * (256 / LANES) + threadIdx.x / LANES;
    int t = threadIdx.x % LANES;
    int safe = min(row, rows - 1);  // keep the whole warp converged for the shuffles
    float3 s = row_dots<LANES, 4>((const uint4*)(a + (size_t)safe * cols), (const uint4*)(b + (size_t)safe * cols), cols / 8, t);
    if (t == 0 && row < rows) out[row] = finish(s);
}
extern "C" __global__ void __launch_bounds__(128) cos_long(const __half* a, const __half* b, float* out, int rows, int cols) {
    __shared__ float3 part[4];
    size_t base = (size_t)blockIdx.x * cols;
    float3 s = row_dots<128, 4>((const uint4*)(a + base), (const uint4*)(b + base), cols / 8, threadIdx.x);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w) { s.x += part[w].x; s.y += part[w].y; s.z += part[w].z; }
        out[blockIdx.x] = finish(s);
    }
}
extern "C" __global__ void __launch_bounds__(32) cos_odd(const __half* a, const __half* b, float* out, int rows, int cols) {
    size_t base = (size_t)blockIdx.x * cols;
    float3 s = make_float3(0.f, 0.f, 0.f);
    for (int i = threadIdx.x; i < cols; i += 32) {
        float x = __half2float(a[base + i]), y = __half2float(b[base + i]);
        s.x += x * y; s.y += x * x; s.z += y * y;
    }
    for (int o = 16; o; o >>= 1) {
        s.x += __shfl_xor_sync(~0u, s.x, o); s.y += __shfl_xor_sync(~0u, s.y, o); s.z += __shfl_xor_sync(~0u, s.z, o);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = finish(s);
}
""")


def kernel(a, b):
    rows, cols = a.shape
    out = torch.empty(rows, device=a.device, dtype=torch.float32)
    args = (a, b, out, rows, cols)
    if cols % 8:
        program.cos_odd((rows,), (32,), args)
    elif cols <= 1024:
        program.cos_short(((rows + 15) // 16,), (256,), args)
    else:
        program.cos_long((rows,), (128,), args)
    return out
