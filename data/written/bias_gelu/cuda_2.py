import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>

__device__ __forceinline__ float gelu(float v) {
    float u = 0.7978845608f * v * fmaf(0.044715f * v, v, 1.0f), t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(u));
    float h = 0.5f * v;
    return fmaf(h, t, h);
}

// Thread (x) owns 8 columns and keeps their bias in registers; walks down ROWS rows
template <int ROWS>
__device__ __forceinline__ void body(const uint4* x, const uint4* bias, uint4* out, int rows, int vecs) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= vecs) return;
    uint4 braw = __ldg(bias + c);
    float2 b[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) b[k] = __half22float2(reinterpret_cast<half2*>(&braw)[k]);
    int r0 = blockIdx.y * ROWS;
    #pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (r0 + r < rows) {
            size_t i = (size_t)(r0 + r) * vecs + c;
            uint4 v = x[i], o;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                float2 f = __half22float2(reinterpret_cast<half2*>(&v)[k]);
                reinterpret_cast<half2*>(&o)[k] = __floats2half2_rn(gelu(f.x + b[k].x), gelu(f.y + b[k].y));
            }
            out[i] = o;
        }
    }
}
extern "C" __global__ void __launch_bounds__(128) bias_gelu8(const uint4* __restrict__ x, const uint4* __restrict__ bias,
                                                             uint4* __restrict__ out, int rows, int vecs) {
    body<8>(x, bias, out, rows, vecs);
}
""")


def kernel(x, bias):
    x, bias = x.contiguous(), bias.contiguous()
    rows, cols = x.shape
    assert cols % 8 == 0
    out = torch.empty_like(x)
    vecs = cols // 8
    program.bias_gelu8(((vecs + 127) // 128, (rows + 7) // 8), (128,), (x, bias, out, rows, vecs))
    return out
