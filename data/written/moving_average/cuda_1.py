import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void moving_average(const float* __restrict__ x, float* __restrict__ out, int length, int out_len) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    long long row = blockIdx.y;
    if (j >= out_len) return;
    const float* p = x + row * length + j;
    float s = 0.f;
    #pragma unroll
    for (int k = 0; k < 32; ++k) s += __ldg(p + k);
    out[row * out_len + j] = s * (1.0f / 32.0f);
}
""")


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    program.moving_average(((out_len + 255) // 256, rows), (256,), (x, out, length, out_len))
    return out
