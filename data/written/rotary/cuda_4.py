import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Shuffle version: a thread loads 16 consecutive bytes of the head vector (so a warp reads 512 contiguous bytes), and gets
// its partner from the other half of the head with one warp shuffle. Math in packed half2 with FMA.
// LPV = lanes per head vector = dim / 8: 16 for dim 128, 8 for dim 64, 4 for dim 32.
template <int LPV, int UNROLL>
__device__ __forceinline__ void body(const uint4* __restrict__ x, const uint4* __restrict__ cosv, const uint4* __restrict__ sinv,
                                     uint4* __restrict__ out, int n, int heads) {
    const int first = blockIdx.x * blockDim.x * UNROLL + threadIdx.x;
    uint4 v[UNROLL], c[UNROLL], s[UNROLL];
    #pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        int p = first + u * blockDim.x;
        if (p < n) {
            v[u] = __ldcs(x + p);
            int lane = p % LPV, token = p / LPV / heads;
            int at = token * (LPV / 2) + lane % (LPV / 2);
            c[u] = __ldg(cosv + at);
            s[u] = __ldg(sinv + at);
        }
    }
    #pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        int p = first + u * blockDim.x;
        uint4 o;
        o.x = __shfl_xor_sync(~0u, v[u].x, LPV / 2);
        o.y = __shfl_xor_sync(~0u, v[u].y, LPV / 2);
        o.z = __shfl_xor_sync(~0u, v[u].z, LPV / 2);
        o.w = __shfl_xor_sync(~0u, v[u].w, LPV / 2);
        if (p < n) {
            const bool second = (p % LPV) >= LPV / 2;
            __half2* mine = (__half2*)&v[u];
            const __half2* other = (const __half2*)&o;
            const __half2* C = (const __half2*)&c[u];
            const __half2* S = (const __half2*)&s[u];
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                __half2 w = second ? S[k] : __hneg2(S[k]);
                mine[k] = __hfma2(other[k], w, __hmul2(mine[k], C[k]));
            }
            __stcs(out + p, v[u]);
        }
    }
}
extern "C" __global__ void __launch_bounds__(256) rotary_128(const uint4* x, const uint4* c, const uint4* s, uint4* out, int n, int heads) { body<16, 2>(x, c, s, out, n, heads); }
extern "C" __global__ void __launch_bounds__(256) rotary_64(const uint4* x, const uint4* c, const uint4* s, uint4* out, int n, int heads) { body<8, 2>(x, c, s, out, n, heads); }
extern "C" __global__ void __launch_bounds__(256) rotary_32(const uint4* x, const uint4* c, const uint4* s, uint4* out, int n, int heads) { body<4, 2>(x, c, s, out, n, heads); }
""")


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    n = tokens * heads * dim // 8
    launch = {128: program.rotary_128, 64: program.rotary_64, 32: program.rotary_32}[dim]
    launch(((n + 511) // 512,), (256,), (x, cos, sin, out, n, heads))
    return out
