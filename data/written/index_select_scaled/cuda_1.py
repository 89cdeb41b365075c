import torch

from foretell.cuda import compile

# Block per row, one bf16 at a time, coalesced.
program = compile(r"""
#include <cuda_bf16.h>
extern "C" __global__ void select_scaled(const __nv_bfloat16* __restrict__ table, const long long* __restrict__ index,
                                         const __nv_bfloat16* __restrict__ scale, __nv_bfloat16* __restrict__ out, int dim) {
    const size_t i = blockIdx.x;
    const __nv_bfloat16* src = table + (size_t)index[i] * dim;
    const float s = __bfloat162float(scale[i]);
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        out[i * dim + d] = __float2bfloat16(__bfloat162float(src[d]) * s);
    }
}
""")


def kernel(table, index, scale):
    vocab, dim = table.shape
    count = index.numel()
    out = torch.empty((count, dim), dtype=table.dtype, device=table.device)
    program.select_scaled((count,), (128,), (table, index, scale, out, dim))
    return out
