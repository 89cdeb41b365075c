import torch
import triton
import triton.language as tl


# Liger-style: one program per row
@triton.jit
def _swiglu_forward_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    a_ptr += program_id * stride
    b_ptr += program_id * stride
    c_ptr += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    # sigmoid requires type float32
    a_row = tl.load(a_ptr + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b_ptr + col_offsets, mask=mask, other=0)
    c_row = (a_row * tl.sigmoid(a_row)).cast(b_row.dtype) * b_row
    tl.store(c_ptr + col_offsets, c_row, mask=mask)


def kernel(a, b):
    a, b = a.contiguous(), b.contiguous()
    rows, cols = a.shape
    c = torch.empty_like(a)
    BLOCK_SIZE = triton.next_power_of_2(cols)
    num_warps = 4
    if BLOCK_SIZE >= 2048:
        num_warps = 8
    if BLOCK_SIZE >= 8192:
        num_warps = 16
    _swiglu_forward_kernel[(rows,)](a, b, c, c.stride(0), n_cols=cols, BLOCK_SIZE=BLOCK_SIZE, num_warps=num_warps)
    return c
