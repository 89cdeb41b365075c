import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void gelu_backward(const float* grad, const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float kBeta = 0.7978845608028654f;
    const float kKappa = 0.044715f;
    float v = x[i];
    float inner = kBeta * (v + kKappa * v * v * v);
    float t = tanhf(inner);
    float left = 0.5f * (1.0f + t);
    float right = 0.5f * v * (1.0f - t * t) * kBeta * (1.0f + 3.0f * kKappa * v * v);
    out[i] = grad[i] * (left + right);
}
""")


def kernel(grad, x):
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    program.gelu_backward(((n + 255) // 256,), (256,), (grad, x, out, n))
    return out
