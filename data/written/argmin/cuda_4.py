import torch

from foretell.cuda import compile

# Persistent warps with a register double buffer: 4 float4 of the next step are requested before the current 4 are compared, crossing row
# boundaries, so that a warp always has 2 KB in flight. Values and indices are packed in a 64-bit key only at the end of a row.
program = compile(r"""
#define INF __int_as_float(0x7f800000)
typedef unsigned long long u64;

__device__ __forceinline__ u64 pack(float v, int i) {
    unsigned u = __float_as_uint(v + 0.f);
    u = (u >> 31) ? ~u : (u | 0x80000000u);
    return ((u64)u << 32) | (unsigned)i;
}

template <bool VEC>
__device__ __forceinline__ void load(float4 (&v)[4], const float* __restrict__ x, int row, int base, int rows, int cols, int lane) {
    const float* p = x + (size_t)row * cols;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int i = base + (k * 32 + lane) * 4;
        v[k] = make_float4(INF, INF, INF, INF);
        if (row < rows) {
            if (VEC) {
                if (i < cols) v[k] = __ldcs((const float4*)(p + i));
            } else {
                if (i < cols) v[k].x = p[i];
                if (i + 1 < cols) v[k].y = p[i + 1];
                if (i + 2 < cols) v[k].z = p[i + 2];
                if (i + 3 < cols) v[k].w = p[i + 3];
            }
        }
    }
}

template <bool VEC>
__device__ __forceinline__ void run(const float* __restrict__ x, long long* __restrict__ out, int rows, int cols) {
    const int lane = threadIdx.x & 31;
    const int stride = gridDim.x * (blockDim.x >> 5);
    int row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    int base = 0;
    float best = INF;
    int at = 0x7fffffff;
    float4 cur[4], nxt[4];
    load<VEC>(cur, x, row, base, rows, cols, lane);
    while (row < rows) {
        int nrow = row, nbase = base + 512;
        if (nbase >= cols) { nbase = 0; nrow = row + stride; }
        load<VEC>(nxt, x, nrow, nbase, rows, cols, lane);
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int i = base + (k * 32 + lane) * 4;
            if (cur[k].x < best) { best = cur[k].x; at = i; }
            if (cur[k].y < best) { best = cur[k].y; at = i + 1; }
            if (cur[k].z < best) { best = cur[k].z; at = i + 2; }
            if (cur[k].w < best) { best = cur[k].w; at = i + 3; }
        }
        if (nrow != row) {
            u64 key = pack(best, at);
            #pragma unroll
            for (int o = 16; o; o >>= 1) { u64 other = __shfl_xor_sync(~0u, key, o); key = other < key ? other : key; }
            if (lane == 0) out[row] = (long long)(key & 0xffffffffull);
            best = INF;
            at = 0x7fffffff;
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) cur[k] = nxt[k];
        row = nrow;
        base = nbase;
    }
}

extern "C" __global__ void __launch_bounds__(256) argmin_vec(const float* __restrict__ x, long long* __restrict__ out, int rows, int cols) { run<true>(x, out, rows, cols); }
extern "C" __global__ void __launch_bounds__(256) argmin_any(const float* __restrict__ x, long long* __restrict__ out, int rows, int cols) { run<false>(x, out, rows, cols); }
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    blocks = min((rows + 7) // 8, 132 * 4)
    launch = program.argmin_vec if cols % 4 == 0 else program.argmin_any
    launch((blocks,), (256,), (x, out, rows, cols))
    return out
