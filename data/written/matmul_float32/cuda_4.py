import torch

from foretell.cuda import compile

program = compile(r"""
// 3xTF32 with mma.m16n8k8: every operand is split in registers into big = tf32(x) and small = tf32(x - big), and
// big*small + small*big + big*big are accumulated.  cp.async 3 stages, 128x64 tile, 8 warps (4x2), warp tile 32x32.
constexpr int BM = 128, BN = 64, BK = 32, ST = 3, LA = BK + 4, LB = BN + 8;
constexpr int SA = BM * LA, SB = BK * LB;
__device__ __forceinline__ void cp16(const float* d, const float* s, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"((unsigned)__cvta_generic_to_shared(d)), "l"(s), "r"(ok ? 16 : 0));
}
__device__ __forceinline__ void split(float x, unsigned& big, unsigned& small) {
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(big) : "f"(x));
    float rest = x - __uint_as_float(big);
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(small) : "f"(rest));
}
__device__ __forceinline__ void mma(float* d, const unsigned* a, const unsigned* b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
extern "C" __global__ void __launch_bounds__(256) gemm_3xtf32(
    const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
    extern __shared__ __align__(16) float sm[];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5, g = lane >> 2, q = lane & 3;
    const int wm = (warp >> 1) * 32, wn = (warp & 1) * 32, m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int nt = (K + BK - 1) / BK;
    auto issue = [&](int t) {
        float* sa = sm + (t % ST) * (SA + SB);
        float* sb = sa + SA;
        int k0 = t * BK;
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            int v = tid + p * 256, r = v >> 3, c = (v & 7) * 4;
            bool ok = m0 + r < M && k0 + c < K;
            cp16(sa + r * LA + c, ok ? A + (size_t)(m0 + r) * K + k0 + c : A, ok);
        }
        #pragma unroll
        for (int p = 0; p < 2; ++p) {
            int v = tid + p * 256, r = v >> 4, c = (v & 15) * 4;
            bool ok = k0 + r < K && n0 + c < N;
            cp16(sb + r * LB + c, ok ? B + (size_t)(k0 + r) * N + n0 + c : B, ok);
        }
    };
    float acc[2][4][4] = {};
    for (int t = 0; t < ST - 1; ++t) { if (t < nt) issue(t); asm volatile("cp.async.commit_group;"); }
    for (int t = 0; t < nt; ++t) {
        asm volatile("cp.async.wait_group %0;" :: "n"(ST - 2));
        __syncthreads();
        if (t + ST - 1 < nt) issue(t + ST - 1);
        asm volatile("cp.async.commit_group;");
        const float* sa = sm + (t % ST) * (SA + SB);
        const float* sb = sa + SA;
        #pragma unroll
        for (int kk = 0; kk < BK; kk += 8) {
            unsigned ab[2][4], as[2][4], bb[4][2], bs[4][2];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float* p = sa + (wm + i * 16 + g) * LA + kk + q;
                split(p[0], ab[i][0], as[i][0]);
                split(p[8 * LA], ab[i][1], as[i][1]);
                split(p[4], ab[i][2], as[i][2]);
                split(p[8 * LA + 4], ab[i][3], as[i][3]);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float* p = sb + (kk + q) * LB + wn + j * 8 + g;
                split(p[0], bb[j][0], bs[j][0]);
                split(p[4 * LB], bb[j][1], bs[j][1]);
            }
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    mma(acc[i][j], as[i], bb[j]);
                    mma(acc[i][j], ab[i], bs[j]);
                    mma(acc[i][j], ab[i], bb[j]);
                }
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int m = m0 + wm + i * 16 + g, n = n0 + wn + j * 8 + q * 2;
            if (n >= N) continue;
            if (m < M) *(float2*)(C + (size_t)m * N + n) = make_float2(acc[i][j][0], acc[i][j][1]);
            if (m + 8 < M) *(float2*)(C + (size_t)(m + 8) * N + n) = make_float2(acc[i][j][2], acc[i][j][3]);
        }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    smem = 3 * (128 * 36 + 32 * 72) * 4
    program.gemm_3xtf32(((N + 63) // 64, (M + 127) // 128), (256,), (a, b, c, M, N, K), smem)
    return c
