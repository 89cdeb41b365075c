import torch
import triton
import triton.language as tl


@triton.jit
def quantize_persistent(x_ptr, q_ptr, s_ptr, blocks, GROUPS: tl.constexpr, STAGES: tl.constexpr):
    lane = tl.arange(0, 128)
    tiles = tl.cdiv(blocks, GROUPS)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=STAGES):
        b = t * GROUPS + tl.arange(0, GROUPS)
        live = b < blocks
        offs = b[:, None] * 128 + lane[None, :]
        x = tl.load(x_ptr + offs, mask=live[:, None], other=0.0)
        # The maximum of |x| only matters through its exponent, and |bf16| orders like its 15 low bits: reduce on integers.
        mag = x.to(tl.int16, bitcast=True).to(tl.int32) & 0x7FFF
        top = tl.max(mag, axis=1)
        biased = tl.where(top == 0, 126, top >> 7)
        scale = ((biased - 6) << 23).to(tl.float32, bitcast=True)
        recip = ((260 - biased) << 23).to(tl.float32, bitcast=True)
        q = tl.floor(tl.fma(x.to(tl.float32), tl.broadcast_to(recip[:, None], (GROUPS, 128)), 0.5))
        tl.store(q_ptr + offs, tl.minimum(q, 127.0).to(tl.int32).to(tl.int8), mask=live[:, None])
        tl.store(s_ptr + b, scale, mask=live)


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    blocks = rows * cols // 128
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    groups = 32
    grid = (min(triton.cdiv(blocks, groups), sms * 6),)
    quantize_persistent[grid](x, levels, scales, blocks, GROUPS=groups, STAGES=3, num_warps=8)
    return levels, scales
