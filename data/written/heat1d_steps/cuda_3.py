import torch

from foretell.cuda import compile

program = compile(r"""
// Registers + shuffles: a lane holds 4 consecutive points (float4); lanes 0 and 31 are the halo (4 points = exactly the
// four steps), so a warp turns 128 loaded points into 120 outputs without shared memory. Each step exchanges one value
// with either neighbour lane.
extern "C" __global__ void __launch_bounds__(256) heat_warp(const float* __restrict__ x, float* __restrict__ out,
                                 int rows, int length, int segs, int vec) {
    int lane = threadIdx.x & 31;
    long long w = (long long)blockIdx.x * 8 + (threadIdx.x >> 5);
    if (w >= (long long)rows * segs) return;
    long long row = w / segs;
    int i = (int)(w % segs) * 120 - 4 + lane * 4;
    const float* p = x + row * length + i;
    float v[4];
    bool ok[4];
    #pragma unroll
    for (int k = 0; k < 4; ++k) ok[k] = i + k >= 0 && i + k < length;
    if (vec && ok[0] && ok[3]) {
        float4 q = *reinterpret_cast<const float4*>(p);
        v[0] = q.x; v[1] = q.y; v[2] = q.z; v[3] = q.w;
    } else {
        #pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = ok[k] ? p[k] : 0.f;
    }
    #pragma unroll
    for (int s = 0; s < 4; ++s) {
        float l = __shfl_up_sync(0xffffffffu, v[3], 1);
        float r = __shfl_down_sync(0xffffffffu, v[0], 1);
        float a = v[0] + 0.2f * (l - 2.f * v[0] + v[1]);
        float b = v[1] + 0.2f * (v[0] - 2.f * v[1] + v[2]);
        float c = v[2] + 0.2f * (v[1] - 2.f * v[2] + v[3]);
        float d = v[3] + 0.2f * (v[2] - 2.f * v[3] + r);
        v[0] = ok[0] ? a : 0.f;
        v[1] = ok[1] ? b : 0.f;
        v[2] = ok[2] ? c : 0.f;
        v[3] = ok[3] ? d : 0.f;
    }
    if (lane == 0 || lane == 31) return;
    float* o = out + row * length + i;
    if (vec && ok[3]) *reinterpret_cast<float4*>(o) = make_float4(v[0], v[1], v[2], v[3]);
    else
        for (int k = 0; k < 4; ++k) if (ok[k]) o[k] = v[k];
}
""")


def kernel(x):
    rows, length = x.shape
    out = torch.empty_like(x)
    segs = (length + 119) // 120
    warps = rows * segs
    program.heat_warp(((warps + 7) // 8,), (256,), (x, out, rows, length, segs, int(length % 4 == 0)))
    return out
