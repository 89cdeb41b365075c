import torch

from foretell.cuda import compile

program = compile(r"""
// Block per (batch, 64-row strip).  Each warp keeps its slice of x in registers (K <= 1024 -> at most 8 float4 per lane) and runs over
// its 8 rows two at a time; no shared memory.
template <int NV>
__device__ __forceinline__ void strip(const float* __restrict__ a, const float* __restrict__ x, float* __restrict__ y, int M, int K) {
    const int b = blockIdx.y, lane = threadIdx.x & 31, warp = threadIdx.x >> 5, vecs = K / 4;
    const float4* xr = (const float4*)(x + (size_t)b * K);
    const float4 z = make_float4(0.f, 0.f, 0.f, 0.f);
    float4 xv[NV];
    #pragma unroll
    for (int i = 0; i < NV; ++i) xv[i] = lane + i * 32 < vecs ? xr[lane + i * 32] : z;
    const int first = blockIdx.x * 64 + warp * 8, last = min(first + 8, M);
    for (int m = first; m < last; m += 2) {
        const bool two = m + 1 < last;
        const float4* r0 = (const float4*)(a + ((size_t)b * M + m) * K);
        const float4* r1 = two ? r0 + vecs : r0;
        float s0 = 0.f, s1 = 0.f;
        #pragma unroll
        for (int i = 0; i < NV; ++i) {
            if (lane + i * 32 < vecs) {
                float4 u = __ldcs(r0 + lane + i * 32), v = __ldcs(r1 + lane + i * 32);
                s0 = fmaf(u.x, xv[i].x, fmaf(u.y, xv[i].y, fmaf(u.z, xv[i].z, fmaf(u.w, xv[i].w, s0))));
                s1 = fmaf(v.x, xv[i].x, fmaf(v.y, xv[i].y, fmaf(v.z, xv[i].z, fmaf(v.w, xv[i].w, s1))));
            }
        }
        #pragma unroll
        for (int d = 16; d; d >>= 1) {
            s0 += __shfl_xor_sync(0xffffffffu, s0, d);
            s1 += __shfl_xor_sync(0xffffffffu, s1, d);
        }
        if (lane == 0) {
            y[(size_t)b * M + m] = s0;
            if (two) y[(size_t)b * M + m + 1] = s1;
        }
    }
}
extern "C" __global__ void __launch_bounds__(256) bmv1(const float* a, const float* x, float* y, int M, int K) { strip<1>(a, x, y, M, K); }
extern "C" __global__ void __launch_bounds__(256) bmv4(const float* a, const float* x, float* y, int M, int K) { strip<4>(a, x, y, M, K); }
extern "C" __global__ void __launch_bounds__(256) bmv8(const float* a, const float* x, float* y, int M, int K) { strip<8>(a, x, y, M, K); }
""")


def kernel(a, x):
    B, M, K = a.shape
    y = torch.empty((B, M), device=a.device, dtype=torch.float32)
    launch = program.bmv1 if K <= 128 else program.bmv4 if K <= 512 else program.bmv8
    launch(((M + 63) // 64, B), (256,), (a, x, y, M, K))
    return y
