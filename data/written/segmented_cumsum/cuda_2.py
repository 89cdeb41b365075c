import torch
from foretell.cuda import compile

# Block per row. Each thread takes 8 consecutive columns (two float4, one 8-byte load of marks), scans them locally; then a
# segmented warp scan of (sum, flag) and a short serial pass over the warps. The whole row in one go (<= 8192 columns).
program = compile(r"""
extern "C" __global__ void segsum_block(const float* __restrict__ x, const unsigned char* __restrict__ marks,
                                        float* __restrict__ out, int cols) {
    __shared__ float wv[32];
    __shared__ int wf[32];
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const size_t base = (size_t)blockIdx.x * cols;
    const int c = tid * 8;
    const bool live = c < cols;              // cols is a multiple of 8
    float v[8];
    unsigned long long mk = 0x0101010101010101ull;
    #pragma unroll
    for (int i = 0; i < 8; i++) v[i] = 0.f;
    if (live) {
        float4 p = *reinterpret_cast<const float4*>(x + base + c);
        float4 q = *reinterpret_cast<const float4*>(x + base + c + 4);
        v[0] = p.x; v[1] = p.y; v[2] = p.z; v[3] = p.w;
        v[4] = q.x; v[5] = q.y; v[6] = q.z; v[7] = q.w;
        mk = *reinterpret_cast<const unsigned long long*>(marks + base + c);
    }
    int first = 8;                            // first restart inside this thread's items
    #pragma unroll
    for (int i = 0; i < 8; i++) {
        bool restart = ((mk >> (8 * i)) & 0xFF) == 0;
        if (restart && first == 8) first = i;
        if (i > 0 && !restart) v[i] += v[i - 1];
    }
    float s = v[7];
    int f = first < 8;
    #pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        float u = __shfl_up_sync(0xffffffffu, s, d);
        int g = __shfl_up_sync(0xffffffffu, f, d);
        if (lane >= d) { s += f ? 0.f : u; f |= g; }
    }
    if (lane == 31) { wv[warp] = s; wf[warp] = f; }
    __syncthreads();
    float in = 0.f;                           // what flows into this warp
    for (int w = 0; w < warp; w++) in = wf[w] ? wv[w] : in + wv[w];
    float ps = __shfl_up_sync(0xffffffffu, s, 1);
    int pf = __shfl_up_sync(0xffffffffu, f, 1);
    float before = lane == 0 ? in : (pf ? ps : ps + in);
    #pragma unroll
    for (int i = 0; i < 8; i++) if (i < first) v[i] += before;
    if (live) {
        *reinterpret_cast<float4*>(out + base + c) = make_float4(v[0], v[1], v[2], v[3]);
        *reinterpret_cast<float4*>(out + base + c + 4) = make_float4(v[4], v[5], v[6], v[7]);
    }
}
""")


def kernel(x, marks):
    rows, cols = x.shape
    out = torch.empty_like(x)
    threads = (cols // 8 + 31) // 32 * 32
    program.segsum_block((rows,), (threads,), (x, marks, out, cols))
    return out
