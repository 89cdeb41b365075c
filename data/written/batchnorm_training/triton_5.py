import torch
import triton
import triton.language as tl


# Single persistent launch with a per-channel arrival counter: SPLIT programs share a channel, publish their partial
# moments with atomics, spin until all of them have arrived, then normalise the slice they have just read (which
# is still in L2). All programs have to be co-resident: the grid is c * SPLIT, kept at or below the number of SMs
# when SPLIT > 1.
@triton.jit
def bn_spin(
    x_ptr, gamma_ptr, beta_ptr, out_ptr, mean_ptr, rstd_ptr, acc_ptr, flag_ptr, n, c, hw, inv_count,
    SPLIT: tl.constexpr, BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    ch = pid // SPLIT
    part = pid % SPLIT
    count = n * hw
    s = tl.zeros((BLOCK,), tl.float32)
    q = tl.zeros((BLOCK,), tl.float32)
    for start in range(part * BLOCK, count, SPLIT * BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < count
        offs = ((i // hw) * c + ch) * hw + i % hw
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        s += x
        q += x * x
    total = tl.sum(s, 0)
    totalq = tl.sum(q, 0)
    if SPLIT > 1:
        tl.atomic_add(acc_ptr + 2 * ch, total)
        tl.atomic_add(acc_ptr + 2 * ch + 1, totalq)
        tl.debug_barrier()
        tl.atomic_add(flag_ptr + ch, 1, sem="release")
        while tl.atomic_add(flag_ptr + ch, 0, sem="acquire") < SPLIT:
            pass
        total = tl.atomic_add(acc_ptr + 2 * ch, 0.0)
        totalq = tl.atomic_add(acc_ptr + 2 * ch + 1, 0.0)
    mean = total * inv_count
    rstd = 1.0 / tl.sqrt(tl.maximum(totalq * inv_count - mean * mean, 0.0) + 1e-5)
    if part == 0:
        tl.store(mean_ptr + ch, mean)
        tl.store(rstd_ptr + ch, rstd)
    scale = tl.load(gamma_ptr + ch) * rstd
    shift = tl.load(beta_ptr + ch) - mean * scale
    for start in range(part * BLOCK, count, SPLIT * BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < count
        offs = ((i // hw) * c + ch) * hw + i % hw
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        tl.store(out_ptr + offs, x * scale + shift, mask=mask)


def kernel(x, gamma, beta):
    n, c, hw = x.shape
    dev = x.device
    out = torch.empty_like(x)
    mean = torch.empty((c,), device=dev, dtype=torch.float32)
    rstd = torch.empty((c,), device=dev, dtype=torch.float32)
    sms = torch.cuda.get_device_properties(dev).multi_processor_count
    split = 1
    while split * 2 * c <= sms and split * 2 * 2048 <= n * hw:
        split *= 2
    acc = torch.zeros((2 * c,), device=dev, dtype=torch.float32)
    flag = torch.zeros((c,), device=dev, dtype=torch.int32)
    bn_spin[(c * split,)](
        x, gamma, beta, out, mean, rstd, acc, flag, n, c, hw, 1.0 / (n * hw), SPLIT=split, BLOCK=2048, num_warps=16
    )
    return out, mean, rstd
