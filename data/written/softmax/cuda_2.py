import torch

from foretell.cuda import compile

# Warp per row with the row held in registers as float4 (up to 4096 columns = 32 float4 per lane would spill, so
# the long rows go to a block-per-row kernel with 256 threads x 4 float4).
program = compile(r"""
template <int N>
__device__ __forceinline__ float hmax(const float4 (&v)[N]) {
    float m = -1e38f;
    #pragma unroll
    for (int i = 0; i < N; ++i) m = fmaxf(m, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    return m;
}

__device__ __forceinline__ float warp_max(float v) {
    #pragma unroll
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
    #pragma unroll
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

// cols <= 512, cols % 4 == 0: one warp per row
extern "C" __global__ void __launch_bounds__(128) softmax_warp(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    int row = blockIdx.x * 4 + (threadIdx.x >> 5);
    int lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float4* xr = (const float4*)(x + (size_t)row * cols);
    float4* yr = (float4*)(out + (size_t)row * cols);
    int n4 = cols >> 2;
    float4 v[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int c = lane + i * 32;
        v[i] = c < n4 ? __ldcs(xr + c) : make_float4(-1e38f, -1e38f, -1e38f, -1e38f);
    }
    float m = warp_max(hmax<4>(v));
    float s = 0.f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i].x = __expf(v[i].x - m); v[i].y = __expf(v[i].y - m);
        v[i].z = __expf(v[i].z - m); v[i].w = __expf(v[i].w - m);
        s += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    float inv = 1.f / warp_sum(s);
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int c = lane + i * 32;
        if (c < n4) __stcs(yr + c, make_float4(v[i].x * inv, v[i].y * inv, v[i].z * inv, v[i].w * inv));
    }
}

// cols <= 4096, cols % 4 == 0: one block of 256 threads per row
extern "C" __global__ void __launch_bounds__(256) softmax_block(const float* __restrict__ x, float* __restrict__ out, int cols) {
    __shared__ float smax[8], ssum[8];
    int tid = threadIdx.x;
    const float4* xr = (const float4*)(x + (size_t)blockIdx.x * cols);
    float4* yr = (float4*)(out + (size_t)blockIdx.x * cols);
    int n4 = cols >> 2;
    float4 v[4];
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int c = tid + i * 256;
        v[i] = c < n4 ? __ldcs(xr + c) : make_float4(-1e38f, -1e38f, -1e38f, -1e38f);
    }
    float m = warp_max(hmax<4>(v));
    if ((tid & 31) == 0) smax[tid >> 5] = m;
    __syncthreads();
    m = smax[0];
    #pragma unroll
    for (int w = 1; w < 8; ++w) m = fmaxf(m, smax[w]);
    float s = 0.f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        v[i].x = __expf(v[i].x - m); v[i].y = __expf(v[i].y - m);
        v[i].z = __expf(v[i].z - m); v[i].w = __expf(v[i].w - m);
        s += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    s = warp_sum(s);
    if ((tid & 31) == 0) ssum[tid >> 5] = s;
    __syncthreads();
    s = 0.f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) s += ssum[w];
    float inv = 1.f / s;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int c = tid + i * 256;
        if (c < n4) __stcs(yr + c, make_float4(v[i].x * inv, v[i].y * inv, v[i].z * inv, v[i].w * inv));
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    if cols <= 512:
        program.softmax_warp(((rows + 3) // 4,), (128,), (x, out, rows, cols))
    else:
        program.softmax_block((rows,), (256,), (x, out, cols))
    return out
