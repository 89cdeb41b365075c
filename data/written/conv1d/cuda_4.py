import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// mma.sync m16n8k16 + ldmatrix, weights prepacked to [5][Opad][Cpad] and fetched with cp.async, double buffered.
// Block: 128 outputs x 64 positions, 8 warps; warp: 32 outputs x 32 positions. x tile stored [position][channel].
#define TO 128
#define TL 64
#define TC 16
#define LD 24   // 48-byte rows: conflict-light for ldmatrix and 16-byte aligned
extern "C" __global__ void pack(const __half* w, __half* wp, int C, int O, int Cp, int Op) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 5 * Op * Cp) return;
    int c = i % Cp, o = (i / Cp) % Op, k = i / (Cp * Op);
    wp[i] = (c < C && o < O) ? w[(o * C + c) * 5 + k] : __float2half(0.f);
}
__device__ __forceinline__ unsigned saddr(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldm4(unsigned* r, const void* p) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(saddr(p)));
}
__device__ __forceinline__ void mma(float* d, const unsigned* a, unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
extern "C" __global__ void __launch_bounds__(256) conv1d_mma(const __half* __restrict__ x, const __half* __restrict__ wp,
                                       __half* __restrict__ out, int C, int O, int L, int Cp, int Op) {
    extern __shared__ __align__(16) __half sm[];
    __half* ws = sm;                          // [2][5][TO][LD]
    __half* xs = sm + 2 * 5 * TO * LD;        // [2][TL + 4][LD]
    int l0 = blockIdx.x * TL, o0 = blockIdx.y * TO, b = blockIdx.z;
    int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    int wo = (warp >> 1) * 32, wl = (warp & 1) * 32;
    const __half* xb = x + (long long)b * C * L;
    float acc[2][4][4] = {};
    auto fetch = [&](int s, int c0) {
        for (int i = tid; i < 5 * TO * 2; i += 256) {  // 16-byte chunks, two per row of 16 channels
            int row = i >> 1, part = i & 1, k = row / TO, o = row % TO;
            const __half* src = wp + ((long long)(k * Op + o0 + o)) * Cp + c0 + part * 8;
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(saddr(ws + (s * 5 * TO + row) * LD + part * 8)), "l"(src));
        }
        asm volatile("cp.async.commit_group;");
        for (int i = tid; i < TC * (TL + 4); i += 256) {
            int c = i / (TL + 4), p = i % (TL + 4), l = l0 + p - 2;
            xs[(s * (TL + 4) + p) * LD + c] =
                (c0 + c < C && l >= 0 && l < L) ? xb[(long long)(c0 + c) * L + l] : __float2half(0.f);
        }
    };
    int steps = Cp / TC;
    fetch(0, 0);
    for (int it = 0; it < steps; ++it) {
        int s = it & 1;
        asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        if (it + 1 < steps) fetch(s ^ 1, (it + 1) * TC);
        #pragma unroll
        for (int k = 0; k < 5; ++k) {
            unsigned a[2][4], bf[2][4];
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                ldm4(a[i], ws + (s * 5 * TO + k * TO + wo + i * 16 + (lane & 15)) * LD + (lane >> 4) * 8);
            #pragma unroll
            for (int j = 0; j < 2; ++j)  // n rows 0-7/8-15 x k halves
                ldm4(bf[j], xs + (s * (TL + 4) + wl + j * 16 + k + (lane & 7) + ((lane >> 4) << 3)) * LD + ((lane >> 3) & 1) * 8);
            #pragma unroll
            for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) mma(acc[i][j], a[i], bf[j >> 1][(j & 1) * 2], bf[j >> 1][(j & 1) * 2 + 1]);
        }
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
            for (int e = 0; e < 4; ++e) {
                int o = o0 + wo + i * 16 + (lane >> 2) + (e >> 1) * 8;
                int l = l0 + wl + j * 8 + (lane & 3) * 2 + (e & 1);
                if (o < O && l < L) out[((long long)b * O + o) * L + l] = __float2half(acc[i][j][e]);
            }
}
""")


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    Cp, Op = (C + 15) // 16 * 16, (O + 127) // 128 * 128
    wp = torch.empty((5, Op, Cp), device=x.device, dtype=x.dtype)
    program.pack(((wp.numel() + 255) // 256,), (256,), (weights, wp, C, O, Cp, Op))
    shared = 2 * (2 * 5 * 128 * 24 + 2 * 68 * 24)
    program.conv1d_mma(((L + 63) // 64, Op // 128, B), (256,), (x, wp, out, C, O, L, Cp, Op), shared)
    return out
