import torch

from foretell.cuda import compile

# Textbook version: one shared-memory histogram per block, grid-stride loop,
# one global atomic per bin at the end.
program = compile(r"""
extern "C" __global__ void histogram256(const int* __restrict__ values, int* __restrict__ counts, int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;          // launched with 256 threads
    __syncthreads();

    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&bins[values[i]], 1);
    }
    __syncthreads();

    int c = bins[threadIdx.x];
    if (c) atomicAdd(&counts[threadIdx.x], c);
}
""")


def kernel(values):
    n = values.numel()
    counts = torch.zeros(256, dtype=torch.int32, device=values.device)
    blocks = min((n + 255) // 256, 132 * 8)
    program.histogram256((blocks,), (256,), (values, counts, n))
    return counts
