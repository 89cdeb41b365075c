# task: problem.py
import torch
from foretell.cuda import compile

program = compile(r'''
extern "C" __global__ void __launch_bounds__(256) outliers(const float4* x, float4* out, unsigned long long* count, int cols4) {
    const float nan = __int_as_float(0x7fc00000);
    int row = blockIdx.x, found = 0;
    for (int c = threadIdx.x; c < cols4; c += 256) {
        size_t i = (size_t)row * cols4 + c;
        float4 v = __ldcs(x + i);
        bool p = fabsf(v.x) > 3.5f, q = fabsf(v.y) > 3.5f, r = fabsf(v.z) > 3.5f, s = fabsf(v.w) > 3.5f;
        found += p + q + r + s;
        
        __stcs(out + i, make_float4(p ? v.x : nan, q ? v.y : nan, r ? v.z : nan, s ? v.w : nan));
    }
    if (found) atomicAdd(count + row, (unsigned long long)found);
}
''')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        count = torch.zeros(x.shape[0], dtype=torch.int64, device=x.device)
        program.outliers((x.shape[0],), (256,), (x, out, count, x.shape[1] // 4))
        return out, count
