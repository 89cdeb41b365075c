import torch

from foretell.cuda import compile

program = compile(r"""
// Temporal blocking in shared memory: a tile of 1024 + 8 points, four steps with ping-pong buffers, one read and
// one write of global memory.
#define TILE 1024
#define T 256
extern "C" __global__ void __launch_bounds__(T) heat_smem(const float* __restrict__ x, float* __restrict__ out, int length) {
    __shared__ float buf[2][TILE + 10];
    const float* src = x + (long long)blockIdx.y * length;
    int i0 = blockIdx.x * TILE - 4;
    for (int k = threadIdx.x; k < TILE + 8; k += T) {
        int i = i0 + k;
        buf[0][k + 1] = (i >= 0 && i < length) ? src[i] : 0.f;
    }
    if (threadIdx.x == 0) buf[0][0] = buf[1][0] = buf[0][TILE + 9] = buf[1][TILE + 9] = 0.f;
    __syncthreads();
    int s = 0;
    #pragma unroll
    for (int step = 0; step < 4; ++step) {
        for (int k = threadIdx.x; k < TILE + 8; k += T) {
            int i = i0 + k;
            float c = buf[s][k + 1];
            float v = c + 0.2f * (buf[s][k] - 2.f * c + buf[s][k + 2]);
            buf[s ^ 1][k + 1] = (i >= 0 && i < length) ? v : 0.f;
        }
        __syncthreads();
        s ^= 1;
    }
    for (int k = threadIdx.x; k < TILE; k += T) {
        int i = i0 + 4 + k;
        if (i < length) out[(long long)blockIdx.y * length + i] = buf[s][k + 5];
    }
}
""")


def kernel(x):
    rows, length = x.shape
    out = torch.empty_like(x)
    program.heat_smem(((length + 1023) // 1024, rows), (256,), (x, out, length))
    return out
