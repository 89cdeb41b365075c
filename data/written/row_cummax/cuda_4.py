import torch
from foretell.cuda import compile

# Warp per row with all loads of the row issued first: up to 8 x 16 bytes per lane (2048 columns), then the pieces are
# scanned with interleaved shuffles of packed pairs (two pieces share one 32-bit shuffle), then chained.
program = compile(r"""
#include <cuda_bf16.h>
typedef __nv_bfloat162 bf2;
#define PIECES 8
#define NEG 0xFF80FF80u
__device__ __forceinline__ unsigned vmax(unsigned a, unsigned b) {
    bf2 r = __hmax2(*reinterpret_cast<bf2*>(&a), *reinterpret_cast<bf2*>(&b));
    return *reinterpret_cast<unsigned*>(&r);
}
__device__ __forceinline__ unsigned both(unsigned hi_of) { return __byte_perm(hi_of, hi_of, 0x3232); }   // broadcast upper half

extern "C" __global__ void __launch_bounds__(128) cummax_wide(const uint4* __restrict__ x, uint4* __restrict__ out, int rows, int n8) {
    const int row = blockIdx.x * 4 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (row >= rows) return;
    x += (size_t)row * n8;
    out += (size_t)row * n8;
    unsigned carry = NEG;
    for (int base = 0; base < n8; base += 32 * PIECES) {
        unsigned v[PIECES][4];
        #pragma unroll
        for (int p = 0; p < PIECES; p++) {
            int i = base + p * 32 + lane;
            uint4 r = i < n8 ? __ldcs(x + i) : make_uint4(NEG, NEG, NEG, NEG);
            v[p][0] = r.x; v[p][1] = r.y; v[p][2] = r.z; v[p][3] = r.w;
        }
        #pragma unroll
        for (int p = 0; p < PIECES; p++) {
            // inside a word: upper = max(lower, upper); lower stays
            #pragma unroll
            for (int w = 0; w < 4; w++) v[p][w] = vmax(v[p][w], __byte_perm(v[p][w], 0xFF80u, 0x1054));
            #pragma unroll
            for (int w = 1; w < 4; w++) v[p][w] = vmax(v[p][w], both(v[p][w - 1]));
        }
        unsigned s[PIECES / 2];          // lane totals of pieces 2q (low half) and 2q+1 (high half)
        #pragma unroll
        for (int q = 0; q < PIECES / 2; q++) s[q] = __byte_perm(v[2 * q][3], v[2 * q + 1][3], 0x7632);
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1)
            #pragma unroll
            for (int q = 0; q < PIECES / 2; q++) {
                unsigned u = __shfl_up_sync(~0u, s[q], d);
                s[q] = vmax(s[q], lane >= d ? u : NEG);
            }
        #pragma unroll
        for (int q = 0; q < PIECES / 2; q++) {
            unsigned before = __shfl_up_sync(~0u, s[q], 1);
            if (lane == 0) before = NEG;
            unsigned total = __shfl_sync(~0u, s[q], 31);
            #pragma unroll
            for (int h = 0; h < 2; h++) {
                const int p = 2 * q + h;
                unsigned b = vmax(h ? both(before) : __byte_perm(before, before, 0x1010), carry);
                carry = vmax(carry, h ? both(total) : __byte_perm(total, total, 0x1010));
                int i = base + p * 32 + lane;
                if (i < n8) __stcs(out + i, make_uint4(vmax(v[p][0], b), vmax(v[p][1], b), vmax(v[p][2], b), vmax(v[p][3], b)));
            }
        }
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.cummax_wide(((rows + 3) // 4,), (128,), (x, out, rows, cols // 8))
    return out
