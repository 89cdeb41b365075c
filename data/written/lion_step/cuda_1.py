import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
extern "C" __global__ void lion(const __nv_bfloat16* p, const __nv_bfloat16* g, const __nv_bfloat16* m,
                                __nv_bfloat16* p_out, __nv_bfloat16* m_out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float pi = __bfloat162float(p[i]);
        float gi = __bfloat162float(g[i]);
        float mi = __bfloat162float(m[i]);
        float c = 0.875f * mi + 0.125f * gi;
        float sign = c > 0.f ? 1.f : (c < 0.f ? -1.f : 0.f);
        p_out[i] = __float2bfloat16(pi * (1.0f - 0.125f * 0.25f) - 0.125f * sign);
        m_out[i] = __float2bfloat16(0.96875f * mi + 0.03125f * gi);
    }
}
""")


def kernel(p, g, m):
    n = p.numel()
    p_out, m_out = torch.empty_like(p), torch.empty_like(m)
    program.lion(((n + 255) // 256,), (256,), (p, g, m, p_out, m_out, n))
    return p_out, m_out
