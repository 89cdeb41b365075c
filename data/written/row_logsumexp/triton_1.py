import torch
import triton
import triton.language as tl


@triton.jit
def logsumexp_kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=float("-inf"))
    m = tl.max(x, axis=0)
    lse = m + tl.log(tl.sum(tl.exp(x - m), axis=0))
    tl.store(out_ptr + row, lse)


def kernel(x):
    M, N = x.shape
    out = torch.empty(M, device=x.device, dtype=x.dtype)
    logsumexp_kernel[(M,)](x, out, N, BLOCK_N=triton.next_power_of_2(N), num_warps=4)
    return out
