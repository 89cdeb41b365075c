import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cosine_distance_kernel(
    a_ptr,
    b_ptr,
    out_ptr,
    n_rows,
    dim,
    inv_n,
    eps,
    ROWS: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, BLOCK_D)
    rmask = r < n_rows
    mask = rmask[:, None] & (d < dim)[None, :]
    offs = r[:, None] * dim + d[None, :]
    a = tl.load(a_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs, mask=mask, other=0.0)
    ab = tl.sum(a * b, axis=1)
    na = tl.maximum(tl.sqrt(tl.sum(a * a, axis=1)), eps)
    nb = tl.maximum(tl.sqrt(tl.sum(b * b, axis=1)), eps)
    dist = tl.where(rmask, 1.0 - ab / (na * nb), 0.0)
    tl.atomic_add(out_ptr, tl.sum(dist, axis=0) * inv_n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        a = a.contiguous()
        b = b.contiguous()
        n, dim = a.shape
        out = torch.zeros((), device=a.device, dtype=torch.float32)
        ROWS = 8
        cosine_distance_kernel[(triton.cdiv(n, ROWS),)](
            a, b, out, n, dim, 1.0 / n, 1e-8,
            ROWS=ROWS, BLOCK_D=triton.next_power_of_2(dim), num_warps=8,
        )
        return out
