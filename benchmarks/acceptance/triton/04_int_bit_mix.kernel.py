import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bit_mix_kernel(a_ptr, b_ptr, o_ptr, n, FOLD: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.load(a_ptr + offs, mask=mask, other=0)
    b = tl.load(b_ptr + offs, mask=mask, other=0)
    t = a ^ (b << 5)
    t = t + (a >> 3)
    r = tl.where(t < 0, ~t, t & FOLD)
    tl.store(o_ptr + offs, r, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, fold_mask: int):
        super().__init__()
        self.fold_mask = fold_mask

    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        out = torch.empty_like(a)
        n = a.numel()
        bit_mix_kernel[(triton.cdiv(n, 1024),)](a, b, out, n, FOLD=self.fold_mask, BLOCK=1024, num_warps=4)
        return out
