import torch

from foretell.cuda import compile

program = compile(r"""
// flat index of float4 vectors: every thread stores 16 bytes, a[i] comes from the L1 (same for the whole warp mostly)
extern "C" __global__ void __launch_bounds__(256) outer_sum4(const float* __restrict__ a, const float4* __restrict__ b,
                                                             float4* __restrict__ out, int rows, int cols4) {
    unsigned int i = blockIdx.x * 256u + threadIdx.x;
    if (i >= (unsigned int)rows * cols4) return;
    unsigned int r = i / (unsigned int)cols4;
    unsigned int c = i - r * cols4;
    float s = __ldg(a + r);
    float4 v = __ldg(b + c);
    out[i] = make_float4(s + v.x, s + v.y, s + v.z, s + v.w);
}
extern "C" __global__ void outer_sum1(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
                                      int rows, int cols) {
    size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    if (i < (size_t)rows * cols) out[i] = a[i / cols] + b[i % cols];
}
""")


def kernel(a, b):
    rows, cols = a.numel(), b.numel()
    out = torch.empty((rows, cols), device=a.device, dtype=a.dtype)
    if cols % 4 == 0:
        n = rows * cols // 4
        program.outer_sum4(((n + 255) // 256,), (256,), (a, b, out, rows, cols // 4))
    else:
        n = rows * cols
        program.outer_sum1(((n + 255) // 256,), (256,), (a, b, out, rows, cols))
    return out
