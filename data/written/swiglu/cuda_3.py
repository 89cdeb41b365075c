import torch

from foretell.cuda import compile

# 2 x 16 bytes per operand and thread in flight, streaming cache hints: nothing is read twice, keep L2 clean.
program = compile(r"""
#include <cuda_bf16.h>
constexpr int THREADS = 512;
constexpr int U = 2;

__device__ __forceinline__ uint4 ld_stream(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ __forceinline__ float lo(unsigned int u) { return __uint_as_float(u << 16); }
__device__ __forceinline__ float hi(unsigned int u) { return __uint_as_float(u & 0xffff0000u); }
__device__ __forceinline__ float f(float a, float b) {
    float h = 0.5f * a, t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(h));
    return fmaf(h, t, h) * b;
}
__device__ __forceinline__ unsigned int f2(unsigned int a, unsigned int b) {
    __nv_bfloat162 r = __floats2bfloat162_rn(f(lo(a), lo(b)), f(hi(a), hi(b)));
    return *reinterpret_cast<unsigned int*>(&r);
}

extern "C" __global__ void __launch_bounds__(THREADS, 3) swiglu_stream(const uint4* __restrict__ a, const uint4* __restrict__ b,
                                                                       uint4* __restrict__ out, int n8) {
    for (int base = blockIdx.x * (THREADS * U) + threadIdx.x; base < n8; base += gridDim.x * THREADS * U) {
        uint4 va[U], vb[U];
        #pragma unroll
        for (int u = 0; u < U; ++u) {
            int i = base + u * THREADS;
            if (i < n8) { va[u] = ld_stream(a + i); vb[u] = ld_stream(b + i); }
        }
        #pragma unroll
        for (int u = 0; u < U; ++u) {
            int i = base + u * THREADS;
            if (i < n8) {
                uint4 r = make_uint4(f2(va[u].x, vb[u].x), f2(va[u].y, vb[u].y), f2(va[u].z, vb[u].z), f2(va[u].w, vb[u].w));
                __stcs(out + i, r);
            }
        }
    }
}
extern "C" __global__ void swiglu_tail(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* out, int from, int n) {
    int i = from + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(f(__bfloat162float(a[i]), __bfloat162float(b[i])));
}
""")


def kernel(a, b):
    a, b = a.contiguous(), b.contiguous()
    out = torch.empty_like(a)
    n = a.numel()
    n8 = n // 8
    if n8:
        blocks = min((n8 + 1023) // 1024, 132 * 3 * 4)
        program.swiglu_stream((blocks,), (512,), (a, b, out, n8))
    if n % 8:
        program.swiglu_tail((1,), (32,), (a, b, out, n8 * 8, n))
    return out
