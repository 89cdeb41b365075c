import torch

from foretell.cuda import compile

program = compile(r"""
// 64x64 tile with float4 on both sides. Each thread reads float4s along a row and scatters to a transposed tile in
// shared memory with an XOR swizzle on groups of four, then reads float4s along the output row.
// Output float4 needs rows % 4 == 0; input float4 needs cols % 4 == 0; scalar paths otherwise.
constexpr int B = 64;
__device__ __forceinline__ int at(int c, int r) {      // tile[c][r] with r swizzled by c
    return c * B + ((((r >> 2) ^ (c >> 2)) & 15) << 2) + (r & 3);
}
extern "C" __global__ void __launch_bounds__(256) transpose(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    __shared__ __align__(16) float tile[B * B];
    const int r0 = blockIdx.y * B, c0 = blockIdx.x * B;
    const int q = threadIdx.x & 15, line = threadIdx.x >> 4;   // 16 float4 per line, 16 lines at a time
    const bool in_vec = (cols & 3) == 0, out_vec = (rows & 3) == 0;
    #pragma unroll
    for (int j = 0; j < B; j += 16) {
        int r = r0 + line + j, c = c0 + q * 4;
        float v[4] = {0.f, 0.f, 0.f, 0.f};
        if (r < rows) {
            if (in_vec && c < cols) {
                float4 f = __ldcs((const float4*)(x + (size_t)r * cols + c));
                v[0] = f.x; v[1] = f.y; v[2] = f.z; v[3] = f.w;
            } else if (!in_vec) {
                for (int k = 0; k < 4; ++k) if (c + k < cols) v[k] = x[(size_t)r * cols + c + k];
            }
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) tile[at(q * 4 + k, line + j)] = v[k];
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < B; j += 16) {
        int c = c0 + line + j, r = r0 + q * 4;
        if (c >= cols) continue;
        float4 f = *(const float4*)&tile[at(line + j, q * 4)];
        float* to = out + (size_t)c * rows + r;
        if (out_vec) {
            if (r < rows) __stcs((float4*)to, f);
        } else {
            if (r < rows) to[0] = f.x;
            if (r + 1 < rows) to[1] = f.y;
            if (r + 2 < rows) to[2] = f.z;
            if (r + 3 < rows) to[3] = f.w;
        }
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
    program.transpose(((cols + 63) // 64, (rows + 63) // 64), (256,), (x, out, rows, cols))
    return out
