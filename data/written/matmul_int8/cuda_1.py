import torch

from foretell.cuda import compile

program = compile(r"""
// Naive: a thread per output, coalesced over n.
extern "C" __global__ void igemm_naive(const signed char* __restrict__ a, const signed char* __restrict__ b,
                                       int* __restrict__ c, int M, int N, int K) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y * blockDim.y + threadIdx.y;
    if (m >= M || n >= N) return;
    const signed char* row = a + (long long)m * K;
    int acc = 0;
    #pragma unroll 8
    for (int k = 0; k < K; ++k) acc += (int)row[k] * (int)b[(long long)k * N + n];
    c[(long long)m * N + n] = acc;
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.int32)
    program.igemm_naive(((N + 63) // 64, (M + 3) // 4), (64, 4), (a, b, c, M, N, K))
    return c
