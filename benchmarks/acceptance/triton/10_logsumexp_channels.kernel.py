import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_C": 16, "BLOCK_L": 128}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_C": 32, "BLOCK_L": 64}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_C": 32, "BLOCK_L": 128}, num_warps=8, num_stages=2),
        triton.Config({"BLOCK_C": 64, "BLOCK_L": 64}, num_warps=8, num_stages=2),
    ],
    key=["C", "L"],
)
@triton.jit
def lse_kernel(
    x_ptr, y_ptr, C, L,
    BLOCK_C: tl.constexpr, BLOCK_L: tl.constexpr,
):
    pid_l = tl.program_id(0)
    pid_b = tl.program_id(1)
    l = pid_l * BLOCK_L + tl.arange(0, BLOCK_L)
    lm = l < L

    m = tl.full([BLOCK_L], float("-inf"), tl.float32)
    s = tl.zeros([BLOCK_L], tl.float32)
    for c0 in range(0, C, BLOCK_C):
        c = c0 + tl.arange(0, BLOCK_C)
        x = tl.load(
            x_ptr + (pid_b * C + c[:, None]) * L + l[None, :],
            mask=(c[:, None] < C) & lm[None, :],
            other=float("-inf"),
        )
        m_new = tl.maximum(m, tl.max(x, axis=0))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new[None, :]), axis=0)
        m = m_new
    tl.store(y_ptr + pid_b * L + l, m + tl.log(s), mask=lm)


class ModelNew(nn.Module):
    def __init__(self):
        super(ModelNew, self).__init__()

    def forward(self, x):
        x = x.contiguous()
        B, C, L = x.shape
        y = torch.empty((B, 1, L), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(L, meta["BLOCK_L"]), B)
        lse_kernel[grid](x, y, C, L)
        return y
