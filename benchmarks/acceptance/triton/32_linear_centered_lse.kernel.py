import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centered_lse_hardswish_kernel(y_ptr, out_ptr, n_cols, tau, inv_tau, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y = tl.load(y_ptr + row * n_cols + cols, mask=mask, other=0.0)
    mean = tl.sum(y, axis=0) / n_cols

    t = tl.where(mask, (y - mean) * inv_tau, float("-inf"))
    tmax = tl.max(t, axis=0)
    total = tl.sum(tl.exp(t - tmax), axis=0)
    z = tau * (tmax + tl.log(total)) - 3.0

    r = z * tl.minimum(tl.maximum(z + 3.0, 0.0), 6.0) / 6.0
    tl.store(out_ptr + row, r)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, tau):
        super().__init__()
        self.fc = nn.Linear(in_features, out_features)
        self.tau = tau

    def forward(self, x):
        y = self.fc(x)
        M, N = y.shape
        out = torch.empty((M, 1), device=y.device, dtype=y.dtype)
        centered_lse_hardswish_kernel[(M,)](
            y, out, N, self.tau, 1.0 / self.tau, BLOCK=triton.next_power_of_2(N), num_warps=8
        )
        return out
