# task: problem.py
import torch
from foretell.cuda import compile

program = compile(r'''
extern "C" __global__ void __launch_bounds__(256) sums(const float4* x, float* out, int cols4) {
    __shared__ float held[8];
    const float4* row = x + (size_t)blockIdx.x * cols4;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    float s = 0;
    #pragma unroll 4
    for (int c = threadIdx.x; c < cols4; c += 256) {
        float4 v;
        asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(row + c), "l"(policy));
        s += (v.x + v.y) + (v.z + v.w);
    }
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) held[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 8) {
        s = held[threadIdx.x];
        for (int k = 4; k; k >>= 1) s += __shfl_xor_sync(0xff, s, k);
        if (threadIdx.x == 0) out[blockIdx.x] = s;
    }
}
''')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device)
        program.sums((x.shape[0],), (256,), (x, out, x.shape[1] // 4))
        return out
