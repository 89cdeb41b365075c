import torch
import triton
import triton.language as tl


# LSD radix sort, one bit at a time (stable split via cumsum), ping-ponging between two global
# scratch rows that stay in L1/L2.  32 passes, each: load, cumsum, scatter, barrier.
# Keys are order-preserving uint32 images of the floats.
@triton.jit
def radix_split_kernel(x_ptr, a_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    mask = i < cols
    a = a_ptr + row * cols
    b = b_ptr + row * cols

    bits = tl.load(x_ptr + row * cols + i, mask=mask, other=0.0).to(tl.int32, bitcast=True)
    # negative -> ~bits, positive -> bits ^ 0x80000000
    key = tl.where(bits < 0, ~bits, bits ^ -2147483648)
    tl.store(a + i, key, mask=mask)
    tl.debug_barrier()

    for bit in range(0, 32, 2):
        # even bit: a -> b
        k = tl.load(a + i, mask=mask, other=0)
        one = (k >> bit) & 1
        zero = tl.where(mask, 1 - one, 0)
        before = tl.cumsum(zero, axis=0) - zero
        zeros = tl.sum(zero, axis=0)
        pos = tl.where(one == 0, before, zeros + i - before)
        tl.store(b + pos, k, mask=mask)
        tl.debug_barrier()
        # odd bit: b -> a
        k = tl.load(b + i, mask=mask, other=0)
        one = (k >> (bit + 1)) & 1
        zero = tl.where(mask, 1 - one, 0)
        before = tl.cumsum(zero, axis=0) - zero
        zeros = tl.sum(zero, axis=0)
        pos = tl.where(one == 0, before, zeros + i - before)
        tl.store(a + pos, k, mask=mask)
        tl.debug_barrier()

    key = tl.load(a + i, mask=mask, other=0)
    bits = tl.where(key < 0, key ^ -2147483648, ~key)
    tl.store(out_ptr + row * cols + i, bits.to(tl.float32, bitcast=True), mask=mask)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    a = torch.empty((rows, cols), dtype=torch.int32, device=x.device)
    b = torch.empty_like(a)
    BLOCK = triton.next_power_of_2(cols)
    radix_split_kernel[(rows,)](x, a, b, out, cols, BLOCK=BLOCK, num_warps=4)
    return out
