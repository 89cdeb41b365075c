import torch

from foretell.cuda import compile

# float4, register-resident row, templated on how many float4 each thread keeps. cols % 4 == 0 for every shape we have;
# a scalar loop kernel covers the rest.
program = compile(r"""
template <bool MAX>
__device__ __forceinline__ float reduce(float v, float* scratch) {
    #pragma unroll
    for (int o = 16; o; o >>= 1) {
        float u = __shfl_xor_sync(0xffffffffu, v, o);
        v = MAX ? fmaxf(v, u) : v + u;
    }
    const int warps = blockDim.x >> 5;
    if (warps == 1) return v;
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = v;
    __syncthreads();
    v = scratch[0];
    for (int w = 1; w < warps; ++w) v = MAX ? fmaxf(v, scratch[w]) : v + scratch[w];
    return v;
}

template <int V>
__device__ __forceinline__ void body(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float s1[32], s2[32];
    const float4* src = reinterpret_cast<const float4*>(x + (size_t)blockIdx.x * cols);
    float4* dst = reinterpret_cast<float4*>(y + (size_t)blockIdx.x * cols);
    const int n = cols >> 2;
    float4 r[V];
    float m = -1e37f;
    #pragma unroll
    for (int k = 0; k < V; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        r[k] = i < n ? src[i] : make_float4(-1e37f, -1e37f, -1e37f, -1e37f);
    }
    #pragma unroll
    for (int k = 0; k < V; ++k) m = fmaxf(m, fmaxf(fmaxf(r[k].x, r[k].y), fmaxf(r[k].z, r[k].w)));
    m = reduce<true>(m, s1);
    float s = 0.f;
    #pragma unroll
    for (int k = 0; k < V; ++k)
        s += (__expf(r[k].x - m) + __expf(r[k].y - m)) + (__expf(r[k].z - m) + __expf(r[k].w - m));
    s = reduce<false>(s, s2);
    const float lse = m + logf(s);
    #pragma unroll
    for (int k = 0; k < V; ++k) {
        const int i = threadIdx.x + k * blockDim.x;
        if (i < n) dst[i] = make_float4(r[k].x - lse, r[k].y - lse, r[k].z - lse, r[k].w - lse);
    }
}

extern "C" __global__ void __launch_bounds__(256) ls4(const float* __restrict__ x, float* __restrict__ y, int cols) { body<4>(x, y, cols); }
extern "C" __global__ void __launch_bounds__(256) ls2(const float* __restrict__ x, float* __restrict__ y, int cols) { body<2>(x, y, cols); }

extern "C" __global__ void ls_any(const float* __restrict__ x, float* __restrict__ y, int cols) {
    __shared__ float s1[32], s2[32];
    const float* src = x + (size_t)blockIdx.x * cols;
    float m = -1e37f, s = 0.f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, src[i]);
    m = reduce<true>(m, s1);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) s += __expf(src[i] - m);
    s = reduce<false>(s, s2);
    const float lse = m + logf(s);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[(size_t)blockIdx.x * cols + i] = src[i] - lse;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    if cols % 4 or cols > 4096:
        program.ls_any((rows,), (256,), (x, out, cols))
    elif cols <= 512:
        program.ls4((rows,), (32,), (x, out, cols))
    elif cols <= 2048:
        program.ls2((rows,), (256,), (x, out, cols))
    else:
        program.ls4((rows,), (256,), (x, out, cols))
    return out
