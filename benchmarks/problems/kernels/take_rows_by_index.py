import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def take_kernel(table_ptr, index_ptr, weight_ptr, out_ptr, count, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    mask = row < count
    index = tl.load(index_ptr + row, mask=mask, other=0)
    weight = tl.load(weight_ptr + row, mask=mask, other=0.0)
    values = tl.load(table_ptr + index[:, None] * WIDTH + lane[None, :], mask=mask[:, None])
    tl.store(out_ptr + row[:, None] * WIDTH + lane[None, :], values * weight[:, None], mask=mask[:, None])


class ModelNew(nn.Module):
    def __init__(self, entries, width):
        super().__init__()
        self.register_buffer("table", torch.randn(entries, width))

    def forward(self, index, weight):
        out = torch.empty((index.numel(), self.table.shape[1]), device=weight.device, dtype=weight.dtype)
        take_kernel[(triton.cdiv(index.numel(), 16),)](
            self.table, index, weight, out, index.numel(), WIDTH=self.table.shape[1], ROWS=16
        )
        return out
