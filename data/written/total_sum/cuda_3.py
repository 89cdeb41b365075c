import torch

from foretell.cuda import compile

# Single pass with the threadFenceReduction pattern; accumulates in double at the second level, so the result hardly
# depends on the split. The ticket counter resets itself by wrapping (atomicInc).
program = compile(r"""
__device__ __forceinline__ float block_sum(float v) {
    __shared__ float part[8];
    #pragma unroll
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0.f;
    #pragma unroll
    for (int w = 0; w < 8; ++w) v += part[w];
    return v;
}

extern "C" __global__ void __launch_bounds__(256) sum_single_pass(const float* __restrict__ x, float* part, unsigned* ticket, float* out, long long n) {
    __shared__ bool last;
    __shared__ double dsum[8];
    // contiguous slab per block: good DRAM page locality
    const long long per = ((n + gridDim.x - 1) / gridDim.x + 1023) / 1024 * 1024;
    const long long begin = per * blockIdx.x;
    long long end = begin + per;
    if (end > n) end = n;
    float s0 = 0.f, s1 = 0.f;
    long long i = begin + threadIdx.x * 4;
    #pragma unroll 4
    for (; i + 3 < end; i += 1024) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        s0 += v.x + v.y;
        s1 += v.z + v.w;
    }
    for (; i < end && i < n; ++i) s0 += x[i];
    float s = block_sum(s0 + s1);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    double d = 0.0;
    for (int k = threadIdx.x; k < gridDim.x; k += 256) d += (double)__ldcg(part + k);
    #pragma unroll
    for (int o = 16; o; o >>= 1) d += __shfl_xor_sync(~0u, d, o);
    if ((threadIdx.x & 31) == 0) dsum[threadIdx.x >> 5] = d;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) d += dsum[w];
        *out = (float)d;
    }
}
""")


def kernel(x):
    n = x.numel()
    blocks = max(1, min(132 * 8, (n + 4095) // 4096))
    out = torch.empty((), dtype=torch.float32, device=x.device)
    part = torch.empty(blocks, dtype=torch.float32, device=x.device)
    ticket = torch.zeros(1, dtype=torch.int32, device=x.device)
    program.sum_single_pass((blocks,), (256,), (x, part, ticket, out, n))
    return out
