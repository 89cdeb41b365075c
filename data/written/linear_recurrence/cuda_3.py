import torch
from foretell.cuda import compile

# Block = 32 channels x 16 time segments. Each warp owns one segment of the time axis (lanes = channels, coalesced):
# it loads the segment into registers, reduces it to (prod a, h), the block scans the 16 summaries through shared memory,
# and each warp replays from registers. Every element is read exactly once.
program = compile(r"""
#define SEGS 16
#define STEPS 8
// one round covers SEGS * STEPS = 128 time steps; the state is carried between rounds
extern "C" __global__ void __launch_bounds__(512) linrec_segments(const float* __restrict__ a, const float* __restrict__ x,
        float* __restrict__ out, int time, int channels) {
    __shared__ float sp[SEGS][32], sh[SEGS][32];
    const int lane = threadIdx.x & 31, seg = threadIdx.x >> 5;
    const int c = blockIdx.x * 32 + lane;
    const bool live = c < channels;
    const size_t base = (size_t)blockIdx.y * time * channels + c;
    float carry = 0.f;
    for (int t0 = 0; t0 < time; t0 += SEGS * STEPS) {
        const int t1 = t0 + seg * STEPS;
        float ra[STEPS], rx[STEPS];
        #pragma unroll
        for (int i = 0; i < STEPS; i++) {
            bool ok = live && t1 + i < time;
            ra[i] = ok ? a[base + (size_t)(t1 + i) * channels] : 1.f;
            rx[i] = ok ? x[base + (size_t)(t1 + i) * channels] : 0.f;
        }
        // local prefix in place: ra becomes the running product, rx the local state
        #pragma unroll
        for (int i = 1; i < STEPS; i++) {
            rx[i] = fmaf(ra[i], rx[i - 1], rx[i]);
            ra[i] *= ra[i - 1];
        }
        sp[seg][lane] = ra[STEPS - 1];
        sh[seg][lane] = rx[STEPS - 1];
        __syncthreads();
        float h = carry;
        float mine = carry;
        #pragma unroll
        for (int s = 0; s < SEGS; s++) {
            if (s == seg) mine = h;
            h = fmaf(sp[s][lane], h, sh[s][lane]);
        }
        carry = h;
        #pragma unroll
        for (int i = 0; i < STEPS; i++)
            if (live && t1 + i < time) out[base + (size_t)(t1 + i) * channels] = fmaf(ra[i], mine, rx[i]);
        __syncthreads();
    }
}
""")


def kernel(a, x):
    batch, time, channels = x.shape
    out = torch.empty_like(x)
    program.linrec_segments(((channels + 31) // 32, batch), (512,), (a, x, out, time, channels))
    return out
