import torch

from foretell.cuda import compile

program = compile(r"""
// Each thread: 8 outputs, 16 inputs in registers (four float4 loads; 2x overlap comes out of L1), trapezoid of four steps
// fully unrolled in registers, no communication at all. Border handling: points outside the row are pinned to zero by
// a 16-bit validity mask, skipped entirely for interior threads. Two float4 streaming stores.
__device__ __forceinline__ float4 load4(const float* row, int i, int length, bool vec) {
    if (vec && i >= 0 && i + 3 < length) return __ldg(reinterpret_cast<const float4*>(row + i));
    float4 r;
    r.x = (i >= 0 && i < length) ? row[i] : 0.f;
    r.y = (i + 1 >= 0 && i + 1 < length) ? row[i + 1] : 0.f;
    r.z = (i + 2 >= 0 && i + 2 < length) ? row[i + 2] : 0.f;
    r.w = (i + 3 >= 0 && i + 3 < length) ? row[i + 3] : 0.f;
    return r;
}
extern "C" __global__ void __launch_bounds__(128) heat_regs(const float* __restrict__ x, float* __restrict__ out,
                                 int rows, int length, int per_row, int vec) {
    long long id = (long long)blockIdx.x * 128 + threadIdx.x;
    if (id >= (long long)rows * per_row) return;
    long long row = id / per_row;
    int i0 = (int)(id % per_row) * 8;
    const float* src = x + row * length;
    float v[16];
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        float4 q = load4(src, i0 - 4 + 4 * k, length, vec);
        v[4 * k] = q.x; v[4 * k + 1] = q.y; v[4 * k + 2] = q.z; v[4 * k + 3] = q.w;
    }
    bool edge = i0 < 4 || i0 + 12 > length;
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        float prev = v[s];
        #pragma unroll
        for (int k = s + 1; k < 15 - s; ++k) {
            float c = v[k];
            v[k] = c + 0.2f * (prev - 2.f * c + v[k + 1]);
            prev = c;
        }
        if (edge) {
            #pragma unroll
            for (int k = 0; k < 16; ++k)
                if (i0 - 4 + k < 0 || i0 - 4 + k >= length) v[k] = 0.f;
        }
    }
    float* o = out + row * length + i0;
    if (vec && i0 + 7 < length) {
        __stcs(reinterpret_cast<float4*>(o), make_float4(v[4], v[5], v[6], v[7]));
        __stcs(reinterpret_cast<float4*>(o) + 1, make_float4(v[8], v[9], v[10], v[11]));
    } else {
        #pragma unroll
        for (int k = 0; k < 8; ++k)
            if (i0 + k < length) o[k] = v[4 + k];
    }
}
""")


def kernel(x):
    rows, length = x.shape
    out = torch.empty_like(x)
    per_row = (length + 7) // 8
    n = rows * per_row
    program.heat_regs(((n + 127) // 128,), (128,), (x, out, rows, length, per_row, int(length % 4 == 0)))
    return out
