import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
extern "C" __global__ void channel_affine(const half* x, const half* scale, const half* shift, half* out,
                                          int channels, int area, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int c = (i / area) % channels;
        out[i] = __float2half(__half2float(x[i]) * __half2float(scale[c]) + __half2float(shift[c]));
    }
}
""")


def kernel(x, scale, shift):
    x = x.contiguous()
    images, channels, area = x.shape
    out = torch.empty_like(x)
    n = x.numel()
    program.channel_affine(((n + 255) // 256,), (256,), (x, scale, shift, out, channels, area, n))
    return out
