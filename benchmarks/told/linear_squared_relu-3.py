import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def product(x, w, z, bias, scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    # persistent: a program takes tile after tile, operands and results travel by TMA
    rows, cols, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), rows * cols, tl.num_programs(0), flatten=False):
        per = GROUP * cols
        first = (tile // per) * GROUP
        high = tl.minimum(rows - first, GROUP)
        m = (first + (tile % per) % high) * BM
        n = ((tile % per) // high) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(steps):
            a = x.load([m, k * BK])
            b = w.load([n, k * BK])
            acc = tl.dot(a, b.T, acc)
        j = n + tl.arange(0, BN)
        add = tl.load(bias + j, mask=j < N, other=0.0).to(tl.float32)
        s = tl.load(scale + j, mask=j < N, other=0.0).to(tl.float32)
        v = tl.maximum((acc + add[None, :]).to(tl.bfloat16).to(tl.float32), 0.0)
        v = (v * v).to(tl.bfloat16).to(tl.float32) * s[None, :]
        z.store([m, n], v.to(tl.bfloat16))


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out).to(torch.bfloat16)
        self.scale = nn.Parameter((torch.rand(features_out) + 0.5).to(torch.bfloat16))

    @torch.no_grad()
    def forward(self, x):
        shape = x.shape[:-1]
        x = x.reshape(-1, x.shape[-1]).contiguous()
        weight = self.linear.weight
        M, K = x.shape
        N = weight.shape[0]
        z = torch.empty(M, N, device=x.device, dtype=x.dtype)
        if K % 8 or N % 8:  # TMA wants rows of whole 16 bytes
            z = F.linear(x, weight, self.linear.bias)
            z = torch.relu(z).square() * self.scale
            return z.reshape(*shape, N)
        BM, BN, BK = 128, 256, 64
        tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
        units = torch.cuda.get_device_properties(x.device).multi_processor_count
        product[(min(units, tiles),)](
            TensorDescriptor.from_tensor(x, [BM, BK]), TensorDescriptor.from_tensor(weight, [BN, BK]),
            TensorDescriptor.from_tensor(z, [BM, BN]), self.linear.bias, self.scale, M, N, K,
            BM=BM, BN=BN, BK=BK, GROUP=8, num_warps=8, num_stages=3)
        return z.reshape(*shape, N)
