import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>

extern "C" __global__ void silu(const __nv_bfloat16* x, __nv_bfloat16* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __bfloat162float(x[i]);
        out[i] = __float2bfloat16(v / (1.0f + expf(-v)));
    }
}
""")


def kernel(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    threads = 256
    program.silu(((n + threads - 1) // threads,), (threads,), (x, out, n))
    return out
