import torch
from foretell.cuda import compile

# Register tiling without tensor cores: 256 threads, each computes a 4x4 tile of the scores, then a 4 x (DIM/16) tile of
# the output. Q and K are kept transposed in shared memory as half so that inner loops read contiguous values.
SOURCE = r"""
#include <cuda_fp16.h>
#define C 64
#define LDT (C + 8)
#define W (DIM / 16)

extern "C" __global__ void __launch_bounds__(256) chunk_regtile(const __half* __restrict__ q, const __half* __restrict__ k,
        const __half* __restrict__ v, __half* __restrict__ out) {
    extern __shared__ __align__(16) __half sm[];
    __half* qT = sm;                       // [DIM][LDT]
    __half* kT = qT + DIM * LDT;           // [DIM][LDT]
    __half* vs = kT + DIM * LDT;           // [C][DIM]
    __shared__ float sc[C][C + 1];         // transposed: sc[s][t]
    const int tid = threadIdx.x;
    const size_t base = (size_t)blockIdx.x * C * DIM;

    for (int i = tid; i < C * DIM / 8; i += 256) {
        int r = i / (DIM / 8), c = i % (DIM / 8) * 8;
        uint4 a = *reinterpret_cast<const uint4*>(q + base + r * DIM + c);
        uint4 b = *reinterpret_cast<const uint4*>(k + base + r * DIM + c);
        reinterpret_cast<uint4*>(vs)[i] = *reinterpret_cast<const uint4*>(v + base + r * DIM + c);
        const __half* ah = reinterpret_cast<const __half*>(&a);
        const __half* bh = reinterpret_cast<const __half*>(&b);
        #pragma unroll
        for (int e = 0; e < 8; e++) {
            qT[(c + e) * LDT + r] = ah[e];
            kT[(c + e) * LDT + r] = bh[e];
        }
    }
    __syncthreads();

    const int ty = tid / 16, tx = tid % 16;
    float acc[4][4] = {};
    if (tx <= ty) {                        // 4x4 tiles above the diagonal are zero
        for (int d = 0; d < DIM; d++) {
            float a[4], b[4];
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                float2 x = __half22float2(*reinterpret_cast<const __half2*>(qT + d * LDT + ty * 4 + 2 * i));
                float2 y = __half22float2(*reinterpret_cast<const __half2*>(kT + d * LDT + tx * 4 + 2 * i));
                a[2 * i] = x.x; a[2 * i + 1] = x.y; b[2 * i] = y.x; b[2 * i + 1] = y.y;
            }
            #pragma unroll
            for (int i = 0; i < 4; i++)
                #pragma unroll
                for (int j = 0; j < 4; j++) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++)
        #pragma unroll
        for (int j = 0; j < 4; j++)
            sc[tx * 4 + j][ty * 4 + i] = tx * 4 + j <= ty * 4 + i ? acc[i][j] * (1.0f / DIM) : 0.f;
    __syncthreads();

    float o[4][W] = {};
    const int last = ty * 4 + 3;           // keys after the last row of the tile contribute nothing
    for (int s = 0; s <= last; s++) {
        float p[4];
        #pragma unroll
        for (int i = 0; i < 4; i++) p[i] = sc[s][ty * 4 + i];
        #pragma unroll
        for (int j = 0; j < W; j += 2) {
            float2 x = __half22float2(*reinterpret_cast<const __half2*>(vs + s * DIM + tx * 2 + (j / 2) * 32));
            #pragma unroll
            for (int i = 0; i < 4; i++) { o[i][j] = fmaf(p[i], x.x, o[i][j]); o[i][j + 1] = fmaf(p[i], x.y, o[i][j + 1]); }
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; i++)
        #pragma unroll
        for (int j = 0; j < W; j += 2)
            *reinterpret_cast<__half2*>(out + base + (ty * 4 + i) * DIM + tx * 2 + (j / 2) * 32) = __floats2half2_rn(o[i][j], o[i][j + 1]);
}
"""
programs = {d: compile(SOURCE, (f"-DDIM={d}",)) for d in (64, 128)}


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    shared = 2 * (2 * dim * 72 + 64 * dim)
    programs[dim].chunk_regtile((heads * length // 64,), (256,), (q, k, v, out), shared)
    return out
