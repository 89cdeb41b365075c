# task: problem.py
import torch
from foretell.cuda import compile

BLOCKS = 1056
program = compile(r'''
__device__ unsigned ticket;
extern "C" __global__ void __launch_bounds__(512) mean(float* x, float* part, float* out, long long n) {
    __shared__ float held[16];
    __shared__ bool last;
    const float4* x4 = (const float4*)x;
    long long n4 = n / 4, most = n4;
    unsigned* hidden = (unsigned*)x + n;
    
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    long long step = (long long)gridDim.x * 512, i = (long long)blockIdx.x * 512 + threadIdx.x;
    if (i < n - 4 * n4) s0 = x[4 * n4 + i];
    for (; i + 3 * step < most; i += 4 * step) {
        float4 a = __ldcs(x4 + i), b = __ldcs(x4 + i + step), c = __ldcs(x4 + i + 2 * step), d = __ldcs(x4 + i + 3 * step);
        s0 += (a.x + a.y) + (a.z + a.w); s1 += (b.x + b.y) + (b.z + b.w);
        s2 += (c.x + c.y) + (c.z + c.w); s3 += (d.x + d.y) + (d.z + d.w);
    }
    for (; i < most; i += step) { float4 a = __ldcs(x4 + i); s0 += (a.x + a.y) + (a.z + a.w); }
    float s = (s0 + s1) + (s2 + s3);
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) held[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = 0;
        for (int k = 0; k < 16; ++k) s += held[k];
        part[blockIdx.x] = s;
        __threadfence();
        last = atomicAdd(&ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        double t = 0;
        for (int k = 0; k < gridDim.x; ++k) t += ((volatile float*)part)[k];
        *out = (float)(t / (4.0 * most + (n - 4 * n4)));
        ticket = 0;
        
    }
}
''')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        part, out = torch.empty(BLOCKS, device=x.device), torch.empty((), device=x.device)
        program.mean((BLOCKS,), (512,), (x, part, out, x.numel()))
        return out
