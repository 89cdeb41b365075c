import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr, cos_ptr, sin_ptr, y_ptr,
    S, H,
    HALF: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
):
    bs = tl.program_id(0)  # flattened (batch, position)
    pos = bs % S
    h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_HALF)
    dm = d < HALF
    cos = tl.load(cos_ptr + pos * HALF + d, mask=dm, other=0.0)
    sin = tl.load(sin_ptr + pos * HALF + d, mask=dm, other=0.0)

    mask = (h[:, None] < H) & dm[None, :]
    offs = bs * H * (2 * HALF) + h[:, None] * (2 * HALF) + d[None, :]
    x1 = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(x_ptr + offs + HALF, mask=mask, other=0.0).to(tl.float32)
    y1 = x1 * cos[None, :] - x2 * sin[None, :]
    y2 = x2 * cos[None, :] + x1 * sin[None, :]
    tl.store(y_ptr + offs, y1.to(tl.bfloat16), mask=mask)
    tl.store(y_ptr + offs + HALF, y2.to(tl.bfloat16), mask=mask)


def apply_rope(x, cos, sin):
    x = x.contiguous()
    B, S, H, D = x.shape
    y = torch.empty_like(x)
    BLOCK_H = min(triton.next_power_of_2(H), 32)
    half = D // 2
    rope_kernel[(B * S, triton.cdiv(H, BLOCK_H))](
        x, cos, sin, y, S, H,
        HALF=half, BLOCK_H=BLOCK_H, BLOCK_HALF=triton.next_power_of_2(half), num_warps=4,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, head_dim, max_len, base):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
        ang = torch.outer(torch.arange(max_len).float(), inv_freq)
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def forward(self, q, k):
        return apply_rope(q, self.cos, self.sin), apply_rope(k, self.cos, self.sin)
