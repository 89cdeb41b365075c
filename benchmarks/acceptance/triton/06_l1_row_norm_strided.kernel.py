import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_N": 1024}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_N": 2048}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK_N": 4096}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK_N": 8192}, num_warps=16, num_stages=1),
    ],
    key=["N"],
)
@triton.jit
def l1_rows_kernel(x_ptr, y_ptr, stride_m, stride_n, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * stride_m
    acc = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        v = tl.load(x_row + cols * stride_n, mask=cols < N, other=0.0)
        acc += tl.abs(v)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        M, N = x.shape
        y = torch.empty((M, 1), device=x.device, dtype=x.dtype)
        l1_rows_kernel[(M,)](x, y, x.stride(0), x.stride(1), N)
        return y
