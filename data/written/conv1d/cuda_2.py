import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Shared-memory tile: 32 output channels x 128 positions per block, 16 input channels per stage.
// Every thread owns 4 output channels x 4 positions (256 threads: 8 channel groups x 32 lanes).
#define TO 32
#define TL 128
#define TC 16
extern "C" __global__ void __launch_bounds__(256) conv1d_tiled(const __half* __restrict__ x, const __half* __restrict__ w,
                                        __half* __restrict__ out, int C, int O, int L) {
    __shared__ float xs[TC][TL + 8];
    __shared__ float ws[TC * 5][TO];
    int l0 = blockIdx.x * TL, o0 = blockIdx.y * TO, b = blockIdx.z;
    int tid = threadIdx.x, lane = tid & 31, grp = tid >> 5;
    const __half* xb = x + (long long)b * C * L;
    float acc[4][4];
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) acc[i][j] = 0.f;

    for (int c0 = 0; c0 < C; c0 += TC) {
        for (int i = tid; i < TC * (TL + 4); i += 256) {
            int c = i / (TL + 4), p = i % (TL + 4);
            int l = l0 + p - 2;
            xs[c][p] = (c0 + c < C && l >= 0 && l < L) ? __half2float(xb[(long long)(c0 + c) * L + l]) : 0.f;
        }
        for (int i = tid; i < TO * TC * 5; i += 256) {
            int o = i / (TC * 5), ck = i % (TC * 5);
            int c = c0 + ck / 5;
            ws[ck][o] = (o0 + o < O && c < C) ? __half2float(w[((long long)(o0 + o) * C + c0) * 5 + ck]) : 0.f;
        }
        __syncthreads();
        #pragma unroll 4
        for (int c = 0; c < TC; ++c) {
            float xr[8];
            float4 a = *reinterpret_cast<float4*>(&xs[c][lane * 4]);
            float4 d = *reinterpret_cast<float4*>(&xs[c][lane * 4 + 4]);
            xr[0] = a.x; xr[1] = a.y; xr[2] = a.z; xr[3] = a.w;
            xr[4] = d.x; xr[5] = d.y; xr[6] = d.z; xr[7] = d.w;
            #pragma unroll
            for (int k = 0; k < 5; ++k) {
                float4 wv = *reinterpret_cast<float4*>(&ws[c * 5 + k][grp * 4]);
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    acc[0][j] += wv.x * xr[j + k];
                    acc[1][j] += wv.y * xr[j + k];
                    acc[2][j] += wv.z * xr[j + k];
                    acc[3][j] += wv.w * xr[j + k];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int o = o0 + grp * 4 + i;
        if (o >= O) continue;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            int l = l0 + lane * 4 + j;
            if (l < L) out[((long long)b * O + o) * L + l] = __float2half(acc[i][j]);
        }
    }
}
""")


def kernel(x, weights):
    B, C, L = x.shape
    O = weights.shape[0]
    out = torch.empty((B, O, L), device=x.device, dtype=x.dtype)
    program.conv1d_tiled(((L + 127) // 128, (O + 31) // 32, B), (256,), (x, weights, out, C, O, L))
    return out
