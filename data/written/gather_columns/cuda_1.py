import torch

from foretell.cuda import compile

# One thread per output element, output writes coalesced, reads through the read-only cache.
program = compile(r"""
extern "C" __global__ void gather_columns(const float* __restrict__ x, const long long* __restrict__ index,
                                          float* __restrict__ out, int cols, int count) {
    int j = blockIdx.y * blockDim.x + threadIdx.x;
    if (j >= count) return;
    size_t row = blockIdx.x;
    out[row * count + j] = __ldg(x + row * cols + index[j]);
}
""")


def kernel(x, index):
    rows, cols = x.shape
    count = index.numel()
    out = torch.empty((rows, count), dtype=x.dtype, device=x.device)
    threads = 256
    program.gather_columns((rows, (count + threads - 1) // threads), (threads,), (x, index, out, cols, count))
    return out
