import torch
from foretell.cuda import compile

# Ballot version: the flags of a warp are one 32-bit mask, so the scan needs no flag shuffles. Lane l's segment starts at
# the highest set bit at or below l (clz); the shuffle step d is taken only when it stays inside the segment.
# float4 per lane, warp per row, next step's data prefetched.
program = compile(r"""
extern "C" __global__ void __launch_bounds__(128) segsum_ballot(const float4* __restrict__ x, const unsigned* __restrict__ marks,
        float4* __restrict__ out, int rows, int n4) {
    const int row = blockIdx.x * 4 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
    if (row >= rows) return;
    x += (size_t)row * n4;
    marks += (size_t)row * n4;
    out += (size_t)row * n4;
    const float4 zero = make_float4(0.f, 0.f, 0.f, 0.f);
    float4 nx = lane < n4 ? __ldcs(x + lane) : zero;
    unsigned nm = lane < n4 ? __ldcs(marks + lane) : 0x01010101u;
    float carry = 0.f;
    for (int base = 0; base < n4; base += 32) {
        float4 v = nx;
        const unsigned m = nm;
        const int next = base + 32 + lane;
        nx = next < n4 ? __ldcs(x + next) : zero;
        nm = next < n4 ? __ldcs(marks + next) : 0x01010101u;

        const bool f0 = (m & 0xFFu) == 0, f1 = (m & 0xFF00u) == 0, f2 = (m & 0xFF0000u) == 0, f3 = (m & 0xFF000000u) == 0;
        v.y += f1 ? 0.f : v.x;
        v.z += f2 ? 0.f : v.y;
        v.w += f3 ? 0.f : v.z;
        const bool any = f0 | f1 | f2 | f3;
        const unsigned heads = __ballot_sync(0xffffffffu, any);
        const unsigned below = heads & (0xffffffffu >> (31 - lane));      // restarts in lanes <= mine
        const int start = below ? 31 - __clz(below) : 0;
        float s = v.w;
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            float u = __shfl_up_sync(0xffffffffu, s, d);
            if (lane - d >= start) s += u;
        }
        if (!below) s += carry;               // still in the segment of the previous step
        float before = __shfl_up_sync(0xffffffffu, s, 1);
        if (lane == 0) before = carry;
        carry = __shfl_sync(0xffffffffu, s, 31);
        if (!f0) {
            v.x += before;
            if (!f1) {
                v.y += before;
                if (!f2) {
                    v.z += before;
                    if (!f3) v.w += before;
                }
            }
        }
        if (base + lane < n4) __stcs(out + base + lane, v);
    }
}
""")


def kernel(x, marks):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.segsum_ballot(((rows + 3) // 4,), (128,), (x, marks, out, rows, cols // 4))
    return out
