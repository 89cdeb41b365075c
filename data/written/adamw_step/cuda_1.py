import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void adamw(const float* p, const float* g, const float* m, const float* v,
                                 float* p_out, float* m_out, float* v_out, int n, float bias1, float bias2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gi = g[i];
    float mi = 0.9f * m[i] + 0.1f * gi;
    float vi = 0.999f * v[i] + 0.001f * gi * gi;
    float step = (mi / bias1) / (sqrtf(vi / bias2) + 1e-8f);
    p_out[i] = p[i] * (1.0f - 0.1f * 0.1f) - 0.1f * step;
    m_out[i] = mi;
    v_out[i] = vi;
}
""")


def kernel(p, g, m, v):
    n = p.numel()
    p_out, m_out, v_out = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    program.adamw(((n + 255) // 256,), (256,), (p, g, m, v, p_out, m_out, v_out, n, 1 - 0.9**10, 1 - 0.999**10))
    return p_out, m_out, v_out
