"""What it costs to record candidates once more when everything of theirs is built."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.acceptance.draw import from_folder

KERNELS = Path("benchmarks/acceptance/triton")
DEVICE = "h200"
ALLOWED_S = {"triton": 0.15, "extension": 0.5}

EXTENSION = r'''
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>
__global__ void scale(const float* x, float* y, int n, float factor) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = {body};
}}
torch::Tensor run(torch::Tensor x, double factor) {{
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "a contiguous tensor on the device");
    auto y = torch::empty_like(x);
    int n = x.numel();
    for (int pass = 0; pass < {passes}; ++pass)
        scale<<<(n + 255) / 256, 256>>>((pass ? y : x).data_ptr<float>(), y.data_ptr<float>(), n, factor);
    return {result};
}}
"""
DECLARED = "torch::Tensor run(torch::Tensor x, double factor);"
built = load_inline("recorded_{number}", DECLARED, SOURCE, functions=["run"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.run(x, 2.5)
'''
PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.5


def get_inputs():
    return [torch.rand(1024, 1024)]
"""
FORMS = [
    ("x[i] * factor", 1, "y"),
    ("fmaxf(x[i], 0.f) * factor", 1, "torch::relu(y)"),
    ("tanhf(x[i]) * factor", 8, "y"),
    ("x[i] + factor", 1, "torch::matmul(y, x)"),
    ("expf(x[i] - factor)", 2, "y / y.sum(1, true)"),
]


def extension_rows() -> list[dict[str, Any]]:
    return [
        {
            "id": f"extension {number}",
            "reference": PROBLEM,
            "candidate": EXTENSION.format(number=number, body=body, passes=passes, result=result),
        }
        for number, (body, passes, result) in enumerate(FORMS)
    ]


def timed(row: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Recorded in the sandbox once to build, then `repeats` times; or why it cannot be recorded."""
    from foretell.kernels.devices import described
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.record.apart import record_apart
    from foretell.kernels.tasks import kernelbench

    task = kernelbench.from_text(row["reference"], "problem")
    asked = task, task.workloads[0], row["candidate"], language_of(row["candidate"]), described(DEVICE)
    started = time.perf_counter()
    first = record_apart(*asked)
    answer: dict[str, Any] = {"id": row["id"], "first_s": time.perf_counter() - started}
    if first.refusal is not None:
        return answer | {"refusal": str(first.refusal)[:300]}
    samples = []
    for _ in range(repeats):
        started = time.perf_counter()
        again = record_apart(*asked)
        assert again.ok, again.refusal
        samples.append((time.perf_counter() - started, again.cpu_seconds))
    return answer | {
        "again_s": statistics.median(s for s, _ in samples),
        "cpu_s": statistics.median(c for _, c in samples),
    }


def times(repeats: int, most: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, rows in (("triton", from_folder(KERNELS)[:most]), ("extension", extension_rows())):
        answers = [timed(row, repeats) for row in rows]
        recorded = [answer for answer in answers if "again_s" in answer]
        found[kind] = {
            "rows": len(rows),
            "recorded": len(recorded),
            "refusals": dict(Counter(answer["refusal"] for answer in answers if "refusal" in answer)),
            "allowed_s": ALLOWED_S[kind],
            "within": sum(answer["again_s"] <= ALLOWED_S[kind] for answer in recorded),
            "cpu_within": sum(answer["cpu_s"] <= ALLOWED_S[kind] for answer in recorded),
            **{
                name: {
                    "median": statistics.median(answer[name] for answer in recorded),
                    "most": max(answer[name] for answer in recorded),
                }
                for name in ("again_s", "cpu_s", "first_s")
                if recorded
            },
        }
    return found
