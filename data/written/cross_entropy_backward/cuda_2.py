import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// The row is staged in shared memory as raw bf16 during the online pass, so global memory is read once.
// 16-byte accesses when the row allows it, scalar otherwise.
union Pack { uint4 u; __nv_bfloat162 h[4]; };

__device__ __forceinline__ void online(float& m, float& s, float x) {
    if (x > m) { s = s * __expf(m - x) + 1.0f; m = x; }
    else s += __expf(x - m);
}

extern "C" __global__ void __launch_bounds__(256) ce_backward(const __nv_bfloat16* __restrict__ logits, const long long* __restrict__ targets,
                                                              const float* __restrict__ grad, __nv_bfloat16* __restrict__ out, int cols) {
    extern __shared__ __align__(16) unsigned char raw[];
    __shared__ float sm[8], ss[8];
    __nv_bfloat16* tile = reinterpret_cast<__nv_bfloat16*>(raw);
    const size_t base = (size_t)blockIdx.x * cols;
    const int tid = threadIdx.x;
    const bool vec = (cols % 8) == 0;
    const int n8 = cols / 8;

    float m = -1e30f, s = 0.0f;
    if (vec) {
        const uint4* src = reinterpret_cast<const uint4*>(logits + base);
        uint4* keep = reinterpret_cast<uint4*>(tile);
        for (int i = tid; i < n8; i += 256) {
            Pack p; p.u = src[i];
            keep[i] = p.u;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                float2 f = __bfloat1622float2(p.h[k]);
                online(m, s, f.x); online(m, s, f.y);
            }
        }
    } else {
        for (int i = tid; i < cols; i += 256) { __nv_bfloat16 v = logits[base + i]; tile[i] = v; online(m, s, __bfloat162float(v)); }
    }
    for (int o = 16; o; o >>= 1) {
        float m2 = __shfl_xor_sync(~0u, m, o), s2 = __shfl_xor_sync(~0u, s, o), mm = fmaxf(m, m2);
        s = s * __expf(m - mm) + s2 * __expf(m2 - mm); m = mm;
    }
    if ((tid & 31) == 0) { sm[tid >> 5] = m; ss[tid >> 5] = s; }
    __syncthreads();
    float M = sm[0], S = 0.0f;
    #pragma unroll
    for (int w = 1; w < 8; ++w) M = fmaxf(M, sm[w]);
    #pragma unroll
    for (int w = 0; w < 8; ++w) S += ss[w] * __expf(sm[w] - M);

    const float g = grad[blockIdx.x], scale = g / S;
    const int t = (int)targets[blockIdx.x];
    if (vec) {
        uint4* dst = reinterpret_cast<uint4*>(out + base);
        const uint4* keep = reinterpret_cast<const uint4*>(tile);
        for (int i = tid; i < n8; i += 256) {
            Pack p; p.u = keep[i];
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                float2 f = __bfloat1622float2(p.h[k]);
                int c = i * 8 + k * 2;
                float a = __expf(f.x - M) * scale - (c == t ? g : 0.0f);
                float b = __expf(f.y - M) * scale - (c + 1 == t ? g : 0.0f);
                p.h[k] = __floats2bfloat162_rn(a, b);
            }
            dst[i] = p.u;
        }
    } else {
        for (int i = tid; i < cols; i += 256)
            out[base + i] = __float2bfloat16(__expf(__bfloat162float(tile[i]) - M) * scale - (i == t ? g : 0.0f));
    }
}
""")


def kernel(logits, targets, grad):
    rows, cols = logits.shape
    out = torch.empty_like(logits)
    shared = (cols * 2 + 15) // 16 * 16
    program.ce_backward((rows,), (256,), (logits, targets, grad, out, cols), shared)
    return out
