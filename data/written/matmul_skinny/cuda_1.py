import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>

// Each thread owns one column n for up to MT rows: B is read once per row group, coalesced along n.
#define MT 16
#define KC 64

extern "C" __global__ void skinny(const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C,
                                  int M, int N, int K) {
    __shared__ float as[MT][KC];
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int m0 = blockIdx.y * MT;
    float acc[MT];
    #pragma unroll
    for (int i = 0; i < MT; ++i) acc[i] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += KC) {
        for (int i = threadIdx.x; i < MT * KC; i += blockDim.x) {
            int r = i / KC, k = i % KC;
            as[r][k] = (m0 + r < M && k0 + k < K) ? __half2float(A[(size_t)(m0 + r) * K + k0 + k]) : 0.0f;
        }
        __syncthreads();
        if (n < N) {
            int kmax = min(KC, K - k0);
            #pragma unroll 8
            for (int k = 0; k < kmax; ++k) {
                float bv = __half2float(B[(size_t)(k0 + k) * N + n]);
                #pragma unroll
                for (int i = 0; i < MT; ++i) acc[i] += as[i][k] * bv;
            }
        }
        __syncthreads();
    }
    if (n < N) {
        #pragma unroll
        for (int i = 0; i < MT; ++i)
            if (m0 + i < M) C[(size_t)(m0 + i) * N + n] = __float2half(acc[i]);
    }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    program.skinny(((N + 63) // 64, (M + 15) // 16), (64,), (a, b, c, M, N, K))
    return c
