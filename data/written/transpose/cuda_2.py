import torch

from foretell.cuda import compile

program = compile(r"""
#define TILE 32
#define BLOCK_ROWS 8
// The classic: 32x33 shared tile, 32x8 threads, four elements per thread.
extern "C" __global__ void __launch_bounds__(256) transpose(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int c = blockIdx.x * TILE + threadIdx.x;
    int r = blockIdx.y * TILE + threadIdx.y;
    #pragma unroll
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        if (r + j < rows && c < cols) tile[threadIdx.y + j][threadIdx.x] = x[(size_t)(r + j) * cols + c];
    __syncthreads();
    int oc = blockIdx.y * TILE + threadIdx.x;   // column of out = row of x
    int orow = blockIdx.x * TILE + threadIdx.y; // row of out = column of x
    #pragma unroll
    for (int j = 0; j < TILE; j += BLOCK_ROWS)
        if (orow + j < cols && oc < rows) out[(size_t)(orow + j) * rows + oc] = tile[threadIdx.x][threadIdx.y + j];
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
    program.transpose(((cols + 31) // 32, (rows + 31) // 32), (32, 8), (x, out, rows, cols))
    return out
