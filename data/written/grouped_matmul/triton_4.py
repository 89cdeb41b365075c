import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 128, "BN": 256, "BK": 64}, num_warps=8, num_stages=3),
        triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 256, "BK": 64}, num_warps=4, num_stages=4),
        triton.Config({"BM": 64, "BN": 128, "BK": 128}, num_warps=4, num_stages=3),
        triton.Config({"BM": 64, "BN": 64, "BK": 128}, num_warps=4, num_stages=3),
        triton.Config({"BM": 32, "BN": 64, "BK": 64}, num_warps=4, num_stages=4),
    ],
    key=["m", "N", "K", "G"],
)
@triton.jit
def grouped_tuned(a_ptr, b_ptr, c_ptr, G, m, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid_n = tl.program_id(0)
    pid_m = tl.program_id(1)
    g = tl.program_id(2).to(tl.int64)
    a_blk = tl.make_block_ptr(a_ptr + g * m * K, (m, K), (K, 1), (pid_m * BM, 0), (BM, BK), (1, 0))
    b_blk = tl.make_block_ptr(b_ptr + g * K * N, (K, N), (N, 1), (0, pid_n * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        a = tl.load(a_blk, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_blk, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc)
        a_blk = tl.advance(a_blk, (0, BK))
        b_blk = tl.advance(b_blk, (BK, 0))
    c_blk = tl.make_block_ptr(c_ptr + g * m * N, (m, N), (N, 1), (pid_m * BM, pid_n * BN), (BM, BN), (1, 0))
    tl.store(c_blk, acc.to(tl.float16), boundary_check=(0, 1))


def kernel(a, b):
    G, K, N = b.shape
    m = a.shape[0] // G
    c = torch.empty((G * m, N), device=a.device, dtype=torch.float16)
    grouped_tuned[lambda t: (triton.cdiv(N, t["BN"]), triton.cdiv(m, t["BM"]), G)](a, b, c, G, m, N, K)
    return c
