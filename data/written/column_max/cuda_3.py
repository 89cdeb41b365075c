import torch

from foretell.cuda import compile

# float4 per thread, 128 threads cover 512 columns, rows strided over grid.y; partial maxima in scratch + a second kernel.
program = compile(r"""
#define NEG __int_as_float(0xff800000)
__device__ __forceinline__ float4 max4(float4 a, float4 b) {
    return make_float4(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w));
}

extern "C" __global__ void __launch_bounds__(128) partial_vec(const float4* __restrict__ x, float4* __restrict__ part, int rows, int n4) {
    const int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= n4) return;
    float4 m0 = make_float4(NEG, NEG, NEG, NEG), m1 = m0, m2 = m0, m3 = m0;
    const size_t step = gridDim.y;
    size_t r = blockIdx.y;
    for (; r + 3 * step < rows; r += 4 * step) {
        float4 a = __ldcs(x + r * n4 + c);
        float4 b = __ldcs(x + (r + step) * n4 + c);
        float4 d = __ldcs(x + (r + 2 * step) * n4 + c);
        float4 e = __ldcs(x + (r + 3 * step) * n4 + c);
        m0 = max4(m0, a); m1 = max4(m1, b); m2 = max4(m2, d); m3 = max4(m3, e);
    }
    for (; r < rows; r += step) m0 = max4(m0, __ldcs(x + r * n4 + c));
    part[(size_t)blockIdx.y * n4 + c] = max4(max4(m0, m1), max4(m2, m3));
}

extern "C" __global__ void partial_scalar(const float* __restrict__ x, float* __restrict__ part, int rows, int cols) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols) return;
    float m = NEG;
    for (size_t r = blockIdx.y; r < rows; r += gridDim.y) m = fmaxf(m, x[r * cols + c]);
    part[(size_t)blockIdx.y * cols + c] = m;
}

// 32 columns x 32 split lanes per block
extern "C" __global__ void __launch_bounds__(1024) finish(const float* __restrict__ part, float* __restrict__ out, int splits, int cols) {
    __shared__ float t[32][33];
    const int c = blockIdx.x * 32 + threadIdx.x;
    float m = NEG;
    if (c < cols) for (int s = threadIdx.y; s < splits; s += 32) m = fmaxf(m, part[(size_t)s * cols + c]);
    t[threadIdx.y][threadIdx.x] = m;
    __syncthreads();
    m = t[threadIdx.x][threadIdx.y];          // transposed: a warp now holds one column
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x == 0 && blockIdx.x * 32 + threadIdx.y < cols) out[blockIdx.x * 32 + threadIdx.y] = m;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(cols, dtype=torch.float32, device=x.device)
    width = 512 if cols % 4 == 0 else 128
    col_blocks = (cols + width - 1) // width
    splits = max(1, min(rows, 132 * 8 // col_blocks))
    part = torch.empty((splits, cols), dtype=torch.float32, device=x.device)
    if cols % 4 == 0:
        program.partial_vec((col_blocks, splits), (128,), (x, part, rows, cols // 4))
    else:
        program.partial_scalar((col_blocks, splits), (128,), (x, part, rows, cols))
    program.finish(((cols + 31) // 32,), (32, 32), (part, out, splits, cols))
    return out
