import torch
from foretell.cuda import compile

# Baseline: a block per (head, query), scores kept in shared memory, classic three-phase softmax.
program = compile(r"""
#include <cuda_fp16.h>

__device__ float block_reduce(float v, bool is_max, float* buf) {
    for (int o = 16; o > 0; o >>= 1) {
        float w = __shfl_xor_sync(0xffffffff, v, o);
        v = is_max ? fmaxf(v, w) : v + w;
    }
    __syncthreads();
    if ((threadIdx.x & 31) == 0) buf[threadIdx.x >> 5] = v;
    __syncthreads();
    v = buf[0];
    for (int i = 1; i < blockDim.x / 32; i++) v = is_max ? fmaxf(v, buf[i]) : v + buf[i];
    return v;
}

extern "C" __global__ void gqa_naive(const __half* q, const __half* k, const __half* v, __half* out,
                                     int length, int dim, float scale) {
    extern __shared__ float scores[];      // length floats, then dim floats for q
    __shared__ float buf[32];
    float* qs = scores + length;
    int head = blockIdx.y, row = blockIdx.x;
    const __half* qrow = q + ((size_t)head * length + row) * dim;
    const __half* kb = k + (size_t)(head / 4) * length * dim;
    const __half* vb = v + (size_t)(head / 4) * length * dim;

    for (int d = threadIdx.x; d < dim; d += blockDim.x) qs[d] = __half2float(qrow[d]) * scale;
    __syncthreads();

    float top = -INFINITY;
    for (int j = threadIdx.x; j < length; j += blockDim.x) {
        const uint4* kr = reinterpret_cast<const uint4*>(kb + (size_t)j * dim);
        float s = 0.f;
        for (int c = 0; c < dim / 8; c++) {
            uint4 pack = kr[c];
            const __half2* h = reinterpret_cast<const __half2*>(&pack);
            for (int e = 0; e < 4; e++) {
                float2 f = __half22float2(h[e]);
                s += qs[c * 8 + 2 * e] * f.x + qs[c * 8 + 2 * e + 1] * f.y;
            }
        }
        scores[j] = s;
        top = fmaxf(top, s);
    }
    top = block_reduce(top, true, buf);
    float sum = 0.f;
    for (int j = threadIdx.x; j < length; j += blockDim.x) {
        float p = __expf(scores[j] - top);
        scores[j] = p;
        sum += p;
    }
    sum = block_reduce(sum, false, buf);   // also orders the writes to scores

    // one thread per output channel (dim <= blockDim)
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        float acc = 0.f;
        for (int j = 0; j < length; j++) acc += scores[j] * __half2float(vb[(size_t)j * dim + d]);
        out[((size_t)head * length + row) * dim + d] = __float2half(acc / sum);
    }
}
""")


def kernel(q, k, v):
    heads, length, dim = q.shape
    out = torch.empty_like(q)
    program.gqa_naive((length, heads), (128,), (q, k, v, out, length, dim, dim**-0.5), (length + dim) * 4)
    return out
