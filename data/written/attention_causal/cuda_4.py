import torch
from foretell.cuda import compile

# FlashAttention-2 with raw mma.sync.m16n8k16: scores and output stay in registers, P is re-used directly as the A
# operand of the second product, K/V double buffered with cp.async, ldmatrix on XOR-swizzled tiles.
SOURCE = r"""
#include <cuda_fp16.h>
#define UNROLL _Pragma("unroll")
#define BN 64
#define CH (DIM / 8)                 // 16-byte chunks per row
typedef unsigned int u32;

__device__ __forceinline__ u32 sptr(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ int swz(int r, int c) { return r * DIM + ((c ^ (r & 7)) << 3); }
__device__ __forceinline__ void ldm4(u32* r, u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void ldm4t(u32* r, u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void mma(float* c, const u32* a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void tile(__half* dst, const __half* src, int row0, int length) {
    for (int i = threadIdx.x; i < 64 * CH; i += 128) {
        int r = i / CH, c = i % CH, row = row0 + r;
        int bytes = row < length ? 16 : 0;              // zero fill past the end
        const __half* from = src + (size_t)min(row, length - 1) * DIM + c * 8;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sptr(dst + swz(r, c))), "l"(from), "r"(bytes));
    }
}
__device__ __forceinline__ u32 pack(float a, float b) { __half2 h = __floats2half2_rn(a, b); return *reinterpret_cast<u32*>(&h); }

extern "C" __global__ void __launch_bounds__(128) flash2(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    extern __shared__ __align__(128) __half sm[];
    __half* sK[2] = {sm, sm + BN * DIM};
    __half* sV[2] = {sm + 2 * BN * DIM, sm + 3 * BN * DIM};
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const int row0 = (gridDim.x - 1 - blockIdx.x) * 64;
    const size_t base = (size_t)blockIdx.y * length * DIM;
    q += base; k += base; v += base; out += base;

    // stage Q through the V buffer, keep its fragments in registers
    tile(sV[1], q, row0, length);
    tile(sK[0], k, 0, length); tile(sV[0], v, 0, length);
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
    __syncthreads();
    u32 qf[DIM / 16][4];
    UNROLL for (int d = 0; d < DIM / 16; d++) ldm4(qf[d], sptr(sV[1] + swz(warp * 16 + (lane & 15), d * 2 + (lane >> 4))));
    __syncthreads();

    float o[DIM / 8][4] = {};
    float m[2] = {-1e30f, -1e30f}, l[2] = {0.f, 0.f};
    const int r0 = row0 + warp * 16 + (lane >> 2);
    const int steps = (min(row0 + 64, length) + BN - 1) / BN;
    for (int it = 0; it < steps; it++) {
        const int cur = it & 1;
        if (it + 1 < steps) {
            tile(sK[cur ^ 1], k, (it + 1) * BN, length);
            tile(sV[cur ^ 1], v, (it + 1) * BN, length);
        }
        asm volatile("cp.async.commit_group;");
        float s[BN / 8][4] = {};
        UNROLL for (int d = 0; d < DIM / 16; d++)
            UNROLL for (int n = 0; n < BN / 16; n++) {
                u32 b[4];
                ldm4(b, sptr(sK[cur] + swz(n * 16 + (lane & 7) + ((lane >> 4) << 3), d * 2 + ((lane >> 3) & 1))));
                mma(s[2 * n], qf[d], b[0], b[1]); mma(s[2 * n + 1], qf[d], b[2], b[3]);
            }
        UNROLL for (int h = 0; h < 2; h++) {
            float top = m[h];
            UNROLL for (int n = 0; n < BN / 8; n++)
                UNROLL for (int e = 0; e < 2; e++) {
                    int col = it * BN + n * 8 + (lane & 3) * 2 + e;
                    float& x = s[n][h * 2 + e];
                    x = col <= r0 + h * 8 ? x * scale : -1e30f;
                    top = fmaxf(top, x);
                }
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
            float c = exp2f(m[h] - top);
            m[h] = top; l[h] *= c;
            UNROLL for (int n = 0; n < BN / 8; n++)
                UNROLL for (int e = 0; e < 2; e++) { float p = exp2f(s[n][h * 2 + e] - top); s[n][h * 2 + e] = p; l[h] += p; }
            UNROLL for (int d = 0; d < DIM / 8; d++) { o[d][h * 2] *= c; o[d][h * 2 + 1] *= c; }
        }
        UNROLL for (int n = 0; n < BN / 16; n++) {
            u32 a[4] = {pack(s[2 * n][0], s[2 * n][1]), pack(s[2 * n][2], s[2 * n][3]),
                        pack(s[2 * n + 1][0], s[2 * n + 1][1]), pack(s[2 * n + 1][2], s[2 * n + 1][3])};
            UNROLL for (int d = 0; d < DIM / 16; d++) {
                u32 b[4];
                ldm4t(b, sptr(sV[cur] + swz(n * 16 + (lane & 15), d * 2 + (lane >> 4))));
                mma(o[2 * d], a, b[0], b[1]); mma(o[2 * d + 1], a, b[2], b[3]);
            }
        }
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
    }
    UNROLL for (int h = 0; h < 2; h++) {
        l[h] += __shfl_xor_sync(~0u, l[h], 1);
        l[h] += __shfl_xor_sync(~0u, l[h], 2);
        int row = r0 + h * 8;
        if (row >= length) continue;
        UNROLL for (int d = 0; d < DIM / 8; d++)
            *reinterpret_cast<u32*>(out + (size_t)row * DIM + d * 8 + (lane & 3) * 2) = pack(o[d][h * 2] / l[h], o[d][h * 2 + 1] / l[h]);
    }
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    programs[dim].flash2(
        ((length + 63) // 64, heads), (128,), (q, k, v, out, length, dim**-0.5 * 1.4426950408889634), 4 * 64 * dim * 2
    )
    return out
