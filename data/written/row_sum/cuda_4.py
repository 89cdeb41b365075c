import torch

from foretell.cuda import compile

# Sub-warp groups: 8 lanes per row and 4 rows per warp, so the shuffle tree is 3 steps instead of 5 and shared by 4 rows.
# 8 lanes x 16 B = 128 B: still one full cache line per row and request.
program = compile(r"""
extern "C" __global__ void __launch_bounds__(128) row_sum_oct(const float* __restrict__ x, float* __restrict__ out, int rows, int cols) {
    const int group = threadIdx.x >> 3;       // 16 groups per block
    const int lane = threadIdx.x & 7;
    const int row = blockIdx.x * 16 + group;
    float s = 0.f;
    if (row < rows) {
        const float* p = x + (size_t)row * cols;
        if ((cols & 3) == 0) {
            const float4* q = (const float4*)p;
            const int n = cols >> 2;
            float4 acc0 = make_float4(0, 0, 0, 0), acc1 = acc0;
            int i = lane;
            #pragma unroll 4
            for (; i + 8 < n; i += 16) {
                float4 u = __ldg(q + i), v = __ldg(q + i + 8);
                acc0.x += u.x; acc0.y += u.y; acc0.z += u.z; acc0.w += u.w;
                acc1.x += v.x; acc1.y += v.y; acc1.z += v.z; acc1.w += v.w;
            }
            if (i < n) { float4 u = __ldg(q + i); acc0.x += u.x; acc0.y += u.y; acc0.z += u.z; acc0.w += u.w; }
            s = (acc0.x + acc1.x) + (acc0.y + acc1.y) + (acc0.z + acc1.z) + (acc0.w + acc1.w);
        } else {
            for (int i = lane; i < cols; i += 8) s += __ldg(p + i);
        }
    }
    s += __shfl_xor_sync(0xffffffffu, s, 4);
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    s += __shfl_xor_sync(0xffffffffu, s, 1);
    if (row < rows && lane == 0) out[row] = s;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    program.row_sum_oct(((rows + 15) // 16,), (128,), (x, out, rows, cols))
    return out
