import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void laplace(const float* __restrict__ x, float* __restrict__ out, int D, int H, int W) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (i >= W || j >= H) return;
    long long p = ((long long)k * H + j) * W + i;
    float r = 0.f;
    if (i > 0 && i < W - 1 && j > 0 && j < H - 1 && k > 0 && k < D - 1) {
        long long hw = (long long)H * W;
        r = x[p - hw] + x[p + hw] + x[p - W] + x[p + W] + x[p - 1] + x[p + 1] - 6.f * x[p];
    }
    out[p] = r;
}
""")


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    program.laplace(((W + 63) // 64, (H + 3) // 4, D), (64, 4), (x, out, D, H, W))
    return out
