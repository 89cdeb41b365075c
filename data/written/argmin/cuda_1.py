import torch

from foretell.cuda import compile

# Block per row, (value, index) pairs in shared memory.
program = compile(r"""
extern "C" __global__ void argmin_rows(const float* x, long long* out, int cols) {
    __shared__ float val[256];
    __shared__ int idx[256];
    int t = threadIdx.x;
    const float* p = x + (long long)blockIdx.x * cols;
    float best = 3.4e38f;
    int at = 0x7fffffff;
    for (int i = t; i < cols; i += 256) {
        float v = p[i];
        if (v < best) { best = v; at = i; }
    }
    val[t] = best;
    idx[t] = at;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (t < s) {
            if (val[t + s] < val[t] || (val[t + s] == val[t] && idx[t + s] < idx[t])) {
                val[t] = val[t + s];
                idx[t] = idx[t + s];
            }
        }
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = idx[0];
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.int64, device=x.device)
    program.argmin_rows((rows,), (256,), (x, out, cols))
    return out
