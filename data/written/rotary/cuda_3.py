import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// 16-byte accesses: each thread owns 8 elements of the first half and the matching 8 of the second half, and keeps the
// same cos/sin packets in registers while it walks over heads. Block: (dim/16 lanes) x (head lanes), several tokens each.
__device__ __forceinline__ void rotate(uint4 a, uint4 b, const float* c, const float* s, uint4& oa, uint4& ob) {
    const __half2* A = (const __half2*)&a;
    const __half2* B = (const __half2*)&b;
    __half2* OA = (__half2*)&oa;
    __half2* OB = (__half2*)&ob;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        float2 p = __half22float2(A[k]), q = __half22float2(B[k]);
        float c0 = c[2 * k], c1 = c[2 * k + 1], s0 = s[2 * k], s1 = s[2 * k + 1];
        OA[k] = __floats2half2_rn(p.x * c0 - q.x * s0, p.y * c1 - q.y * s1);
        OB[k] = __floats2half2_rn(q.x * c0 + p.x * s0, q.y * c1 + p.y * s1);
    }
}

extern "C" __global__ void rotary_vec(const uint4* __restrict__ x, const uint4* __restrict__ cosv, const uint4* __restrict__ sinv,
                                      uint4* __restrict__ out, int tokens, int heads, int h8) {
    // threadIdx.x in [0, h8), threadIdx.y = head lane
    const int i = threadIdx.x;
    for (int token = blockIdx.x; token < tokens; token += gridDim.x) {
        uint4 cu = __ldg(cosv + token * h8 + i), su = __ldg(sinv + token * h8 + i);
        float c[8], s[8];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            float2 f = __half22float2(((const __half2*)&cu)[k]);
            float2 g = __half22float2(((const __half2*)&su)[k]);
            c[2 * k] = f.x; c[2 * k + 1] = f.y;
            s[2 * k] = g.x; s[2 * k + 1] = g.y;
        }
        for (int head = threadIdx.y; head < heads; head += blockDim.y) {
            size_t at = ((size_t)token * heads + head) * 2 * h8 + i;
            uint4 a = __ldcs(x + at), b = __ldcs(x + at + h8), oa, ob;
            rotate(a, b, c, s, oa, ob);
            __stcs(out + at, oa);
            __stcs(out + at + h8, ob);
        }
    }
}
""")


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    h8 = dim // 16
    lanes = max(1, min(heads, 256 // h8))
    program.rotary_vec((tokens,), (h8, lanes), (x, cos, sin, out, tokens, heads, h8))
    return out
