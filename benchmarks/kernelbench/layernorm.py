import torch
import triton
import triton.language as tl

PARTS = 128


@triton.jit
def partial(x, sums, n, per_part, B: tl.constexpr):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    c = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    square = tl.zeros((B,), tl.float32)
    for start in range(part * per_part, (part + 1) * per_part, B):
        v = tl.load(x + row * n + start + c, mask=start + c < n, other=0.0)
        total += v
        square += v * v
    tl.store(sums + (row * tl.num_programs(1) + part) * 2, tl.sum(total, 0))
    tl.store(sums + (row * tl.num_programs(1) + part) * 2 + 1, tl.sum(square, 0))


@triton.jit
def apply(x, gamma, beta, sums, out, n, P: tl.constexpr, B: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    p = tl.arange(0, P)
    mean = tl.sum(tl.load(sums + (row * P + p) * 2), 0) / n
    variance = tl.sum(tl.load(sums + (row * P + p) * 2 + 1), 0) / n - mean * mean
    scale = tl.rsqrt(variance + 1e-5)
    c = tl.program_id(1) * B + tl.arange(0, B)
    inside = c < n
    v = tl.load(x + row * n + c, mask=inside)
    g, b = tl.load(gamma + c, mask=inside), tl.load(beta + c, mask=inside)
    tl.store(out + row * n + c, (v - mean) * scale * g + b, mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.ln = torch.nn.LayerNorm(normalized_shape=normalized_shape)

    def forward(self, x):
        rows, n = x.shape[0], x.numel() // x.shape[0]
        out = torch.empty_like(x)
        sums = torch.empty(rows * PARTS * 2, device=x.device)
        per_part = triton.cdiv(n, PARTS)
        partial[(rows, PARTS)](x, sums, n, per_part, B=2048, num_warps=8)
        grid = (rows, triton.cdiv(n, 4096))
        apply[grid](x, self.ln.weight, self.ln.bias, sums, out, n, P=PARTS, B=4096, num_warps=8)
        return out
