import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>

// SIMT outer-product kernel: 128x128 tile, 8x8 register block per thread.  A^T is the ideal layout here: both
// tiles are [BK][128] with no transposition on the way to shared memory.
#define BM 128
#define BN 128
#define BK 16

extern "C" __global__ void __launch_bounds__(256) matmul_at_simt(
    const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b, __nv_bfloat16* __restrict__ c,
    int M, int N, int K) {
    __shared__ float As[BK][BM];
    __shared__ float Bs[BK][BN];
    const int tid = threadIdx.x;
    const int tx = tid % 16, ty = tid / 16;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;

    // each thread brings 8 bf16 (16 bytes) of each tile; M and N are multiples of 8
    const int lr = tid / 16, lc = (tid % 16) * 8;

    float acc[8][8] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        uint4 va = make_uint4(0, 0, 0, 0), vb = make_uint4(0, 0, 0, 0);
        if (k0 + lr < K && m0 + lc < M) va = *reinterpret_cast<const uint4*>(a + (size_t)(k0 + lr) * M + m0 + lc);
        if (k0 + lr < K && n0 + lc < N) vb = *reinterpret_cast<const uint4*>(b + (size_t)(k0 + lr) * N + n0 + lc);
        const __nv_bfloat162* pa = reinterpret_cast<const __nv_bfloat162*>(&va);
        const __nv_bfloat162* pb = reinterpret_cast<const __nv_bfloat162*>(&vb);
        #pragma unroll
        for (int i = 0; i < 4; ++i) {
            float2 fa = __bfloat1622float2(pa[i]), fb = __bfloat1622float2(pb[i]);
            As[lr][lc + 2 * i] = fa.x; As[lr][lc + 2 * i + 1] = fa.y;
            Bs[lr][lc + 2 * i] = fb.x; Bs[lr][lc + 2 * i + 1] = fb.y;
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float ra[8], rb[8];
            *(float4*)&ra[0] = *(float4*)&As[k][ty * 8];
            *(float4*)&ra[4] = *(float4*)&As[k][ty * 8 + 4];
            *(float4*)&rb[0] = *(float4*)&Bs[k][tx * 4];
            *(float4*)&rb[4] = *(float4*)&Bs[k][64 + tx * 4];
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(ra[i], rb[j], acc[i][j]);
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        int m = m0 + ty * 8 + i;
        if (m >= M) continue;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            int n = n0 + (j < 4 ? tx * 4 + j : 64 + tx * 4 + j - 4);
            if (n < N) c[(size_t)m * N + n] = __float2bfloat16(acc[i][j]);
        }
    }
}
""")


def kernel(a, b):
    K, M = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.bfloat16)
    program.matmul_at_simt(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K))
    return c
