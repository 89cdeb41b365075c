import torch

from foretell.cuda import compile

program = compile(r"""
// Plain version: one launch per step.
extern "C" __global__ void heat_step(const float* __restrict__ x, float* __restrict__ out, int length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    const float* p = x + (long long)blockIdx.y * length;
    float c = p[i];
    float l = i > 0 ? p[i - 1] : 0.f;
    float r = i + 1 < length ? p[i + 1] : 0.f;
    out[(long long)blockIdx.y * length + i] = c + 0.2f * (l - 2.f * c + r);
}
""")


def kernel(x):
    rows, length = x.shape
    a, b = torch.empty_like(x), torch.empty_like(x)
    grid = ((length + 255) // 256, rows)
    program.heat_step(grid, (256,), (x, a, length))
    program.heat_step(grid, (256,), (a, b, length))
    program.heat_step(grid, (256,), (b, a, length))
    program.heat_step(grid, (256,), (a, b, length))
    return b
