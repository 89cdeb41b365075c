import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Persistent blocks with a cp.async double buffer: each block streams whole planes (28x28 = 1.5 KB, 112x96 = 21 KB) into
// shared memory as raw fp16 while computing the previous one. Planes are contiguous, so 16-byte cp.async works
// whenever H*W % 8 == 0; otherwise plain 2-byte loads. Two adjacent outputs per thread.
__device__ __forceinline__ void fetch(__half* dst, const __half* src, int n, bool vec) {
    if (vec) {
        for (int i = threadIdx.x * 8; i < n; i += blockDim.x * 8) {
            unsigned s = (unsigned)__cvta_generic_to_shared(dst + i);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s), "l"(src + i));
        }
    } else {
        for (int i = threadIdx.x; i < n; i += blockDim.x) dst[i] = src[i];
    }
    asm volatile("cp.async.commit_group;");
}
extern "C" __global__ void __launch_bounds__(256) dw_stream(const __half* __restrict__ x, const __half* __restrict__ w,
                              __half* __restrict__ out, int planes, int C, int H, int W, int stride) {
    extern __shared__ __align__(16) __half buf[];   // [2][stride]
    int n = H * W;
    bool vec = (n % 8) == 0;
    int plane = blockIdx.x, s = 0;
    if (plane < planes) fetch(buf, x + (long long)plane * n, n, vec);
    for (; plane < planes; plane += gridDim.x, s ^= 1) {
        int next = plane + gridDim.x;
        if (next < planes) fetch(buf + (s ^ 1) * stride, x + (long long)next * n, n, vec);
        else asm volatile("cp.async.commit_group;");
        float k[9];
        #pragma unroll
        for (int i = 0; i < 9; ++i) k[i] = __half2float(w[(plane % C) * 9 + i]);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        const __half* t = buf + s * stride;
        __half* dst = out + (long long)plane * n;
        int pairs = (W + 1) / 2;
        for (int i = threadIdx.x; i < pairs * H; i += blockDim.x) {
            int y = i / pairs, x0 = (i % pairs) * 2;
            float a = 0.f, b = 0.f;
            #pragma unroll
            for (int ky = 0; ky < 3; ++ky) {
                int iy = y + ky - 1;
                if (iy < 0 || iy >= H) continue;
                const __half* row = t + iy * W;
                float v0 = x0 > 0 ? __half2float(row[x0 - 1]) : 0.f;
                float v1 = __half2float(row[x0]);
                float v2 = x0 + 1 < W ? __half2float(row[x0 + 1]) : 0.f;
                float v3 = x0 + 2 < W ? __half2float(row[x0 + 2]) : 0.f;
                a += k[ky * 3] * v0 + k[ky * 3 + 1] * v1 + k[ky * 3 + 2] * v2;
                b += k[ky * 3] * v1 + k[ky * 3 + 1] * v2 + k[ky * 3 + 2] * v3;
            }
            if ((W & 1) == 0) {
                *reinterpret_cast<__half2*>(dst + y * W + x0) = __floats2half2_rn(a, b);
            } else {
                dst[y * W + x0] = __float2half(a);
                if (x0 + 1 < W) dst[y * W + x0 + 1] = __float2half(b);
            }
        }
        __syncthreads();
    }
}
""")


def kernel(x, weights):
    B, C, H, W = x.shape
    out = torch.empty_like(x)
    stride = (H * W + 7) // 8 * 8
    shared = 2 * stride * 2
    per_sm = max(1, min(8, 200 * 1024 // (shared + 1024)))
    grid = min(B * C, 132 * per_sm)
    program.dw_stream((grid,), (256,), (x, weights, out, B * C, C, H, W, stride), shared)
    return out
