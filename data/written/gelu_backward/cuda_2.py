import torch

from foretell.cuda import compile

program = compile(r"""
__device__ __forceinline__ float dgelu(float v) {
    const float v2 = v * v;
    const float z = v * fmaf(v2, 0.07135481282553f, 1.5957691216057308f);
    const float s = 1.0f / (1.0f + __expf(-z));
    const float d = v * fmaf(v2, 0.21406443847659f, 1.5957691216057308f);
    return fmaf(s * (1.0f - s), d, s);
}

extern "C" __global__ void __launch_bounds__(256) gelu_backward4(const float* __restrict__ grad, const float* __restrict__ x,
                                                                 float* __restrict__ out, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 < n) {
        float4 g = *reinterpret_cast<const float4*>(grad + i);
        float4 v = *reinterpret_cast<const float4*>(x + i);
        float4 r;
        r.x = g.x * dgelu(v.x);
        r.y = g.y * dgelu(v.y);
        r.z = g.z * dgelu(v.z);
        r.w = g.w * dgelu(v.w);
        *reinterpret_cast<float4*>(out + i) = r;
    } else {
        for (; i < n; ++i) out[i] = grad[i] * dgelu(x[i]);
    }
}
""")


def kernel(grad, x):
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    blocks = (n + 1023) // 1024
    program.gelu_backward4((blocks,), (256,), (grad, x, out, n))
    return out
