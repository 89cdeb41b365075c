import torch

from foretell.cuda import compile

# Classic: block tree reduction, one atomicAdd per block.
program = compile(r"""
extern "C" __global__ void sum_all(const float* x, float* out, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, s[0]);
}
""")


def kernel(x):
    n = x.numel()
    out = torch.zeros((), dtype=torch.float32, device=x.device)
    program.sum_all(((n + 255) // 256,), (256,), (x, out, n))
    return out
