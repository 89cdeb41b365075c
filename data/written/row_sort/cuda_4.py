import torch

from foretell.cuda import compile

# Merge sort: every thread sorts 8 values in registers (odd-even transposition network), then
# log2(threads) rounds of merge-path in shared memory, where each thread finds its diagonal by
# binary search and serially merges 8 outputs.  Block = 128 threads handles 1024 values; for
# short rows (<= 128) a "team" of 16 threads takes a row and a block takes 8 rows.
program = compile(r"""
constexpr int ITEMS = 8;

__device__ __forceinline__ void sort8(float (&v)[ITEMS]) {
    #pragma unroll
    for (int pass = 0; pass < ITEMS; ++pass) {
        #pragma unroll
        for (int i = pass & 1; i + 1 < ITEMS; i += 2) {
            float a = fminf(v[i], v[i + 1]), b = fmaxf(v[i], v[i + 1]);
            v[i] = a; v[i + 1] = b;
        }
    }
}

template <int TEAM>
__device__ void merge_sort(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    constexpr int N = TEAM * ITEMS;
    __shared__ float buf[128 * ITEMS];
    const int team = threadIdx.x / TEAM, t = threadIdx.x % TEAM;
    const int row = blockIdx.x * (128 / TEAM) + team;
    const bool live = row < rows;
    float* s = buf + team * N;
    for (int i = t; i < N; i += TEAM) s[i] = (live && i < cols) ? x[(size_t)row * cols + i] : __int_as_float(0x7f800000);
    __syncthreads();
    float v[ITEMS];
    #pragma unroll
    for (int r = 0; r < ITEMS; ++r) v[r] = s[t * ITEMS + r];
    sort8(v);

    for (int width = 1; width < TEAM; width <<= 1) {      // width threads own one sorted run
        __syncthreads();
        #pragma unroll
        for (int r = 0; r < ITEMS; ++r) s[t * ITEMS + r] = v[r];
        __syncthreads();
        const int len = width * ITEMS;
        const int first = (t & ~(2 * width - 1)) * ITEMS;
        const float* A = s + first;
        const float* B = A + len;
        const int diag = (t & (2 * width - 1)) * ITEMS;
        int lo = max(0, diag - len), hi = min(diag, len);
        while (lo < hi) {
            int mid = (lo + hi) >> 1;
            if (A[mid] <= B[diag - 1 - mid]) lo = mid + 1; else hi = mid;
        }
        int a = lo, b = diag - lo;
        float va = a < len ? A[a] : 0.f, vb = b < len ? B[b] : 0.f;
        #pragma unroll
        for (int r = 0; r < ITEMS; ++r) {
            bool takeA = b >= len || (a < len && va <= vb);
            v[r] = takeA ? va : vb;
            if (takeA) { ++a; va = a < len ? A[a] : 0.f; }
            else { ++b; vb = b < len ? B[b] : 0.f; }
        }
    }
    __syncthreads();
    #pragma unroll
    for (int r = 0; r < ITEMS; ++r) s[t * ITEMS + r] = v[r];
    __syncthreads();
    if (live) for (int i = t; i < cols; i += TEAM) out[(size_t)row * cols + i] = s[i];
}
extern "C" __global__ void __launch_bounds__(128) merge_short(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    merge_sort<16>(x, out, rows, cols);
}
extern "C" __global__ void __launch_bounds__(128) merge_long(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    merge_sort<128>(x, out, rows, cols);
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    if cols <= 128:
        program.merge_short(((rows + 7) // 8,), (128,), (x, out, rows, cols))
    else:
        program.merge_long((rows,), (128,), (x, out, rows, cols))
    return out
