import torch

from foretell.cuda import compile

# cp.async (16 B) into an XOR-swizzled 64x64 tile, then ldmatrix.x4.trans does the transposition. Row addresses for
# ldmatrix are free, so matrix m takes the tile rows 8*(i/2) + 2m + i%2: a thread then holds 8 consecutive rows of one
# column and writes them as one 16-byte store.
program = compile(r"""
constexpr int TILE = 64;

__device__ __forceinline__ int swizzle(int row, int chunk) {       // chunk of 8 elements
    return row * 8 + (chunk ^ ((((row >> 3) & 3) << 1) | (row & 1)));
}

extern "C" __global__ void __launch_bounds__(256) permute_ldmatrix(const unsigned short* __restrict__ x,
                                                                   unsigned short* __restrict__ out, int rows, int cols) {
    __shared__ __align__(128) uint4 tile[TILE * TILE / 8];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int c0 = blockIdx.x * TILE, r0 = blockIdx.y * TILE;
    const size_t base = (size_t)blockIdx.z * rows * cols;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int i = threadIdx.x + k * 256;
        const int r = i >> 3, ch = i & 7;
        const bool inside = r0 + r < rows && c0 + ch * 8 < cols;   // cols is a multiple of 8
        const unsigned short* src = inside ? x + base + (size_t)(r0 + r) * cols + c0 + ch * 8 : x;
        const unsigned int dst = (unsigned int)__cvta_generic_to_shared(&tile[swizzle(r, ch)]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(inside ? 16 : 0) : "memory");
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    // warp w: columns 8w .. 8w+7, in two halves of 32 rows
    #pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int m = lane >> 3, i = lane & 7;
        const int row = half * 32 + 8 * (i >> 1) + 2 * m + (i & 1);
        const unsigned int addr = (unsigned int)__cvta_generic_to_shared(&tile[swizzle(row, warp)]);
        uint4 v;
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(addr) : "memory");
        const int c = c0 + warp * 8 + (lane >> 2);
        const int r = r0 + half * 32 + (lane & 3) * 8;
        if (c < cols) {
            unsigned short* to = out + base + (size_t)c * rows + r;
            if ((rows & 7) == 0) {
                if (r < rows) *reinterpret_cast<uint4*>(to) = v;
            } else {
                const unsigned int w[4] = {v.x, v.y, v.z, v.w};
                #pragma unroll
                for (int k = 0; k < 8; ++k)
                    if (r + k < rows) to[k] = (unsigned short)(w[k >> 1] >> (16 * (k & 1)));
            }
        }
    }
}
""")


def kernel(x):
    x = x.contiguous()
    batch, rows, cols = x.shape
    assert cols % 8 == 0
    out = torch.empty((batch, cols, rows), device=x.device, dtype=x.dtype)
    program.permute_ldmatrix(((cols + 63) // 64, (rows + 63) // 64, batch), (256,), (x, out, rows, cols))
    return out
