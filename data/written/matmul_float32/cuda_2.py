import torch

from foretell.cuda import compile

program = compile(r"""
// 128x128x8 register-blocked SGEMM, 8x8 per thread, double-buffered shared memory with register prefetch.
#define BM 128
#define BN 128
#define BK 8
extern "C" __global__ void __launch_bounds__(256, 2) sgemm_128(
    const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K) {
    __shared__ float As[2][BK][BM + 4];
    __shared__ float Bs[2][BK][BN];
    const int tid = threadIdx.x, tx = tid & 15, ty = tid >> 4;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    const int ar = tid >> 1, ac = (tid & 1) * 4;      // A: 128 rows x 2 float4
    const int br = tid >> 5, bc = (tid & 31) * 4;     // B: 8 rows x 32 float4
    const float4 z = make_float4(0.f, 0.f, 0.f, 0.f);

    auto loadA = [&](int k0) { return (m0 + ar < M && k0 + ac < K) ? *(const float4*)(A + (size_t)(m0 + ar) * K + k0 + ac) : z; };
    auto loadB = [&](int k0) { return (k0 + br < K && n0 + bc < N) ? *(const float4*)(B + (size_t)(k0 + br) * N + n0 + bc) : z; };
    auto put = [&](int s, float4 a, float4 b) {
        As[s][ac + 0][ar] = a.x; As[s][ac + 1][ar] = a.y; As[s][ac + 2][ar] = a.z; As[s][ac + 3][ar] = a.w;
        *(float4*)&Bs[s][br][bc] = b;
    };
    float acc[8][8] = {};
    put(0, loadA(0), loadB(0));
    __syncthreads();
    int s = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        float4 na = z, nb = z;
        bool more = k0 + BK < K;
        if (more) { na = loadA(k0 + BK); nb = loadB(k0 + BK); }
        #pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[8], b[8];
            *(float4*)&a[0] = *(const float4*)&As[s][k][ty * 4];
            *(float4*)&a[4] = *(const float4*)&As[s][k][64 + ty * 4];
            *(float4*)&b[0] = *(const float4*)&Bs[s][k][tx * 4];
            *(float4*)&b[4] = *(const float4*)&Bs[s][k][64 + tx * 4];
            #pragma unroll
            for (int i = 0; i < 8; ++i)
                #pragma unroll
                for (int j = 0; j < 8; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
        if (more) put(s ^ 1, na, nb);
        __syncthreads();
        s ^= 1;
    }
    #pragma unroll
    for (int i = 0; i < 8; ++i) {
        int m = m0 + (i < 4 ? ty * 4 + i : 64 + ty * 4 + i - 4);
        if (m >= M) continue;
        int n = n0 + tx * 4;
        if (n < N) *(float4*)(C + (size_t)m * N + n) = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        if (n + 64 < N) *(float4*)(C + (size_t)m * N + n + 64) = make_float4(acc[i][4], acc[i][5], acc[i][6], acc[i][7]);
    }
}
""")


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float32)
    program.sgemm_128(((N + 127) // 128, (M + 127) // 128), (256,), (a, b, c, M, N, K))
    return c
