import torch

from foretell.cuda import compile

# Hopper wgmma: one consumer shape m64n128k16, both operands in 128B-swizzled shared memory, filled by cp.async.
# A tile is K-major; B tile stays N-major (row-major KxN) and uses the transpose bit of the wgmma instruction.
_REGS = ", ".join(f"%{i}" for i in range(64))
_OUTS = ", ".join(f'"+f"(d[{i}])' for i in range(64))

program = compile(
    r"""
#include <cuda_fp16.h>
typedef unsigned long long u64;
constexpr int BM = 128, BN = 128, BK = 64, STAGES = 3;
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BK * BN * 2, STAGE_BYTES = A_BYTES + B_BYTES;

__device__ __forceinline__ void cp16(unsigned dst, const void* src, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(ok ? 16 : 0));
}
__device__ __forceinline__ u64 desc(unsigned addr, unsigned lead, unsigned stride) {
    return (u64)((addr & 0x3FFFF) >> 4) | ((u64)(lead >> 4) << 16) | ((u64)(stride >> 4) << 32) | (1ull << 62);
}
__device__ __forceinline__ void wgmma(float* d, u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {REGS}, %64, %65, 1, 1, 1, 0, 1;"
        : OUTS : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(256) matmul_wgmma(
    const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C, int M, int N, int K) {
    extern __shared__ unsigned char raw[];
    unsigned base = ((unsigned)__cvta_generic_to_shared(raw) + 1023u) & ~1023u;
    const int tid = threadIdx.x, wg = tid / 128, lane = tid % 32, warp = (tid % 128) / 32;
    // L2-friendly order: 8 row blocks share a column sweep
    const int gm = (M + BM - 1) / BM, gn = (N + BN - 1) / BN;
    int group = blockIdx.x / (8 * gn), first = group * 8, size = min(8, gm - first);
    const int bm = (first + (blockIdx.x % (8 * gn)) % size) * BM, bn = ((blockIdx.x % (8 * gn)) / size) * BN;
    const int kt_n = (K + BK - 1) / BK;

    auto load = [&](int kt) {
        unsigned sa = base + (kt % STAGES) * STAGE_BYTES, sb = sa + A_BYTES;
        int k0 = kt * BK;
        #pragma unroll
        for (int i = 0; i < 4; ++i) {          // A: 128 rows x 8 chunks of 16 bytes
            int v = tid + i * 256, r = v >> 3, c = v & 7;
            bool ok = bm + r < M && k0 + c * 8 < K;
            cp16(sa + r * 128 + ((c ^ (r & 7)) << 4), ok ? A + (size_t)(bm + r) * K + k0 + c * 8 : A, ok);
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i) {          // B: 64 rows x 16 chunks, as two panels of 64 columns
            int v = tid + i * 256, r = v >> 4, c = v & 15;
            bool ok = k0 + r < K && bn + c * 8 < N;
            cp16(sb + (c >> 3) * (BK * 128) + r * 128 + (((c & 7) ^ (r & 7)) << 4),
                 ok ? B + (size_t)(k0 + r) * N + bn + c * 8 : B, ok);
        }
    };

    float d[64];
    #pragma unroll
    for (int i = 0; i < 64; ++i) d[i] = 0.0f;
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < kt_n) load(s);
        asm volatile("cp.async.commit_group;");
    }
    for (int kt = 0; kt < kt_n; ++kt) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2));
        asm volatile("fence.proxy.async;");
        __syncthreads();
        unsigned sa = base + (kt % STAGES) * STAGE_BYTES + wg * 64 * 128, sb = base + (kt % STAGES) * STAGE_BYTES + A_BYTES;
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int kk = 0; kk < BK / 16; ++kk)
            wgmma(d, desc(sa + kk * 32, 16, 1024), desc(sb + kk * 16 * 128, BK * 128, 1024));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (kt + STAGES - 1 < kt_n) {
            // the slot being refilled was consumed in the previous iteration, whose wgmma has been waited for
            load(kt + STAGES - 1);
        }
        asm volatile("cp.async.commit_group;");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    const int r = bm + wg * 64 + warp * 16 + lane / 4;
    #pragma unroll
    for (int j = 0; j < 16; ++j) {
        int c = bn + j * 8 + (lane % 4) * 2;
        if (c >= N) continue;
        if (r < M) *(__half2*)&C[(size_t)r * N + c] = __floats2half2_rn(d[j * 4], d[j * 4 + 1]);
        if (r + 8 < M) *(__half2*)&C[(size_t)(r + 8) * N + c] = __floats2half2_rn(d[j * 4 + 2], d[j * 4 + 3]);
    }
}
""".replace("REGS", _REGS).replace("OUTS", _OUTS)
)


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = ((M + 127) // 128) * ((N + 127) // 128)
    program.matmul_wgmma((grid,), (256,), (a, b, c, M, N, K), 3 * 32768 + 1024)
    return c
