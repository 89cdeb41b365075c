import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// One block per token; cos/sin in shared memory as floats; half2 accesses.
extern "C" __global__ void __launch_bounds__(256) rotary_token(const __half2* __restrict__ x, const __half2* __restrict__ cosv,
                                                               const __half2* __restrict__ sinv, __half2* __restrict__ out,
                                                               int heads, int h2) {
    // h2 = dim / 4 : number of half2 in half a head
    extern __shared__ float2 cs[];
    float2* c_s = cs;
    float2* s_s = cs + h2;
    const int token = blockIdx.x;
    for (int i = threadIdx.x; i < h2; i += blockDim.x) {
        c_s[i] = __half22float2(cosv[token * h2 + i]);
        s_s[i] = __half22float2(sinv[token * h2 + i]);
    }
    __syncthreads();
    const size_t base = (size_t)token * heads * h2 * 2;
    for (int p = threadIdx.x; p < heads * h2; p += blockDim.x) {
        int head = p / h2, i = p - head * h2;
        size_t at = base + (size_t)head * 2 * h2 + i;
        float2 a = __half22float2(x[at]);
        float2 b = __half22float2(x[at + h2]);
        float2 c = c_s[i], s = s_s[i];
        out[at] = __floats2half2_rn(a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y);
        out[at + h2] = __floats2half2_rn(b.x * c.x + a.x * s.x, b.y * c.y + a.y * s.y);
    }
}
""")


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    h2 = dim // 4
    program.rotary_token((tokens,), (256,), (x, cos, sin, out, heads, h2), 2 * h2 * 8)
    return out
