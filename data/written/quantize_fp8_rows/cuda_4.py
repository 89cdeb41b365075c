import torch

from foretell.cuda import compile

# Persistent, cp.async double buffering: while the block reduces and converts row r out of shared memory,
# row r + gridDim is on its way.  Four output bytes per thread per 8-byte shared read.
program = compile(r"""
constexpr int T = 256;
__device__ __forceinline__ void prefetch(unsigned dst, const char* src, int n16) {
    for (int i = threadIdx.x; i < n16; i += T)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" :: "r"(dst + i * 16), "l"(src + (size_t)i * 16));
}
__device__ __forceinline__ unsigned short cvt2(unsigned u, float inv) {
    float a = __uint_as_float(u << 16) * inv, b = __uint_as_float(u & 0xffff0000u) * inv;
    unsigned short r;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(b), "f"(a));
    return r;
}
extern "C" __global__ void __launch_bounds__(T) quantize_pipe(const char* __restrict__ x, unsigned* __restrict__ codes,
                                         float* __restrict__ scales, int rows, int cols) {
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned part[2][T / 32];
    const int t = threadIdx.x;
    const int n16 = cols / 8, n4 = cols / 4;
    const size_t bytes = (size_t)cols * 2;
    const unsigned s0 = (unsigned)__cvta_generic_to_shared(smem);
    int cur = 0;
    if (blockIdx.x < rows) prefetch(s0, x + blockIdx.x * bytes, n16);
    asm volatile("cp.async.commit_group;\n");
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        int next = row + gridDim.x;
        if (next < rows) prefetch(s0 + (cur ^ 1) * (unsigned)bytes, x + next * bytes, n16);
        asm volatile("cp.async.commit_group;\n");
        asm volatile("cp.async.wait_group 1;\n" ::: "memory");
        __syncthreads();
        const uint2* line = reinterpret_cast<const uint2*>(smem + cur * bytes);
        unsigned m = 0;
        for (int i = t; i < n4; i += T) {
            uint2 v = line[i];
            m = __vmaxu2(m, __vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu));
        }
        m = __reduce_max_sync(0xffffffffu, max(m & 0xffffu, m >> 16));
        if ((t & 31) == 0) part[cur][t >> 5] = m;
        __syncthreads();
        #pragma unroll
        for (int w = 0; w < T / 32; ++w) m = max(m, part[cur][w]);
        const unsigned e = m ? m >> 7 : 126u;
        const float inv = __uint_as_float((261u - e) << 23);
        unsigned* dst = codes + (size_t)row * n4;
        for (int i = t; i < n4; i += T) {
            uint2 v = line[i];
            dst[i] = (unsigned)cvt2(v.x, inv) | ((unsigned)cvt2(v.y, inv) << 16);
        }
        if (t == 0) scales[row] = __uint_as_float((e - 7u) << 23);
        __syncthreads();
        cur ^= 1;
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    codes = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows,), dtype=torch.float32, device=x.device)
    shared = 2 * cols * 2
    program.quantize_pipe((min(rows, 132 * 8),), (256,), (x, codes, scales, rows, cols), shared)
    return codes, scales
