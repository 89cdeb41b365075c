import torch
from foretell.cuda import compile

# Warp per row, 32 columns per step; segmented shuffle scan with a flag.
program = compile(r"""
extern "C" __global__ void segsum_warp(const float* x, const unsigned char* marks, float* out, int rows, int cols) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    size_t base = (size_t)row * cols;
    float carry = 0.f;
    for (int c0 = 0; c0 < cols; c0 += 32) {
        int c = c0 + lane;
        float v = 0.f;
        int f = 0;
        if (c < cols) {
            v = x[base + c];
            f = marks[base + c] == 0;
        }
        for (int d = 1; d < 32; d *= 2) {
            float u = __shfl_up_sync(0xffffffff, v, d);
            int g = __shfl_up_sync(0xffffffff, f, d);
            if (lane >= d) {
                if (!f) v += u;
                f |= g;
            }
        }
        if (!f) v += carry;
        if (c < cols) out[base + c] = v;
        carry = __shfl_sync(0xffffffff, v, 31);
    }
}
""")


def kernel(x, marks):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.segsum_warp(((rows + 7) // 8,), (256,), (x, marks, out, rows, cols))
    return out
