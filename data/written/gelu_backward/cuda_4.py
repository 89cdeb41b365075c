import torch

from foretell.cuda import compile

# Idea: the derivative is a smooth function of one variable that saturates at 0 and 1 outside [-6, 6]. Tabulate it in
# shared memory (value and difference) and replace exp + division by one 8-byte shared load and one FMA.
# Linear interpolation error is h^2/8 * max|f''|: with step 1/256 about 2e-6, below the 1e-5 tolerance.
program = compile(r"""
constexpr int THREADS = 512;
constexpr int PER_UNIT = 256;
constexpr int LIMIT = 6;
constexpr int ENTRIES = 2 * LIMIT * PER_UNIT;

__device__ float dgelu(float v) {
    const float v2 = v * v;
    const float t = tanhf(0.7978845608028654f * v * (1.0f + 0.044715f * v2));
    return 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * 0.7978845608028654f * (1.0f + 0.134145f * v2);
}

extern "C" __global__ void __launch_bounds__(THREADS) gelu_backward_lut(const float4* __restrict__ grad,
                                                                        const float4* __restrict__ x,
                                                                        float4* __restrict__ out, int n4, int n) {
    __shared__ float2 table[ENTRIES];
    for (int i = threadIdx.x; i < ENTRIES; i += THREADS) {
        float left = (float)(i - LIMIT * PER_UNIT) / PER_UNIT;
        float a = dgelu(left), b = dgelu(left + 1.0f / PER_UNIT);
        table[i] = make_float2(a, b - a);
    }
    __syncthreads();
    auto look = [&](float v) {
        float p = fmaf(v, (float)PER_UNIT, (float)(LIMIT * PER_UNIT));
        p = fminf(fmaxf(p, 0.0f), ENTRIES - 0.001f);
        int k = min((int)p, ENTRIES - 1);
        float2 e = table[k];
        return fmaf(p - (float)k, e.y, e.x);
    };
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n4; i += gridDim.x * THREADS) {
        float4 g = __ldg(grad + i);
        float4 v = __ldg(x + i);
        out[i] = make_float4(g.x * look(v.x), g.y * look(v.y), g.z * look(v.z), g.w * look(v.w));
    }
    int j = n4 * 4 + threadIdx.x;
    if (blockIdx.x == 0 && j < n) {
        const float* gs = reinterpret_cast<const float*>(grad);
        const float* xs = reinterpret_cast<const float*>(x);
        reinterpret_cast<float*>(out)[j] = gs[j] * look(xs[j]);
    }
}
""")


def kernel(grad, x):
    grad, x = grad.contiguous(), x.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    n4 = n // 4
    blocks = max(1, min((n4 + 511) // 512, 132 * 4))
    program.gelu_backward_lut((blocks,), (512,), (grad, x, out, n4, n))
    return out
