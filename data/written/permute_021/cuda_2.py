import torch

from foretell.cuda import compile

program = compile(r"""
constexpr int TILE = 32;
constexpr int STEP = 8;

// classic shared-memory transpose with a padded column
extern "C" __global__ void __launch_bounds__(TILE * STEP) permute_tiled(const unsigned short* __restrict__ x,
                                                                        unsigned short* __restrict__ out, int rows, int cols) {
    __shared__ unsigned short tile[TILE][TILE + 2];
    const size_t base = (size_t)blockIdx.z * rows * cols;
    const int c0 = blockIdx.x * TILE, r0 = blockIdx.y * TILE;
    #pragma unroll
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        int r = r0 + k, c = c0 + threadIdx.x;
        if (r < rows && c < cols) tile[k][threadIdx.x] = x[base + (size_t)r * cols + c];
    }
    __syncthreads();
    #pragma unroll
    for (int k = threadIdx.y; k < TILE; k += STEP) {
        int c = c0 + k, r = r0 + threadIdx.x;
        if (r < rows && c < cols) out[base + (size_t)c * rows + r] = tile[threadIdx.x][k];
    }
}
""")


def kernel(x):
    x = x.contiguous()
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), device=x.device, dtype=x.dtype)
    program.permute_tiled(((cols + 31) // 32, (rows + 31) // 32, batch), (32, 8), (x, out, rows, cols))
    return out
