import torch
import triton
import triton.language as tl


# Persistent grouped GEMM: each program walks over (group, tile) pairs in steps of the number of SMs.
@triton.jit
def grouped_persistent(a_ptr, b_ptr, c_ptr, G, m, N, K,
                       BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, NUM_SM: tl.constexpr):
    tm = tl.cdiv(m, BM)
    tn = tl.cdiv(N, BN)
    per_group = tm * tn
    for tile in tl.range(tl.program_id(0), G * per_group, NUM_SM, flatten=True):
        g = tile // per_group
        t = tile % per_group
        rm = (t % tm) * BM + tl.arange(0, BM)
        rn = (t // tm) * BN + tl.arange(0, BN)
        a_row = a_ptr + (g * m + rm)[:, None] * K
        b_col = b_ptr + g * K * N + rn[None, :]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for kk in range(0, tl.cdiv(K, BK)):
            rk = kk * BK + tl.arange(0, BK)
            a = tl.load(a_row + rk[None, :], mask=(rm[:, None] < m) & (rk[None, :] < K), other=0.0)
            b = tl.load(b_col + rk[:, None] * N, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + (g * m + rm)[:, None] * N + rn[None, :], acc.to(tl.float16),
                 mask=(rm[:, None] < m) & (rn[None, :] < N))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    BM = 64 if m <= 64 else 128
    BN, BK = 128, 64
    grouped_persistent[(sms,)](a, b, c, G, m, N, K, BM=BM, BN=BN, BK=BK, NUM_SM=sms, num_warps=8 if BM == 128 else 4,
                               num_stages=4)
    return c
