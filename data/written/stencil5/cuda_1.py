import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void stencil5(const float* __restrict__ x, float* __restrict__ out, int H, int W) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= H || c >= W) return;
    long long i = (long long)r * W + c;
    float v = x[i];
    if (r > 0 && r < H - 1 && c > 0 && c < W - 1)
        v = 0.6f * v + 0.1f * (x[i - W] + x[i + W] + x[i - 1] + x[i + 1]);
    out[i] = v;
}
""")


def kernel(x):
    H, W = x.shape
    out = torch.empty_like(x)
    program.stencil5(((W + 31) // 32, (H + 7) // 8), (32, 8), (x, out, H, W))
    return out
