import torch
from foretell.cuda import compile

# cp.async ring, 4 channels (float4) per thread in the copies: tiles of 16 time steps x 64 channels stream through
# shared memory with 4 stages, one warp (2 channels per lane) runs the recurrence. All sizes here are multiples of 16
# channels, so 16-byte copies are aligned.
program = compile(r"""
#define TT 16
#define CC 64
#define STAGES 4

__device__ __forceinline__ void copy16(void* dst, const void* src, int bytes) {
    unsigned d = (unsigned)__cvta_generic_to_shared(dst);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(d), "l"(src), "r"(bytes));
}

extern "C" __global__ void __launch_bounds__(32) linrec_async(const float* __restrict__ a, const float* __restrict__ x,
        float* __restrict__ out, int time, int channels) {
    __shared__ __align__(16) float sa[STAGES][TT][CC];
    __shared__ __align__(16) float sx[STAGES][TT][CC];
    const int lane = threadIdx.x;
    const int c0 = blockIdx.x * CC;
    const size_t base = (size_t)blockIdx.y * time * channels + c0;
    const int tiles = (time + TT - 1) / TT;

    auto fetch = [&](int tile) {
        if (tile < tiles) {
            int s = tile % STAGES;
            #pragma unroll
            for (int i = lane; i < TT * CC / 4; i += 32) {
                int r = i / (CC / 4), c = i % (CC / 4) * 4, t = tile * TT + r;
                bool ok = t < time && c0 + c < channels;
                size_t off = ok ? base + (size_t)t * channels + c : 0;
                copy16(&sa[s][r][c], a + off, ok ? 16 : 0);
                copy16(&sx[s][r][c], x + off, ok ? 16 : 0);
            }
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int s = 0; s < STAGES - 1; s++) fetch(s);

    float2 h = make_float2(0.f, 0.f);
    const bool live = c0 + lane * 2 < channels;
    for (int tile = 0; tile < tiles; tile++) {
        asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2));
        __syncwarp();
        fetch(tile + STAGES - 1);
        const int s = tile % STAGES;
        #pragma unroll
        for (int r = 0; r < TT; r++) {
            float2 va = *reinterpret_cast<const float2*>(&sa[s][r][lane * 2]);
            float2 vx = *reinterpret_cast<const float2*>(&sx[s][r][lane * 2]);
            h.x = fmaf(va.x, h.x, vx.x);
            h.y = fmaf(va.y, h.y, vx.y);
            int t = tile * TT + r;
            if (live && t < time) *reinterpret_cast<float2*>(out + base + (size_t)t * channels + lane * 2) = h;
        }
        __syncwarp();
    }
}
""")


def kernel(a, x):
    batch, time, channels = x.shape
    out = torch.empty_like(x)
    program.linrec_async(((channels + 63) // 64, batch), (32,), (a, x, out, time, channels))
    return out
