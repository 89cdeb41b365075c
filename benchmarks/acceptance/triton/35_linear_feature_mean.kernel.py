import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_mean_kernel(w_ptr, out_ptr, R, C, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_R, BLOCK_C), dtype=tl.float32)
    for r0 in range(0, R, BLOCK_R):
        r = r0 + tl.arange(0, BLOCK_R)
        acc += tl.load(w_ptr + r[:, None] * C + c[None, :], mask=(r[:, None] < R) & (c[None, :] < C), other=0.0)
    tl.store(out_ptr + c, tl.sum(acc, axis=0) / R, mask=c < C)


@triton.jit
def row_score_kernel(x_ptr, w_ptr, bias_ptr, y_ptr, M, K, ROWS: tl.constexpr, BLOCK_K: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, BLOCK_K)
    x = tl.load(x_ptr + r[:, None] * K + k[None, :], mask=(r[:, None] < M) & (k[None, :] < K), other=0.0)
    w = tl.load(w_ptr + k, mask=k < K, other=0.0)
    s = tl.sum(x * w[None, :], axis=1) + tl.load(bias_ptr)
    tl.store(y_ptr + r, tl.sigmoid(s), mask=r < M)


class ModelNew(nn.Module):
    """
    mean_j(W x + b)_j = (mean_j W_j) . x + mean_j b_j, so the GEMM collapses to a matrix-vector product.
    """

    def __init__(self, in_features, hidden):
        super().__init__()
        self.proj = nn.Linear(in_features, hidden)

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        W = self.proj.weight
        wbar = torch.empty((K,), device=x.device, dtype=x.dtype)
        column_mean_kernel[(triton.cdiv(K, 32),)](W, wbar, W.shape[0], K, BLOCK_R=64, BLOCK_C=32, num_warps=8)
        bbar = self.proj.bias.mean()
        y = torch.empty((M,), device=x.device, dtype=x.dtype)
        ROWS = 4
        row_score_kernel[(triton.cdiv(M, ROWS),)](
            x, wbar, bbar, y, M, K, ROWS=ROWS, BLOCK_K=triton.next_power_of_2(K), num_warps=4
        )
        return y
