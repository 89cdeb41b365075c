import torch

from foretell.cuda import compile

# Classic shared-memory bitonic sort, one block per row, row padded to a power of two.
program = compile(r"""
extern "C" __global__ void bitonic_rows(const float* __restrict__ x, float* __restrict__ out, int cols, int n) {
    extern __shared__ float s[];
    const float* src = x + (size_t)blockIdx.x * cols;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = i < cols ? src[i] : __int_as_float(0x7f800000);
    __syncthreads();

    for (int k = 2; k <= n; k <<= 1) {
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int p = threadIdx.x; p < n / 2; p += blockDim.x) {
                int i = 2 * p - (p & (j - 1));      // index with bit j clear
                float a = s[i], b = s[i + j];
                bool up = (i & k) == 0;
                if ((a > b) == up) { s[i] = b; s[i + j] = a; }
            }
            __syncthreads();
        }
    }
    float* dst = out + (size_t)blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) dst[i] = s[i];
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    n = 2
    while n < cols:
        n *= 2
    threads = max(32, min(512, n // 2))
    program.bitonic_rows((rows,), (threads,), (x, out, cols, n), n * 4)
    return out
