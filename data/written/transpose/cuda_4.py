import torch

from foretell.cuda import compile

program = compile(r"""
// Persistent blocks, double-buffered 32x128 strips loaded by 4-byte cp.async straight into a padded tile, so the loads of
// the next strip overlap with the stores of the current one. 4-byte copies let us pad by one word (no bank conflicts).
constexpr int TR = 128, TC = 32, PITCH = TC + 1, T = 256;

__device__ __forceinline__ void load_tile(float* tile, const float* __restrict__ x, int t, int tiles_r, int rows, int cols) {
    int r0 = (t % tiles_r) * TR, c0 = (t / tiles_r) * TC;
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    int c = c0 + lane;
    #pragma unroll
    for (int j = 0; j < TR; j += T / 32) {
        int r = r0 + w + j;
        if (r < rows && c < cols) {
            unsigned d = (unsigned)__cvta_generic_to_shared(tile + (w + j) * PITCH + lane);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(d), "l"(x + (size_t)r * cols + c));
        }
    }
}

extern "C" __global__ void __launch_bounds__(T) transpose(const float* __restrict__ x, float* __restrict__ out, int rows, int cols, int tiles_r, int tiles) {
    __shared__ float buf[2][TR * PITCH];
    int t = blockIdx.x, which = 0;
    if (t < tiles) load_tile(buf[0], x, t, tiles_r, rows, cols);
    asm volatile("cp.async.commit_group;");
    const int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (; t < tiles; t += gridDim.x, which ^= 1) {
        int next = t + gridDim.x;
        if (next < tiles) load_tile(buf[which ^ 1], x, next, tiles_r, rows, cols);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int r0 = (t % tiles_r) * TR, c0 = (t / tiles_r) * TC;
        // a warp writes a full output row segment of 128 floats (512 bytes)
        #pragma unroll
        for (int c = w; c < TC; c += T / 32) {
            if (c0 + c < cols) {
                #pragma unroll
                for (int k = 0; k < TR / 32; ++k) {
                    int r = k * 32 + lane;
                    if (r0 + r < rows) out[(size_t)(c0 + c) * rows + r0 + r] = buf[which][r * PITCH + c];
                }
            }
        }
        __syncthreads();
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
    tiles_r = (rows + 127) // 128
    tiles = tiles_r * ((cols + 31) // 32)
    program.transpose((min(tiles, 132 * 6),), (256,), (x, out, rows, cols, tiles_r, tiles))
    return out
