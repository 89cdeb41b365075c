import torch
from foretell.cuda import compile

# Block per row: copy the row to shared memory, then 8 rounds of (max, argmax) reduction; the winner is overwritten.
program = compile(r"""
extern "C" __global__ void topk_shared(const float* x, float* out, int cols) {
    extern __shared__ float row[];
    __shared__ float wv[8];
    __shared__ int wi[8];
    int tid = threadIdx.x;
    for (int c = tid; c < cols; c += blockDim.x) row[c] = x[(size_t)blockIdx.x * cols + c];
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        float best = -INFINITY;
        int at = 0;
        for (int c = tid; c < cols; c += blockDim.x)
            if (row[c] > best) { best = row[c]; at = c; }
        for (int o = 16; o > 0; o >>= 1) {
            float v = __shfl_down_sync(0xffffffff, best, o);
            int i = __shfl_down_sync(0xffffffff, at, o);
            if (v > best) { best = v; at = i; }
        }
        if (tid % 32 == 0) { wv[tid / 32] = best; wi[tid / 32] = at; }
        __syncthreads();
        if (tid == 0) {
            for (int w = 1; w < blockDim.x / 32; w++)
                if (wv[w] > best) { best = wv[w]; at = wi[w]; }
            out[blockIdx.x * 8 + k] = best;
            row[at] = -INFINITY;
        }
        __syncthreads();
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 8), device=x.device, dtype=x.dtype)
    program.topk_shared((rows,), (256,), (x, out, cols), cols * 4)
    return out
