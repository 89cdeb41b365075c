# task: problem.py
import torch
from foretell.cuda import compile

program = compile(r'''
extern "C" __global__ void __launch_bounds__(256) scale(const float4* x, float4* out, int n4) {
    int i = blockIdx.x * 256 + threadIdx.x;
    
    if (i >= n4) return;
    float4 v = __ldcs(x + i);
    __stcs(out + i, make_float4(v.x * 2.f + 1.f, v.y * 2.f + 1.f, v.z * 2.f + 1.f, v.w * 2.f + 1.f));
}
''')


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out, n = torch.empty_like(x), x.numel() // 4
        program.scale(((n + 255) // 256,), (256,), (x, out, n))
        return out
