import torch

from foretell.cuda import compile

# Block per row, dynamic shared memory holds the row: one global read; max and sum from shared memory.
program = compile(r"""
extern "C" __global__ void lse_smem(const float* __restrict__ x, float* __restrict__ out, int cols) {
    extern __shared__ float row[];
    __shared__ float warp_part[32];
    __shared__ float bcast;
    const float* p = x + (size_t)blockIdx.x * cols;
    const int t = threadIdx.x, lane = t & 31, w = t >> 5, nw = blockDim.x >> 5;

    float m = -1e30f;
    for (int i = t; i < cols; i += blockDim.x) {
        float v = __ldg(p + i);
        row[i] = v;
        m = fmaxf(m, v);
    }
    // redux.sync has no float variant on sm_90, so map floats to ordered ints
    int key = __float_as_int(m);
    key = key >= 0 ? key : key ^ 0x7fffffff;
    key = __reduce_max_sync(0xffffffffu, key);
    m = __int_as_float(key >= 0 ? key : key ^ 0x7fffffff);
    if (lane == 0) warp_part[w] = m;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < nw; ++k) m = fmaxf(m, warp_part[k]);
        bcast = m;
    }
    __syncthreads();
    m = bcast;
    float s = 0.f;
    for (int i = t; i < cols; i += blockDim.x) s += __expf(row[i] - m);
    for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
    if (lane == 0) warp_part[w] = s;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < nw; ++k) s += warp_part[k];
        out[blockIdx.x] = m + logf(s);
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    threads = 128 if cols <= 1024 else 256
    program.lse_smem((rows,), (threads,), (x, out, cols), cols * 4)
    return out
