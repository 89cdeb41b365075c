import torch

from foretell.cuda import compile

program = compile(r"""
// Multi-stage cp.async ring: a block streams rows of a 1024-column strip through a ring of 8 row buffers in shared
// memory and keeps 5 rows in flight ahead of the compute. 256 threads x 4 columns. 16-byte copies with zero-fill of the
// ragged end (src-size operand); the two halo columns are fetched with 4-byte copies by two threads.
#define STAGES 8
#define AHEAD 6
#define BW 1024
#define PITCH (BW + 8)
__device__ __forceinline__ void cp16(float* s, const float* g, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(s)), "l"(g), "r"(bytes));
}
__device__ __forceinline__ void cp4(float* s, const float* g, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(s)), "l"(g), "r"(bytes));
}
extern "C" __global__ void __launch_bounds__(256) stencil5_ring(const float* __restrict__ x, float* __restrict__ out,
                                     int H, int W, int rows) {
    __shared__ __align__(16) float ring[STAGES][PITCH];
    int t = threadIdx.x, x0 = blockIdx.x * BW, c = x0 + t * 4;
    int y0 = blockIdx.y * rows, y1 = min(H, y0 + rows);
    auto fetch = [&](int y) {
        if (y >= 0 && y < H && y <= y1) {
            float* s = ring[(y + STAGES) % STAGES];
            const float* g = x + (long long)y * W;
            cp16(s + 4 + t * 4, c < W ? g + c : g, c < W ? 16 : 0);
            if (t == 0) cp4(s + 3, x0 > 0 ? g + x0 - 1 : g, x0 > 0 ? 4 : 0);
            if (t == 1) cp4(s + 4 + BW, x0 + BW < W ? g + x0 + BW : g, x0 + BW < W ? 4 : 0);
        }
        asm volatile("cp.async.commit_group;");
    };
    for (int k = -1; k < AHEAD - 1; ++k) fetch(y0 + k);      // AHEAD groups: rows y0-1 .. y0+AHEAD-2
    for (int y = y0; y < y1; ++y) {
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 3));   // rows up to y+1 have landed
        __syncthreads();
        fetch(y + AHEAD - 1);
        const float* u = ring[(y - 1 + STAGES) % STAGES] + 4 + t * 4;
        const float* m = ring[y % STAGES] + 4 + t * 4;
        const float* d = ring[(y + 1) % STAGES] + 4 + t * 4;
        if (c < W) {
            float4 mid = *reinterpret_cast<const float4*>(m), o = mid;
            if (y > 0 && y < H - 1) {
                float4 up = *reinterpret_cast<const float4*>(u), dn = *reinterpret_cast<const float4*>(d);
                float l = m[-1], r = m[4];
                if (c > 0) o.x = 0.6f * mid.x + 0.1f * (up.x + dn.x + l + mid.y);
                o.y = 0.6f * mid.y + 0.1f * (up.y + dn.y + mid.x + mid.z);
                o.z = 0.6f * mid.z + 0.1f * (up.z + dn.z + mid.y + mid.w);
                if (c + 4 < W) o.w = 0.6f * mid.w + 0.1f * (up.w + dn.w + mid.z + r);
            }
            *reinterpret_cast<float4*>(out + (long long)y * W + c) = o;
        }
    }
}
""")


def kernel(x):
    H, W = x.shape
    assert W % 4 == 0
    out = torch.empty_like(x)
    rows = 64
    program.stencil5_ring(((W + 1023) // 1024, (H + rows - 1) // rows), (256,), (x, out, H, W, rows))
    return out
