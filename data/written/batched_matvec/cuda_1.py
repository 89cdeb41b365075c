import torch

from foretell.cuda import compile

program = compile(r"""
// one thread per output element: simple, but each thread walks its own row (uncoalesced); x broadcast from shared memory
extern "C" __global__ void bmv_naive(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int M, int K) {
    extern __shared__ float xs[];
    int b = blockIdx.y;
    for (int k = threadIdx.x; k < K; k += blockDim.x) xs[k] = x[(size_t)b * K + k];
    __syncthreads();
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M) return;
    const float4* row = (const float4*)(a + ((size_t)b * M + m) * K);
    float s = 0.f;
    for (int k = 0; k < K / 4; ++k) {
        float4 v = row[k];
        s += v.x * xs[4 * k] + v.y * xs[4 * k + 1] + v.z * xs[4 * k + 2] + v.w * xs[4 * k + 3];
    }
    y[(size_t)b * M + m] = s;
}
""")


def kernel(a, x):
    B, M, K = a.shape
    y = torch.empty((B, M), device=a.device, dtype=torch.float32)
    program.bmv_naive(((M + 63) // 64, B), (64,), (a, x, y, M, K), K * 4)
    return y
