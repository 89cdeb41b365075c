import torch

from foretell.cuda import compile

program = compile(r"""
extern "C" __global__ void copy_base(const float* base, float* out, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = base[i];
}
extern "C" __global__ void scatter_add(const float* x, const long long* index, float* out, int dim) {
    long long i = blockIdx.x;
    long long row = index[i];
    for (int c = threadIdx.x; c < dim; c += blockDim.x) atomicAdd(&out[row * dim + c], x[i * dim + c]);
}
""")


def kernel(base, x, index):
    vocab, dim = base.shape
    out = torch.empty_like(base)
    n = base.numel()
    program.copy_base(((n + 255) // 256,), (256,), (base, out, n))
    program.scatter_add((x.shape[0],), (128,), (x, index, out, dim))
    return out
