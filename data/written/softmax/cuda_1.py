import torch

from foretell.cuda import compile

# First version: one block per row, three passes, shared memory tree reductions.
program = compile(r"""
extern "C" __global__ void softmax_naive(const float* x, float* out, int cols) {
    __shared__ float red[256];
    int tid = threadIdx.x;
    const float* xr = x + (size_t)blockIdx.x * cols;
    float* yr = out + (size_t)blockIdx.x * cols;

    float m = -1e38f;
    for (int i = tid; i < cols; i += blockDim.x) m = fmaxf(m, xr[i]);
    red[tid] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] = fmaxf(red[tid], red[tid + s]);
        __syncthreads();
    }
    m = red[0];
    __syncthreads();

    float sum = 0.f;
    for (int i = tid; i < cols; i += blockDim.x) {
        float e = expf(xr[i] - m);
        yr[i] = e;
        sum += e;
    }
    red[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) red[tid] += red[tid + s];
        __syncthreads();
    }
    float inv = 1.f / red[0];
    for (int i = tid; i < cols; i += blockDim.x) yr[i] *= inv;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    program.softmax_naive((rows,), (256,), (x, out, cols))
    return out
