import torch

from foretell.cuda import compile

# A warp per row, float4 per lane (128 columns per step): serial EMA over 4 values, then a 5-step shuffle scan with
# known decays (0.9^4, 0.9^8, ...), so only b has to be shuffled.  The next vector is prefetched before the scan.
program = compile(r"""
constexpr int WARPS = 4;
__device__ __forceinline__ float4 get(const float* src, int c, int cols) {
    return c < cols ? __ldcs(reinterpret_cast<const float4*>(src + c)) : make_float4(0.f, 0.f, 0.f, 0.f);   // cols % 4 == 0
}
extern "C" __global__ void __launch_bounds__(WARPS * 32) ema_warp(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int lane = threadIdx.x & 31;
    const int row = blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (row >= rows) return;
    const float* src = x + (size_t)row * cols;
    float* dst = out + (size_t)row * cols;
    const float lane_decay = exp2f(-0.15200309344504997f * 4.0f * lane);     // 0.9^(4*lane)
    float carry = 0.0f;
    float4 v = get(src, lane * 4, cols);
    for (int base = 0; base < cols; base += 128) {
        const int c = base + lane * 4;
        float4 next = get(src, c + 128, cols);
        // local inclusive EMA from zero
        float y0 = 0.1f * v.x;
        float y1 = 0.9f * y0 + 0.1f * v.y;
        float y2 = 0.9f * y1 + 0.1f * v.z;
        float y3 = 0.9f * y2 + 0.1f * v.w;
        float s = y3, w = 0.6561f;                                             // 0.9^4
        #pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            float o = __shfl_up_sync(0xffffffffu, s, d);
            if (lane >= d) s += w * o;
            w *= w;
        }
        // state entering this lane: scan result of the previous lane plus the decayed carry
        float in = __shfl_up_sync(0xffffffffu, s, 1);
        if (lane == 0) in = 0.0f;
        in += carry * lane_decay;
        if (c < cols) {
            float4 o = make_float4(y0 + 0.9f * in, y1 + 0.81f * in, y2 + 0.729f * in, y3 + 0.6561f * in);
            __stcs(reinterpret_cast<float4*>(dst + c), o);
        }
        float end = y3 + 0.6561f * in;
        carry = __shfl_sync(0xffffffffu, end, 31);
        v = next;
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.ema_warp(((rows + 3) // 4,), (128,), (x, out, rows, cols))
    return out
