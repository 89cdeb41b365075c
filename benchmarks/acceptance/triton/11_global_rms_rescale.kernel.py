import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sumsq_kernel(x_ptr, acc_ptr, n, BLOCK: tl.constexpr, ITERS: tl.constexpr):
    pid = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(ITERS):
        offs = (pid * ITERS + i) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        acc += v * v
    tl.atomic_add(acc_ptr, tl.sum(acc, axis=0))


@triton.jit
def rescale_kernel(x_ptr, acc_ptr, y_ptr, n, target, eps, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    total = tl.load(acc_ptr)
    factor = target / tl.sqrt(total / n + eps)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, x * factor, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, target_rms, eps):
        super().__init__()
        self.target_rms = target_rms
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        acc = torch.zeros(1, device=x.device, dtype=torch.float32)
        y = torch.empty_like(x)
        BLOCK, ITERS = 2048, 8
        sumsq_kernel[(triton.cdiv(n, BLOCK * ITERS),)](x, acc, n, BLOCK=BLOCK, ITERS=ITERS, num_warps=8)
        rescale_kernel[(triton.cdiv(n, BLOCK),)](
            x, acc, y, n, self.target_rms, self.eps, BLOCK=BLOCK, num_warps=8
        )
        return y
