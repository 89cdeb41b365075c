import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def argmax_dim1_kernel(
    x_ptr, out_ptr,
    D1, D2,
    BLOCK_1: tl.constexpr,
    BLOCK_2: tl.constexpr,
):
    pid_b = tl.program_id(0)
    pid_n = tl.program_id(1)
    cols = pid_n * BLOCK_2 + tl.arange(0, BLOCK_2)
    col_mask = cols < D2

    best_val = tl.full((BLOCK_2,), -float("inf"), dtype=tl.float32)
    best_idx = tl.zeros((BLOCK_2,), dtype=tl.int32)

    for r0 in range(0, D1, BLOCK_1):
        rows = r0 + tl.arange(0, BLOCK_1)
        tile = tl.load(
            x_ptr + pid_b * D1 * D2 + rows[:, None] * D2 + cols[None, :],
            mask=(rows[:, None] < D1) & col_mask[None, :],
            other=-float("inf"),
        )
        v, i = tl.max(tile, axis=0, return_indices=True)
        better = v > best_val
        best_idx = tl.where(better, i + r0, best_idx)
        best_val = tl.where(better, v, best_val)

    tl.store(out_ptr + pid_b * D2 + cols, best_idx.to(tl.int64), mask=col_mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        B, D1, D2 = x.shape
        out = torch.empty((B, D2), dtype=torch.int64, device=x.device)
        BLOCK_1, BLOCK_2 = 32, 64
        argmax_dim1_kernel[(B, triton.cdiv(D2, BLOCK_2))](
            x, out, D1, D2, BLOCK_1=BLOCK_1, BLOCK_2=BLOCK_2, num_warps=4
        )
        return out
