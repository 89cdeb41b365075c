import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 1}, num_warps=1),
        triton.Config({"ROWS": 4}, num_warps=4),
        triton.Config({"ROWS": 8}, num_warps=4),
        triton.Config({"ROWS": 16}, num_warps=8),
    ],
    key=["n_rows", "n_cols"],
)
@triton.jit
def temp_softmax_kernel(
    x_ptr, t_ptr, y_ptr,
    n_rows, n_cols, q_len, n_heads,
    ROWS: tl.constexpr, BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK_N)
    rmask = rows < n_rows
    cmask = cols < n_cols
    head = (rows // q_len) % n_heads
    t = tl.load(t_ptr + head, mask=rmask, other=1.0).to(tl.float32)

    offs = rows[:, None] * n_cols + cols[None, :]
    x = tl.load(x_ptr + offs, mask=rmask[:, None] & cmask[None, :], other=0.0).to(tl.float32)
    x = x / t[:, None]
    x = tl.where(cmask[None, :], x, float("-inf"))
    x = tl.exp(x - tl.max(x, axis=1)[:, None])
    y = x / tl.sum(x, axis=1)[:, None]
    tl.store(y_ptr + offs, y.to(tl.bfloat16), mask=rmask[:, None] & cmask[None, :])


class ModelNew(nn.Module):
    def __init__(self, num_heads):
        super().__init__()
        t = torch.linspace(0.5, 2.0, num_heads).to(torch.bfloat16)
        self.register_buffer("temperature", t.view(num_heads, 1, 1))

    def forward(self, x):
        x = x.contiguous()
        B, H, Q, K = x.shape
        y = torch.empty_like(x)
        n_rows = B * H * Q
        grid = lambda meta: (triton.cdiv(n_rows, meta["ROWS"]),)
        temp_softmax_kernel[grid](
            x, self.temperature, y, n_rows, K, Q, H, BLOCK_N=triton.next_power_of_2(K)
        )
        return y
