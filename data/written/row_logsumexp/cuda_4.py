import torch

from foretell.cuda import compile

# No max pass: accumulate sum(exp(x - c)) with a cheap per-row guess c (the max of a small sample), and only fall back to the exact
# two-pass computation when the guess was bad (overflow, or sum so small that precision was lost). One warp per row.
program = compile(r"""
__device__ __forceinline__ float wsum(float v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
__device__ __forceinline__ float wmax(float v) {
    #pragma unroll
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

extern "C" __global__ void __launch_bounds__(128) lse_guess(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int lane = threadIdx.x & 31;
    const int stride = gridDim.x * 4;
    for (int row = blockIdx.x * 4 + (threadIdx.x >> 5); row < rows; row += stride) {
        const float* p = x + (size_t)row * cols;
        // sample: first 4 chunks of 32
        float c = -1e30f;
        #pragma unroll
        for (int k = 0; k < 4; ++k) { int i = lane + 32 * k; if (i < cols) c = fmaxf(c, p[i]); }
        c = wmax(c);
        float s0 = 0.f, s1 = 0.f, s2 = 0.f, s3 = 0.f;
        int i = lane;
        for (; i + 96 < cols; i += 128) {
            float a = p[i], b = p[i + 32], d = p[i + 64], e = p[i + 96];
            s0 += __expf(a - c); s1 += __expf(b - c); s2 += __expf(d - c); s3 += __expf(e - c);
        }
        for (; i < cols; i += 32) s0 += __expf(p[i] - c);
        float s = wsum((s0 + s1) + (s2 + s3));
        // c is the max of real elements, so s >= 1: only overflow is possible. Uniform over the warp after the xor shuffle.
        if (!(s < 1e37f)) {
            float m = -1e30f;
            for (int j = lane; j < cols; j += 32) m = fmaxf(m, p[j]);
            m = wmax(m);
            s = 0.f;
            for (int j = lane; j < cols; j += 32) s += __expf(p[j] - m);
            s = wsum(s);
            c = m;
        }
        if (lane == 0) out[row] = c + logf(s);
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    blocks = min((rows + 3) // 4, 132 * 16)
    program.lse_guess((blocks,), (128,), (x, out, rows, cols))
    return out
