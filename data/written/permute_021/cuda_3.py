import torch

from foretell.cuda import compile

# 64x64 tiles; every thread handles 2x2 blocks: two 32-bit loads (2 columns each) from adjacent rows, byte permute to
# two 32-bit words along the rows, staged in shared memory already transposed, 32-bit stores.
program = compile(r"""
constexpr int TILE = 64;

extern "C" __global__ void __launch_bounds__(256) permute_2x2(const unsigned int* __restrict__ x, unsigned int* __restrict__ out,
                                                              int rows, int cols) {
    __shared__ unsigned int tile[TILE][TILE / 2 + 1];      // [column][row pair]
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int c0 = blockIdx.x * TILE, r0 = blockIdx.y * TILE;
    const size_t base = (size_t)blockIdx.z * rows * cols / 2;
    const int cols2 = cols / 2, rows2 = rows / 2;
    #pragma unroll
    for (int p = warp; p < TILE / 2; p += 8) {
        const int r = r0 + 2 * p, c = c0 / 2 + lane;
        if (r < rows && c < cols2) {
            const unsigned int top = x[base + (size_t)r * cols2 + c];
            const unsigned int bottom = x[base + (size_t)(r + 1) * cols2 + c];
            tile[2 * lane][p] = __byte_perm(top, bottom, 0x5410);
            tile[2 * lane + 1][p] = __byte_perm(top, bottom, 0x7632);
        }
    }
    __syncthreads();
    #pragma unroll
    for (int k = warp; k < TILE; k += 8) {
        const int c = c0 + k, r = r0 / 2 + lane;
        if (c < cols && r < rows2) out[base + (size_t)c * rows2 + r] = tile[k][lane];
    }
}

extern "C" __global__ void permute_any(const unsigned short* __restrict__ x, unsigned short* __restrict__ out, int rows, int cols) {
    __shared__ unsigned short t[32][33];
    const size_t base = (size_t)blockIdx.z * rows * cols;
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) {
        int r = blockIdx.y * 32 + k;
        if (r < rows && c < cols) t[k][threadIdx.x] = x[base + (size_t)r * cols + c];
    }
    __syncthreads();
    int r = blockIdx.y * 32 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8) {
        int cc = blockIdx.x * 32 + k;
        if (r < rows && cc < cols) out[base + (size_t)cc * rows + r] = t[threadIdx.x][k];
    }
}
""")


def kernel(x):
    x = x.contiguous()
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), device=x.device, dtype=x.dtype)
    if rows % 2 == 0 and cols % 2 == 0:
        program.permute_2x2(((cols + 63) // 64, (rows + 63) // 64, batch), (256,), (x, out, rows, cols))
    else:
        program.permute_any(((cols + 31) // 32, (rows + 31) // 32, batch), (32, 8), (x, out, rows, cols))
    return out
