import torch

from foretell.cuda import compile

# Warp per row, single pass. Groups of 4 float4 (16 values) are loaded up front for memory level parallelism; the running
# max is updated once per group, so there is one rescale per 16 exps.
program = compile(r"""
#define LOG2E 1.4426950408889634f
#define LN2 0.6931471805599453f

__device__ __forceinline__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }
__device__ __forceinline__ float ex2(float v) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }

extern "C" __global__ void __launch_bounds__(256) lse_onepass(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int row = blockIdx.x * 8 + (threadIdx.x >> 5);
    const int lane = threadIdx.x & 31;
    if (row >= rows) return;
    const float* p = x + (size_t)row * cols;
    float m = -1e30f, s = 0.f;
    if ((cols & 3) == 0) {
        const float4* p4 = (const float4*)p;
        const int n4 = cols >> 2;
        for (int i = lane; i < n4; i += 128) {
            float4 v[4];
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                v[k] = i + 32 * k < n4 ? __ldcs(p4 + i + 32 * k) : make_float4(-1e30f, -1e30f, -1e30f, -1e30f);
            float g = fmaxf(fmaxf(max4(v[0]), max4(v[1])), fmaxf(max4(v[2]), max4(v[3])));
            float mn = fmaxf(m, g);
            s *= ex2((m - mn) * LOG2E);
            m = mn;
            const float ml = m * LOG2E;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                s += ex2(fmaf(v[k].x, LOG2E, -ml)) + ex2(fmaf(v[k].y, LOG2E, -ml));
                s += ex2(fmaf(v[k].z, LOG2E, -ml)) + ex2(fmaf(v[k].w, LOG2E, -ml));
            }
        }
    } else {
        for (int i = lane; i < cols; i += 32) {
            float v = p[i], mn = fmaxf(m, v);
            s = s * ex2((m - mn) * LOG2E) + ex2((v - mn) * LOG2E);
            m = mn;
        }
    }
    #pragma unroll
    for (int d = 16; d; d >>= 1) {
        float m2 = __shfl_xor_sync(~0u, m, d), s2 = __shfl_xor_sync(~0u, s, d);
        float mn = fmaxf(m, m2);
        s = s * ex2((m - mn) * LOG2E) + s2 * ex2((m2 - mn) * LOG2E);
        m = mn;
    }
    if (lane == 0) out[row] = m + log2f(s) * LN2;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    program.lse_onepass(((rows + 7) // 8,), (256,), (x, out, rows, cols))
    return out
