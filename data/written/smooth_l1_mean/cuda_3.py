import torch

from foretell.cuda import compile

program = compile(r"""
// Single launch, deterministic: each block writes a partial, takes a ticket after a __threadfence, and the block
// with the last ticket adds all partials. Four float4 pairs per thread in flight.
constexpr int T = 256, U = 4;
__device__ __forceinline__ float huber(float x, float y) {
    float d = fabsf(x - y);
    return d < 0.5f ? d * d : d - 0.25f;
}
__device__ float block_sum(float v) {
    __shared__ float w[T / 32];
    #pragma unroll
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    __syncthreads();
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0.0f;
    #pragma unroll
    for (int i = 0; i < T / 32; ++i) v += w[i];
    return v;
}
extern "C" __global__ void __launch_bounds__(T) smooth_l1(const float* __restrict__ a, const float* __restrict__ b, float* partial,
                                                          unsigned* ticket, float* out, long long n) {
    __shared__ bool last;
    const long long n4 = n >> 2;
    const float4* A = (const float4*)a;
    const float4* B = (const float4*)b;
    float acc = 0.0f;
    for (long long base = (long long)blockIdx.x * T * U; base < n4; base += (long long)gridDim.x * T * U) {
        float4 x[U], y[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) {
            long long i = base + u * T + threadIdx.x;
            if (i < n4) { x[u] = __ldcs(A + i); y[u] = __ldcs(B + i); }
            else { x[u] = make_float4(0, 0, 0, 0); y[u] = x[u]; }
        }
        #pragma unroll
        for (int u = 0; u < U; ++u)
            acc += (huber(x[u].x, y[u].x) + huber(x[u].y, y[u].y)) + (huber(x[u].z, y[u].z) + huber(x[u].w, y[u].w));
    }
    if (blockIdx.x == 0 && threadIdx.x < (n & 3)) acc += huber(a[n4 * 4 + threadIdx.x], b[n4 * 4 + threadIdx.x]);
    acc = block_sum(acc);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = acc;
        __threadfence();
        last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        __threadfence();
        float s = 0.0f;
        for (int i = threadIdx.x; i < gridDim.x; i += T) s += ((volatile float*)partial)[i];
        s = block_sum(s);
        if (threadIdx.x == 0) *out = s / (float)n;
    }
}
""")


def kernel(a, b):
    n = a.numel()
    blocks = max(1, min(132 * 8, (n // 4 + 1023) // 1024))
    partial = torch.empty(blocks, device=a.device, dtype=torch.float32)
    ticket = torch.zeros(1, device=a.device, dtype=torch.int32)
    out = torch.empty((), device=a.device, dtype=torch.float32)
    program.smooth_l1((blocks,), (256,), (a, b, partial, ticket, out, n))
    return out
