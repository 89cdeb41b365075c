import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
#define T 16
extern "C" __global__ void grouped_tiled(const __half* __restrict__ a, const __half* __restrict__ b, __half* __restrict__ c,
                                         int m, int N, int K) {
    __shared__ float sa[T][T], sb[T][T];
    int g = blockIdx.z;
    a += (size_t)g * m * K;
    b += (size_t)g * K * N;
    c += (size_t)g * m * N;
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.f;
    for (int k0 = 0; k0 < K; k0 += T) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = (row < m && ka < K) ? __half2float(a[(size_t)row * K + ka]) : 0.f;
        sb[threadIdx.y][threadIdx.x] = (kb < K && col < N) ? __half2float(b[(size_t)kb * N + col]) : 0.f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < T; ++k) sum += sa[threadIdx.y][k] * sb[k][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < N) c[(size_t)row * N + col] = __float2half(sum);
}
""")


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    program.grouped_tiled(((N + 15) // 16, (m + 15) // 16, G), (16, 16), (a, b, c, m, N, K))
    return c
