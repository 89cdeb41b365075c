import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
#define TS 16
typedef __nv_bfloat16 bf16;

extern "C" __global__ void silu_gate(const bf16* __restrict__ a, const bf16* __restrict__ gate, const bf16* __restrict__ up,
                                     bf16* __restrict__ c, int M, int N, int K) {
    __shared__ float sa[TS][TS + 1], sg[TS][TS], su[TS][TS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TS + ty, col = blockIdx.x * TS + tx;
    float g = 0.f, u = 0.f;
    for (int k0 = 0; k0 < K; k0 += TS) {
        sa[ty][tx] = (row < M && k0 + tx < K) ? __bfloat162float(a[(size_t)row * K + k0 + tx]) : 0.f;
        bool ok = k0 + ty < K && col < N;
        size_t at = (size_t)(k0 + ty) * N + col;
        sg[ty][tx] = ok ? __bfloat162float(gate[at]) : 0.f;
        su[ty][tx] = ok ? __bfloat162float(up[at]) : 0.f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TS; ++k) {
            g += sa[ty][k] * sg[k][tx];
            u += sa[ty][k] * su[k][tx];
        }
        __syncthreads();
    }
    if (row < M && col < N)
        c[(size_t)row * N + col] = __float2bfloat16(g / (1.f + __expf(-g)) * u);
}
""")


def kernel(a, gate, up):
    M, K = a.shape
    N = gate.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    program.silu_gate(((N + 15) // 16, (M + 15) // 16), (16, 16), (a, gate, up, c, M, N, K))
    return c
