import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_bf16.h>
// Treat a chunk of an image as one flat contiguous stream: block of T threads where T*8 is a multiple of C is not general, so
// thread t handles octet (t % (C/8)) and pixel lane t / (C/8); whole rows of C channels are read per step, fully
// contiguous across the block. Split over pixels with float atomics on the workspace, second kernel scales and rounds.
extern "C" __global__ void gap_split(const __nv_bfloat16* __restrict__ x, float* __restrict__ acc, int P, int C, int chunk) {
    extern __shared__ float red[];   // [C]
    int octs = C / 8;
    int lanes = blockDim.x / octs;
    int oct = threadIdx.x % octs, pl = threadIdx.x / octs;
    long long b = blockIdx.y;
    int p0 = blockIdx.x * chunk, p1 = min(P, p0 + chunk);
    for (int i = threadIdx.x; i < C; i += blockDim.x) red[i] = 0.f;
    __syncthreads();
    float s[8] = {};
    if (pl < lanes) {
        const uint4* base = reinterpret_cast<const uint4*>(x + b * P * C) + oct;
        #pragma unroll 4
        for (int p = p0 + pl; p < p1; p += lanes) {
            uint4 raw = __ldcs(base + (long long)p * octs);
            const __nv_bfloat162* h = reinterpret_cast<const __nv_bfloat162*>(&raw);
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
                float2 f = __bfloat1622float2(h[i]);
                s[2 * i] += f.x;
                s[2 * i + 1] += f.y;
            }
        }
        #pragma unroll
        for (int i = 0; i < 8; ++i) atomicAdd(&red[oct * 8 + i], s[i]);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < C; i += blockDim.x) atomicAdd(acc + b * C + i, red[i]);
}
extern "C" __global__ void finish(const float* __restrict__ acc, __nv_bfloat16* __restrict__ out, int n, float inv) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __float2bfloat16(acc[i] * inv);
}
""")


def kernel(x):
    B, H, W, C = x.shape
    P = H * W
    out = torch.empty((B, C), device=x.device, dtype=x.dtype)
    acc = torch.zeros((B, C), device=x.device, dtype=torch.float32)
    splits = max(1, min((P + 31) // 32, (132 * 6 + B - 1) // B))
    chunk = (P + splits - 1) // splits
    program.gap_split((splits, B), (384,), (x, acc, P, C, chunk), C * 4)
    program.finish(((B * C + 255) // 256,), (256,), (acc, out, B * C, 1.0 / P))
    return out
