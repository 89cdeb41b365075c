import torch

from foretell.cuda import compile

# Ballot-based counting, no shared memory at all.  A warp takes 32 items at a time and
# computes six ballots (one per bit of the value).  Lane L owns bins L and L+32: the items
# equal to bin b are the AND of (ballot or ~ballot) over the 6 bits, popc gives the count.
# The low five bits are shared between the two bins, so ~5 LOP3 + 2 popc per 32 items.
program = compile(r"""
constexpr int WARPS = 4;
extern "C" __global__ void __launch_bounds__(WARPS * 32) bincount_ballot(const int* __restrict__ x, int* __restrict__ out, int rows, int cols) {
    const int lane = threadIdx.x & 31;
    const int row = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (row >= rows) return;                     // whole warps leave together
    const int* src = x + (size_t)row * cols;

    unsigned flip[5];
    #pragma unroll
    for (int b = 0; b < 5; ++b) flip[b] = ((lane >> b) & 1) ? 0u : 0xffffffffu;

    int low = 0, high = 0;
    constexpr int UNROLL = 4;
    int base = 0;
    for (; base + 32 * UNROLL <= cols; base += 32 * UNROLL) {
        int v[UNROLL];
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) v[u] = __ldg(src + base + u * 32 + lane);
        #pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            unsigned m = 0xffffffffu;
            #pragma unroll
            for (int b = 0; b < 5; ++b) m &= __ballot_sync(0xffffffffu, (v[u] >> b) & 1) ^ flip[b];
            unsigned top = __ballot_sync(0xffffffffu, v[u] & 32);
            high += __popc(m & top);
            low += __popc(m & ~top);
        }
    }
    for (; base < cols; base += 32) {
        bool ok = base + lane < cols;
        int v = ok ? __ldg(src + base + lane) : 0;
        unsigned m = __ballot_sync(0xffffffffu, ok);
        #pragma unroll
        for (int b = 0; b < 5; ++b) m &= __ballot_sync(0xffffffffu, (v >> b) & 1) ^ flip[b];
        unsigned top = __ballot_sync(0xffffffffu, v & 32);
        high += __popc(m & top);
        low += __popc(m & ~top);
    }
    int* dst = out + (size_t)row * 64;
    dst[lane] = low;
    dst[lane + 32] = high;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 64), dtype=torch.int32, device=x.device)
    program.bincount_ballot(((rows + 3) // 4,), (128,), (x, out, rows, cols))
    return out
