import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// one thread per rotated pair
extern "C" __global__ void rotary(const half* x, const half* cosv, const half* sinv, half* out, int tokens, int heads, int half_dim) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int total = tokens * heads * half_dim;
    if (idx >= total) return;
    int i = idx % half_dim;
    int head = (idx / half_dim) % heads;
    int token = idx / (half_dim * heads);
    float c = __half2float(cosv[token * half_dim + i]);
    float s = __half2float(sinv[token * half_dim + i]);
    int base = (token * heads + head) * 2 * half_dim;
    float a = __half2float(x[base + i]);
    float b = __half2float(x[base + half_dim + i]);
    out[base + i] = __float2half(a * c - b * s);
    out[base + half_dim + i] = __float2half(b * c + a * s);
}
""")


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    total = tokens * heads * (dim // 2)
    program.rotary(((total + 255) // 256,), (256,), (x, cos, sin, out, tokens, heads, dim // 2))
    return out
