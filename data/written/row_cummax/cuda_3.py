import torch
from foretell.cuda import compile

# Block per row: the whole row is loaded at once (8 values per thread), one block scan, one store. Block size follows cols.
program = compile(r"""
#include <cuda_bf16.h>
extern "C" __global__ void cummax_block(const unsigned short* __restrict__ x, unsigned short* __restrict__ out, int cols) {
    __shared__ int warp_top[32];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int n8 = cols / 8;
    const uint4* in = reinterpret_cast<const uint4*>(x + (size_t)blockIdx.x * cols);
    uint4* to = reinterpret_cast<uint4*>(out + (size_t)blockIdx.x * cols);

    // integer keys that order like the floats
    int key[8];
    uint4 raw = make_uint4(0, 0, 0, 0);
    if (tid < n8) raw = __ldcs(in + tid);
    const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
    #pragma unroll
    for (int e = 0; e < 8; e++) {
        int s = (int)(short)(words[e / 2] >> (e % 2 * 16));
        key[e] = tid < n8 ? (s < 0 ? s ^ 0x7FFF : s) : -2147483647;
    }
    #pragma unroll
    for (int e = 1; e < 8; e++) key[e] = max(key[e], key[e - 1]);
    int s = key[7];
    #pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int u = __shfl_up_sync(0xffffffffu, s, d);
        if (lane >= d) s = max(s, u);
    }
    if (lane == 31) warp_top[warp] = s;
    int before = __shfl_up_sync(0xffffffffu, s, 1);
    if (lane == 0) before = -2147483647;
    __syncthreads();
    for (int w = 0; w < warp; w++) before = max(before, warp_top[w]);
    unsigned res[4];
    #pragma unroll
    for (int e = 0; e < 8; e++) {
        int t = max(key[e], before);
        unsigned bits = (unsigned)(t < 0 ? t ^ 0x7FFF : t) & 0xFFFFu;
        res[e / 2] = e % 2 ? res[e / 2] | (bits << 16) : bits;
    }
    if (tid < n8) __stcs(to + tid, make_uint4(res[0], res[1], res[2], res[3]));
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    threads = (cols // 8 + 31) // 32 * 32
    program.cummax_block((rows,), (threads,), (x, out, cols))
    return out
