import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


# Hopper TMA path: host-side tensor descriptors, persistent tile loop.  TMA zero-fills out of
# bounds boxes on load and clips on store, so no masks at all.
# n, k are multiples of 8 so the 16-byte stride requirement holds.
@triton.jit
def matmul_tma(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    start = tl.program_id(0)
    num_m = tl.cdiv(M, BLOCK_M)
    num_n = tl.cdiv(N, BLOCK_N)
    k_tiles = tl.cdiv(K, BLOCK_K)
    per_group = GROUP_M * num_n

    for tile in tl.range(start, num_m * num_n, NUM_SMS):
        group = tile // per_group
        first_m = group * GROUP_M
        rows = min(num_m - first_m, GROUP_M)
        pid_m = first_m + (tile % per_group) % rows
        pid_n = (tile % per_group) // rows
        off_m = pid_m * BLOCK_M
        off_n = pid_n * BLOCK_N

        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for ki in range(k_tiles):
            a = a_desc.load([off_m, ki * BLOCK_K])
            b = b_desc.load([ki * BLOCK_K, off_n])
            acc = tl.dot(a, b, acc)
        c_desc.store([off_m, off_n], acc.to(tl.float16))


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    BM, BN, BK = 128, 256, 64
    a_desc = TensorDescriptor(a, [M, K], [K, 1], [BM, BK])
    b_desc = TensorDescriptor(b, [K, N], [N, 1], [BK, BN])
    c_desc = TensorDescriptor(c, [M, N], [N, 1], [BM, BN])
    num_sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    tiles = triton.cdiv(M, BM) * triton.cdiv(N, BN)
    matmul_tma[(min(num_sms, tiles),)](
        a_desc,
        b_desc,
        c_desc,
        M,
        N,
        K,
        BLOCK_M=BM,
        BLOCK_N=BN,
        BLOCK_K=BK,
        GROUP_M=8,
        NUM_SMS=num_sms,
        num_warps=8,
        num_stages=3,
    )
    return c
