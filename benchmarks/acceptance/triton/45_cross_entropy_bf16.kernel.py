import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_V": 2048}, num_warps=4),
        triton.Config({"BLOCK_V": 4096}, num_warps=8),
        triton.Config({"BLOCK_V": 8192}, num_warps=8),
        triton.Config({"BLOCK_V": 16384}, num_warps=16),
        triton.Config({"BLOCK_V": 32768}, num_warps=32),
    ],
    key=["V"],
)
@triton.jit
def ce_row_kernel(
    logits_ptr, target_ptr, loss_ptr, valid_ptr,
    stride_row, V, ignore_index,
    BLOCK_V: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    tgt = tl.load(target_ptr + row)
    if tgt == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        tl.store(valid_ptr + row, 0.0)
        return

    base = logits_ptr + row * stride_row
    m = -float("inf")
    s = 0.0
    for v0 in range(0, V, BLOCK_V):
        cols = v0 + tl.arange(0, BLOCK_V)
        x = tl.load(base + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m = m_new
    x_t = tl.load(base + tgt).to(tl.float32)
    tl.store(loss_ptr + row, m + tl.log(s) - x_t)
    tl.store(valid_ptr + row, 1.0)


@triton.jit
def masked_mean_kernel(loss_ptr, valid_ptr, out_ptr, n, BLOCK: tl.constexpr):
    num = tl.zeros((BLOCK,), dtype=tl.float32)
    den = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(0, n, BLOCK):
        offs = i + tl.arange(0, BLOCK)
        num += tl.load(loss_ptr + offs, mask=offs < n, other=0.0)
        den += tl.load(valid_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr, tl.sum(num, axis=0) / tl.sum(den, axis=0))


class ModelNew(nn.Module):
    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, targets):
        logits = logits.contiguous()
        n, V = logits.shape
        loss = torch.empty(n, device=logits.device, dtype=torch.float32)
        valid = torch.empty(n, device=logits.device, dtype=torch.float32)
        out = torch.empty((), device=logits.device, dtype=torch.float32)
        ce_row_kernel[(n,)](logits, targets, loss, valid, logits.stride(0), V, self.ignore_index)
        masked_mean_kernel[(1,)](loss, valid, out, n, BLOCK=1024, num_warps=4)
        return out
