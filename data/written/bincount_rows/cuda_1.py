import torch

from foretell.cuda import compile

# Block per row, 64 shared bins, shared atomics.
program = compile(r"""
extern "C" __global__ void bincount_rows(const int* __restrict__ x, int* __restrict__ out, int cols) {
    __shared__ int bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    const int* row = x + (size_t)blockIdx.x * cols;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        atomicAdd(&bins[row[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) out[(size_t)blockIdx.x * 64 + threadIdx.x] = bins[threadIdx.x];
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((rows, 64), dtype=torch.int32, device=x.device)
    threads = 256 if cols > 512 else 128
    program.bincount_rows((rows,), (threads,), (x, out, cols))
    return out
