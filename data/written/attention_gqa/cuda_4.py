import torch
from foretell.cuda import compile

# Register-resident flash attention with mma.sync m16n8k16; 8 warps = 4 heads of the group x 2 blocks of 16 queries,
# all sharing a 3-stage cp.async pipeline of K/V tiles (32 keys each). P stays in registers as the next A operand.
SOURCE = r"""
#include <cuda_fp16.h>
#define UNROLL _Pragma("unroll")
#define BN 32
#define STAGES 3
#define LD (DIM + 8)
typedef unsigned int u32;
__device__ __forceinline__ u32 sp(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldm(u32 (&r)[4], u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void ldmt(u32 (&r)[4], u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void mma(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ u32 pk(float a, float b) { __half2 h = __floats2half2_rn(a, b); return *reinterpret_cast<u32*>(&h); }
__device__ __forceinline__ void stage(__half* sk, const __half* k, const __half* v, int n0, int length) {
    for (int i = threadIdx.x; i < BN * DIM / 8; i += 256) {
        int r = i / (DIM / 8), c = i % (DIM / 8) * 8, row = n0 + r, ok = row < length ? 16 : 0;
        size_t off = (size_t)(row < length ? row : 0) * DIM + c;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sp(sk + r * LD + c)), "l"(k + off), "r"(ok));
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(sp(sk + (BN + r) * LD + c)), "l"(v + off), "r"(ok));
    }
}
extern "C" __global__ void __launch_bounds__(256) gqa_mma(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out, int length, float scale) {
    extern __shared__ __align__(128) __half ring[];          // STAGES x (K tile, V tile)
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, quad = lane & 3;
    const int head = blockIdx.y * 4 + (warp & 3);
    const int r0 = blockIdx.x * 32 + (warp >> 2) * 16 + (lane >> 2), r1 = r0 + 8;
    k += (size_t)blockIdx.y * length * DIM;
    v += (size_t)blockIdx.y * length * DIM;
    q += (size_t)head * length * DIM;
    out += (size_t)head * length * DIM;
    const int steps = (length + BN - 1) / BN;
    UNROLL for (int s = 0; s < STAGES - 1; s++) {
        if (s < steps) stage(ring + s * 2 * BN * LD, k, v, s * BN, length);
        asm volatile("cp.async.commit_group;");
    }
    // Q fragments straight from global memory: 4-byte loads, done once
    u32 qf[DIM / 16][4];
    UNROLL for (int d = 0; d < DIM / 16; d++)
        UNROLL for (int e = 0; e < 4; e++) {
            int row = (e & 1) ? r1 : r0, col = d * 16 + (e >> 1) * 8 + quad * 2;
            qf[d][e] = row < length ? *reinterpret_cast<const u32*>(q + (size_t)row * DIM + col) : 0u;
        }
    float o[DIM / 8][4] = {};
    float m[2] = {-1e30f, -1e30f}, l[2] = {0.f, 0.f};
    for (int it = 0; it < steps; it++) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2));
        __syncthreads();
        int next = it + STAGES - 1;
        if (next < steps) stage(ring + (next % STAGES) * 2 * BN * LD, k, v, next * BN, length);
        asm volatile("cp.async.commit_group;");
        const __half* sK = ring + (it % STAGES) * 2 * BN * LD;
        const __half* sV = sK + BN * LD;
        float s[BN / 8][4] = {};
        UNROLL for (int d = 0; d < DIM / 16; d++)
            UNROLL for (int n = 0; n < BN / 16; n++) {
                u32 b[4];
                ldm(b, sp(sK + (n * 16 + (lane & 7) + (lane >> 4) * 8) * LD + d * 16 + ((lane >> 3) & 1) * 8));
                mma(s[2 * n], qf[d], b[0], b[1]);
                mma(s[2 * n + 1], qf[d], b[2], b[3]);
            }
        UNROLL for (int h = 0; h < 2; h++) {
            float top = m[h];
            UNROLL for (int n = 0; n < BN / 4; n++) {
                float& x = s[n / 2][h * 2 + n % 2];
                x = it * BN + (n / 2) * 8 + quad * 2 + n % 2 < length ? x * scale : -1e30f;
                top = fmaxf(top, x);
            }
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
            top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
            float c = exp2f(m[h] - top);
            m[h] = top; l[h] *= c;
            UNROLL for (int n = 0; n < BN / 4; n++) { float& x = s[n / 2][h * 2 + n % 2]; x = exp2f(x - top); l[h] += x; }
            UNROLL for (int d = 0; d < DIM / 8; d++) { o[d][h * 2] *= c; o[d][h * 2 + 1] *= c; }
        }
        UNROLL for (int n = 0; n < BN / 16; n++) {
            u32 a[4] = {pk(s[2*n][0], s[2*n][1]), pk(s[2*n][2], s[2*n][3]), pk(s[2*n+1][0], s[2*n+1][1]), pk(s[2*n+1][2], s[2*n+1][3])};
            UNROLL for (int d = 0; d < DIM / 16; d++) {
                u32 b[4];
                ldmt(b, sp(sV + (n * 16 + (lane & 15)) * LD + d * 16 + (lane >> 4) * 8));
                mma(o[2 * d], a, b[0], b[1]);
                mma(o[2 * d + 1], a, b[2], b[3]);
            }
        }
    }
    UNROLL for (int h = 0; h < 2; h++) {
        float t = l[h] + __shfl_xor_sync(~0u, l[h], 1);
        t += __shfl_xor_sync(~0u, t, 2);
        int row = h ? r1 : r0;
        for (int d = 0; d < DIM / 8 && row < length; d++)
            *reinterpret_cast<u32*>(out + (size_t)row * DIM + d * 8 + quad * 2) = pk(o[d][h * 2] / t, o[d][h * 2 + 1] / t);
    }
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    programs[dim].gqa_mma(
        ((length + 31) // 32, heads // 4),
        (256,),
        (q, k, v, out, length, dim**-0.5 * 1.4426950408889634),
        3 * 2 * 32 * (dim + 8) * 2,
    )
    return out
