import torch

from foretell.cuda import compile

program = compile(r"""
// float4 everywhere (length % 4 == 0 in all shapes that matter; scalar path otherwise) and hierarchical sums:
// thread loads 4 values and their total q. Window of 32 starting at 4t is q[t] + ... + q[t+7]; outputs 4t+1..3 follow by sliding
// with values of threads t and t+8. Group totals by three shuffle doublings, tile through shared memory for the t+8 values.
// Output rows have odd length (length - 31), so stores are scalar but staged for coalescing.
#define T 256
extern "C" __global__ void __launch_bounds__(T) ma_quads(const float* __restrict__ x, float* __restrict__ out,
                                  int length, int out_len, int vec) {
    __shared__ float4 v[T + 8];
    __shared__ float q[T + 8];
    __shared__ float stage[T * 4];
    long long row = blockIdx.y;
    int base = blockIdx.x * T * 4;
    const float* src = x + row * length;
    for (int t = threadIdx.x; t < T + 8; t += T) {
        int i = base + t * 4;
        float4 a = make_float4(0.f, 0.f, 0.f, 0.f);
        if (vec && i + 3 < length) {
            a = __ldcs(reinterpret_cast<const float4*>(src + i));
        } else {
            if (i < length) a.x = src[i];
            if (i + 1 < length) a.y = src[i + 1];
            if (i + 2 < length) a.z = src[i + 2];
            if (i + 3 < length) a.w = src[i + 3];
        }
        v[t] = a;
        q[t] = (a.x + a.y) + (a.z + a.w);
    }
    __syncthreads();
    int t = threadIdx.x;
    float s = 0.f;
    #pragma unroll
    for (int k = 0; k < 8; ++k) s += q[t + k];
    float4 a = v[t], b = v[t + 8];
    float4 o;
    o.x = s;
    o.y = o.x - a.x + b.x;
    o.z = o.y - a.y + b.y;
    o.w = o.z - a.z + b.z;
    o.x *= 0.03125f; o.y *= 0.03125f; o.z *= 0.03125f; o.w *= 0.03125f;
    reinterpret_cast<float4*>(stage)[t] = o;
    __syncthreads();
    float* dst = out + row * out_len + base;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        int i = t + k * T;
        if (base + i < out_len) __stcs(dst + i, stage[i]);
    }
}
""")


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    program.ma_quads(
        ((out_len + 1023) // 1024, rows), (256,), (x, out, length, out_len, int(length % 4 == 0))
    )
    return out
