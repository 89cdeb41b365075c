import torch

from foretell.cuda import compile

program = compile(r"""
#include <cuda_fp16.h>
// Winograd F(2x2, 3x3), fused, in fp32 (fp16 transforms would lose too many bits for the tolerance).
// Weights are transformed once to U[16][C][O]. Block: 32 output channels x 32 tiles (2x2 outputs each), 256 threads.
// Each thread owns 4 outputs x 1 tile x all 16 frequencies... = 64 accumulators; then the inverse transform is local.
#define TC 8
extern "C" __global__ void transform_w(const __half* w, float* U, int C, int O) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= C * O) return;
    int o = i % O, c = i / O;
    float g[3][3], t[4][3];
    for (int r = 0; r < 3; ++r) for (int q = 0; q < 3; ++q) g[r][q] = __half2float(w[((long long)o * C + c) * 9 + r * 3 + q]);
    for (int q = 0; q < 3; ++q) {
        t[0][q] = g[0][q];
        t[1][q] = 0.5f * (g[0][q] + g[1][q] + g[2][q]);
        t[2][q] = 0.5f * (g[0][q] - g[1][q] + g[2][q]);
        t[3][q] = g[2][q];
    }
    for (int r = 0; r < 4; ++r) {
        float u[4] = {t[r][0], 0.5f * (t[r][0] + t[r][1] + t[r][2]), 0.5f * (t[r][0] - t[r][1] + t[r][2]), t[r][2]};
        for (int q = 0; q < 4; ++q) U[((long long)(r * 4 + q) * C + c) * O + o] = u[q];
    }
}
extern "C" __global__ void __launch_bounds__(256) winograd(const __half* __restrict__ x, const float* __restrict__ U,
                        __half* __restrict__ out, int N, int C, int O, int H, int W, int th, int tw) {
    __shared__ float V[16][TC][32];
    __shared__ float Us[16][TC][32];
    int tid = threadIdx.x, tile_l = tid & 31, og = tid >> 5;
    int o0 = blockIdx.y * 32;
    int total = N * th * tw;
    int tile = blockIdx.x * 32 + tile_l;
    bool live = tile < total;
    int n = tile / (th * tw), rem = tile % (th * tw);
    int y0 = (rem / tw) * 2, x0 = (rem % tw) * 2;
    float acc[16][4];
    #pragma unroll
    for (int f = 0; f < 16; ++f) { acc[f][0] = acc[f][1] = acc[f][2] = acc[f][3] = 0.f; }
    for (int c0 = 0; c0 < C; c0 += TC) {
        // one input transform per thread: channel = og, tile = lane
        float d[4][4], t[4][4];
        int c = c0 + og;
        #pragma unroll
        for (int r = 0; r < 4; ++r)
            #pragma unroll
            for (int q = 0; q < 4; ++q) {
                int iy = y0 + r - 1, ix = x0 + q - 1;
                d[r][q] = (live && c < C && iy >= 0 && iy < H && ix >= 0 && ix < W)
                    ? __half2float(x[(((long long)n * C + c) * H + iy) * W + ix]) : 0.f;
            }
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
            t[0][q] = d[0][q] - d[2][q]; t[1][q] = d[1][q] + d[2][q];
            t[2][q] = d[2][q] - d[1][q]; t[3][q] = d[1][q] - d[3][q];
        }
        #pragma unroll
        for (int r = 0; r < 4; ++r) {
            V[r * 4 + 0][og][tile_l] = t[r][0] - t[r][2];
            V[r * 4 + 1][og][tile_l] = t[r][1] + t[r][2];
            V[r * 4 + 2][og][tile_l] = t[r][2] - t[r][1];
            V[r * 4 + 3][og][tile_l] = t[r][1] - t[r][3];
        }
        for (int i = tid; i < 16 * TC * 32; i += 256) {
            int f = i / (TC * 32), cc = (i / 32) % TC, o = i % 32;
            Us[f][cc][o] = (c0 + cc < C && o0 + o < O) ? U[((long long)f * C + c0 + cc) * O + o0 + o] : 0.f;
        }
        __syncthreads();
        for (int cc = 0; cc < TC; ++cc)
            #pragma unroll
            for (int f = 0; f < 16; ++f) {
                float v = V[f][cc][tile_l];
                float4 u = *reinterpret_cast<float4*>(&Us[f][cc][og * 4]);
                acc[f][0] += u.x * v; acc[f][1] += u.y * v; acc[f][2] += u.z * v; acc[f][3] += u.w * v;
            }
        __syncthreads();
    }
    if (!live) return;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        int o = o0 + og * 4 + i;
        float s[2][4];
        #pragma unroll
        for (int q = 0; q < 4; ++q) {
            s[0][q] = acc[q][i] + acc[4 + q][i] + acc[8 + q][i];
            s[1][q] = acc[4 + q][i] - acc[8 + q][i] - acc[12 + q][i];
        }
        #pragma unroll
        for (int r = 0; r < 2; ++r) {
            if (o >= O || y0 + r >= H) continue;
            __half* dst = out + (((long long)n * O + o) * H + y0 + r) * W + x0;
            dst[0] = __float2half(s[r][0] + s[r][1] + s[r][2]);
            if (x0 + 1 < W) dst[1] = __float2half(s[r][1] - s[r][2] - s[r][3]);
        }
    }
}
""")


def kernel(x, weights):
    N, C, H, W = x.shape
    O = weights.shape[0]
    out = torch.empty((N, O, H, W), device=x.device, dtype=x.dtype)
    U = torch.empty((16, C, O), device=x.device, dtype=torch.float32)
    program.transform_w(((C * O + 255) // 256,), (256,), (weights, U, C, O))
    th, tw = (H + 1) // 2, (W + 1) // 2
    program.winograd(((N * th * tw + 31) // 32, (O + 31) // 32), (256,), (x, U, out, N, C, O, H, W, th, tw))
    return out
