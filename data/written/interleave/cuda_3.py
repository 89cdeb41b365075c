import torch

from foretell.cuda import compile

# Widest loads: 16 bytes of a and of b per thread, 32 bytes of output.  Two adjacent 16-byte stores per thread would
# leave each store instruction with stride 32; a pair of lanes exchanges half of its data by shuffle so that every
# store instruction of the warp covers 512 contiguous bytes.
program = compile(r"""
constexpr int T = 256;
extern "C" __global__ void __launch_bounds__(T) interleave_wide(const uint4* __restrict__ a, const uint4* __restrict__ b, uint4* __restrict__ out, int n8) {
    const int i = blockIdx.x * T + threadIdx.x;
    const int lane = threadIdx.x & 31;
    const int warp0 = i - lane;
    if (warp0 >= n8) return;
    uint4 p = make_uint4(0, 0, 0, 0), q = p;
    if (i < n8) { p = __ldcs(a + i); q = __ldcs(b + i); }
    uint4 lo, hi;                                    // output vectors 2i and 2i + 1
    lo.x = __byte_perm(p.x, q.x, 0x5410); lo.y = __byte_perm(p.x, q.x, 0x7632);
    lo.z = __byte_perm(p.y, q.y, 0x5410); lo.w = __byte_perm(p.y, q.y, 0x7632);
    hi.x = __byte_perm(p.z, q.z, 0x5410); hi.y = __byte_perm(p.z, q.z, 0x7632);
    hi.z = __byte_perm(p.w, q.w, 0x5410); hi.w = __byte_perm(p.w, q.w, 0x7632);
    // vector (k*32 + lane) of the warp's 64 lives in lane (k*32 + lane) / 2, lo if even, hi if odd
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int src = k * 16 + (lane >> 1);
        uint4 u, v;
        u.x = __shfl_sync(0xffffffffu, lo.x, src); v.x = __shfl_sync(0xffffffffu, hi.x, src);
        u.y = __shfl_sync(0xffffffffu, lo.y, src); v.y = __shfl_sync(0xffffffffu, hi.y, src);
        u.z = __shfl_sync(0xffffffffu, lo.z, src); v.z = __shfl_sync(0xffffffffu, hi.z, src);
        u.w = __shfl_sync(0xffffffffu, lo.w, src); v.w = __shfl_sync(0xffffffffu, hi.w, src);
        const int o = warp0 * 2 + k * 32 + lane;
        if (o < 2 * n8) __stcs(out + o, (lane & 1) ? v : u);
    }
}
""")


def kernel(a, b):
    rows, cols = a.shape
    out = torch.empty((rows, 2 * cols), dtype=a.dtype, device=a.device)
    n8 = rows * cols // 8  # cols is a multiple of 16 in all shapes
    program.interleave_wide(((n8 + 255) // 256,), (256,), (a, b, out, n8))
    return out
