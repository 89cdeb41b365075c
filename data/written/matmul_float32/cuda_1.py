import torch

from foretell.cuda import compile

program = compile(r"""
#define TILE 32
extern "C" __global__ void sgemm_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                                       int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    float acc[4] = {0.f, 0.f, 0.f, 0.f};          // 4 rows per thread: ty, ty+8, ty+16, ty+24
    for (int k0 = 0; k0 < K; k0 += TILE) {
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            int r = ty + i * 8, row = blockIdx.y * TILE + r;
            As[r][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.f;
            Bs[r][tx] = (k0 + r < K && col < N) ? B[(k0 + r) * N + col] : 0.f;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) {
            float b = Bs[k][tx];
            #pragma unroll
            for (int i = 0; i < 4; ++i) acc[i] += As[ty + i * 8][k] * b;
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int row = blockIdx.y * TILE + ty + i * 8;
        if (row < M && col < N) C[row * N + col] = acc[i];
    }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    program.sgemm_tiled(((N + 31) // 32, (M + 31) // 32), (32, 8), (a, b, c, M, N, K))
    return c
