import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// mma.sync m16n8k16 + ldmatrix + 4-stage cp.async pipeline.
constexpr int BM = 128, BN = 128, BK = 32, STAGES = 4;
constexpr int A_STAGE = BM * BK, B_STAGE = BK * BN;

__device__ __forceinline__ unsigned smem_u32(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void cp16(unsigned dst, const void* src, bool ok) {
    int bytes = ok ? 16 : 0;   // zero-fill when out of range
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(bytes));
}
// xor swizzles on 16-byte chunks: A rows have 4 chunks, B rows have 16
__device__ __forceinline__ int swz_a(int r, int c) { return r * BK + ((c ^ ((r >> 1) & 3)) << 3); }
__device__ __forceinline__ int swz_b(int r, int c) { return r * BN + ((c ^ (r & 7)) << 3); }

extern "C" __global__ void __launch_bounds__(256, 2) matmul_mma(
    const __half* __restrict__ A, const __half* __restrict__ B, __half* __restrict__ C, int M, int N, int K) {
    extern __shared__ __align__(128) __half smem[];
    __half* As = smem;
    __half* Bs = smem + STAGES * A_STAGE;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wm = (warp >> 2) * 64, wn = (warp & 3) * 32;     // 2 x 4 warps, 64x32 each
    const int bm = blockIdx.y * BM, bn = blockIdx.x * BN;
    const int ktiles = (K + BK - 1) / BK;

    auto load = [&](int stage, int kt) {
        int k0 = kt * BK;
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            int v = tid + i * 256, r = v >> 2, c = v & 3;
            bool ok = bm + r < M && k0 + c * 8 < K;
            cp16(smem_u32(As + stage * A_STAGE + swz_a(r, c)), ok ? A + (size_t)(bm + r) * K + k0 + c * 8 : A, ok);
        }
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            int v = tid + i * 256, r = v >> 4, c = v & 15;
            bool ok = k0 + r < K && bn + c * 8 < N;
            cp16(smem_u32(Bs + stage * B_STAGE + swz_b(r, c)), ok ? B + (size_t)(k0 + r) * N + bn + c * 8 : B, ok);
        }
    };

    float acc[4][4][4] = {};
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < ktiles) load(s, s);
        asm volatile("cp.async.commit_group;");
    }
    for (int kt = 0; kt < ktiles; ++kt) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2));
        __syncthreads();
        int nk = kt + STAGES - 1;
        if (nk < ktiles) load(nk % STAGES, nk);
        asm volatile("cp.async.commit_group;");
        const __half* as = As + (kt % STAGES) * A_STAGE;
        const __half* bs = Bs + (kt % STAGES) * B_STAGE;
        #pragma unroll
        for (int kk = 0; kk < 2; ++kk) {
            unsigned a[4][4], b[4][2];
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                unsigned p = smem_u32(as + swz_a(wm + i * 16 + (lane & 15), kk * 2 + (lane >> 4)));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3]) : "r"(p));
            }
            #pragma unroll
            for (int j = 0; j < 2; ++j) {
                unsigned p = smem_u32(bs + swz_b(kk * 16 + (lane & 15), (wn >> 3) + j * 2 + (lane >> 4)));
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                    : "=r"(b[2*j][0]), "=r"(b[2*j][1]), "=r"(b[2*j+1][0]), "=r"(b[2*j+1][1]) : "r"(p));
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                        : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                        : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int r = bm + wm + i * 16 + (lane >> 2), c = bn + wn + j * 8 + (lane & 3) * 2;
            if (c < N) {
                if (r < M) *(__half2*)&C[(size_t)r * N + c] = __floats2half2_rn(acc[i][j][0], acc[i][j][1]);
                if (r + 8 < M) *(__half2*)&C[(size_t)(r + 8) * N + c] = __floats2half2_rn(acc[i][j][2], acc[i][j][3]);
            }
        }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    smem = 4 * (128 * 32 + 32 * 128) * 2
    program.matmul_mma(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K), smem)
    return c
