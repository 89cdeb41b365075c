import torch

from foretell.cuda import compile

program = compile(r"""
// float4 copy, then Hopper's vector reductions: red.global.add.v4.f32 does four float adds in one L2 transaction.
extern "C" __global__ void __launch_bounds__(256) copy4(const float4* __restrict__ base, float4* __restrict__ out, long long n4) {
    long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += stride) out[i] = __ldcs(base + i);
}

extern "C" __global__ void __launch_bounds__(256) scatter4(const float4* __restrict__ x, const long long* __restrict__ index,
                                                           float* __restrict__ out, int total4, int d4) {
    int stride = gridDim.x * blockDim.x;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < total4; p += stride) {
        int i = p / d4, c = p - i * d4;
        float4 v = __ldcs(x + p);
        long long row = __ldg(index + i);
        float* dst = out + (row * d4 + c) * 4;
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(dst), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    }
}
""")


def kernel(base, x, index):
    vocab, dim = base.shape
    assert dim % 4 == 0
    out = torch.empty_like(base)
    n4 = base.numel() // 4
    program.copy4((min((n4 + 255) // 256, 132 * 16),), (256,), (base, out, n4))
    total4 = x.numel() // 4
    program.scatter4((min((total4 + 255) // 256, 132 * 16),), (256,), (x, index, out, total4, dim // 4))
    return out
