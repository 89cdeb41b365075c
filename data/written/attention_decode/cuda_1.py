import torch
from foretell.cuda import compile

# One block per head; warps stride over keys, each warp handles one key at a time; merge of the 8 warps at the end.
program = compile(r"""
#include <cuda_fp16.h>
#define WARPS 8

extern "C" __global__ void decode_block(const __half* q, const __half* k, const __half* v, __half* out,
                                        int length, int dim, float scale) {
    __shared__ float part[WARPS][128];
    __shared__ float sm[WARPS], sl[WARPS];
    int head = blockIdx.x;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int per = dim / 32;                       // 2 or 4
    const __half* kh = k + (size_t)head * length * dim;
    const __half* vh = v + (size_t)head * length * dim;

    float qr[4], acc[4];
    for (int i = 0; i < per; i++) {
        qr[i] = __half2float(q[head * dim + i * 32 + lane]) * scale;
        acc[i] = 0.f;
    }
    float m = -1e30f, l = 0.f;
    for (int j = warp; j < length; j += WARPS) {
        float s = 0.f;
        for (int i = 0; i < per; i++) s += qr[i] * __half2float(kh[(size_t)j * dim + i * 32 + lane]);
        for (int o = 16; o; o /= 2) s += __shfl_xor_sync(0xffffffff, s, o);
        float mn = fmaxf(m, s);
        float a = __expf(m - mn), p = __expf(s - mn);
        l = l * a + p;
        for (int i = 0; i < per; i++) acc[i] = acc[i] * a + p * __half2float(vh[(size_t)j * dim + i * 32 + lane]);
        m = mn;
    }
    for (int i = 0; i < per; i++) part[warp][i * 32 + lane] = acc[i];
    if (lane == 0) { sm[warp] = m; sl[warp] = l; }
    __syncthreads();
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float top = sm[0];
        for (int w = 1; w < WARPS; w++) top = fmaxf(top, sm[w]);
        float num = 0.f, den = 0.f;
        for (int w = 0; w < WARPS; w++) {
            float e = __expf(sm[w] - top);
            num += e * part[w][d];
            den += e * sl[w];
        }
        out[head * dim + d] = __float2half(num / den);
    }
}
""")


def kernel(q, k, v):
    heads, length, dim = k.shape
    out = torch.empty_like(q)
    program.decode_block((heads,), (256,), (q, k, v, out, length, dim, dim**-0.5))
    return out
