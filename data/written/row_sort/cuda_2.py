import torch

from foretell.cuda import compile

# A warp per row, everything in registers: element index = lane * K + r.  Strides below K are
# register-register compare-exchanges, strides >= K are shuffles.  No shared memory, no barriers.
program = compile(r"""
template <int K>
__device__ __forceinline__ void sort_row(const float* __restrict__ src, float* __restrict__ dst, int cols) {
    const int lane = threadIdx.x & 31;
    float v[K];
    // load order is irrelevant for a sort, so load coalesced
    #pragma unroll
    for (int r = 0; r < K; ++r) {
        int c = r * 32 + lane;
        v[r] = c < cols ? src[c] : __int_as_float(0x7f800000);
    }
    #pragma unroll
    for (int k = 2; k <= 32 * K; k <<= 1) {
        #pragma unroll
        for (int j = k >> 1; j > 0; j >>= 1) {
            if (j < K) {
                #pragma unroll
                for (int r = 0; r < K; ++r) {
                    if ((r & j) == 0) {
                        bool up = k < K ? ((r & k) == 0) : (((lane * K) & k) == 0);
                        float a = v[r], b = v[r | j];
                        float lo = fminf(a, b), hi = fmaxf(a, b);
                        v[r] = up ? lo : hi;
                        v[r | j] = up ? hi : lo;
                    }
                }
            } else {
                const int d = j / K;
                const bool up = ((lane * K) & k) == 0;
                const bool lower = (lane & d) == 0;
                #pragma unroll
                for (int r = 0; r < K; ++r) {
                    float o = __shfl_xor_sync(0xffffffffu, v[r], d);
                    v[r] = (lower == up) ? fminf(v[r], o) : fmaxf(v[r], o);
                }
            }
        }
    }
    #pragma unroll
    for (int r = 0; r < K; ++r) {
        int c = lane * K + r;
        if (c < cols) dst[c] = v[r];
    }
}
extern "C" __global__ void __launch_bounds__(128) sort_small(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    int row = blockIdx.x * 4 + (threadIdx.x >> 5);
    if (row < rows) sort_row<4>(x + (size_t)row * cols, out + (size_t)row * cols, cols);
}
extern "C" __global__ void __launch_bounds__(128) sort_medium(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    int row = blockIdx.x * 4 + (threadIdx.x >> 5);
    if (row < rows) sort_row<16>(x + (size_t)row * cols, out + (size_t)row * cols, cols);
}
extern "C" __global__ void __launch_bounds__(128) sort_large(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    int row = blockIdx.x * 4 + (threadIdx.x >> 5);
    if (row < rows) sort_row<32>(x + (size_t)row * cols, out + (size_t)row * cols, cols);
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    launch = program.sort_small if cols <= 128 else program.sort_medium if cols <= 512 else program.sort_large
    launch(((rows + 3) // 4,), (128,), (x, out, rows, cols))
    return out
