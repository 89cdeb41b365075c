"""Seconds of a core that building a fresh extension takes, with and without trimmed standard headers.

    python -m benchmarks.programs.compile        # benchmarks/results/programs_compile.json; needs nvcc, no GPU

Time on a core of nvcc and its children, with the command that `extension.builder` uses, up to the object; medians.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

from benchmarks.machine import describe
from foretell.kernels.languages.extension import builder
from foretell.kernels.languages.extension.headers import own_headers, written_headers
from foretell.kernels.languages.extension.prelude import trimming_options
from foretell.kernels.languages.extension.sources import ExtensionSources

RESULTS = Path("benchmarks/results/programs_compile.json")
REPEATS = 5
KERNEL = """
__global__ void scale(const float* x, float* y, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = by * tanhf(x[i]);
}
torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 2.0f, n);
  return y;
}
"""
EMPTY = "__global__ void nothing() {}\nvoid launch() { nothing<<<1, 1>>>(); }\n"  # what nvcc takes for no text at all
DECLARED = "torch::Tensor forward(torch::Tensor x);"


def seconds(command: list[str], folder: Path) -> float:
    """Seconds of a core that a command and its children take. Raises CalledProcessError if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    sources = ExtensionSources("timed_extension", (DECLARED,), (KERNEL,), (("forward", ""),))
    trimming = trimming_options(sources.text)
    trimmed = [*builder._nvcc_command(sources, "sm_90a"), "extension.cu", "-c", "-o", "made.o"]
    whole = [word for word in trimmed if word not in trimming]
    text = "\n".join(("#include <torch/extension.h>", *sources.cpp, *sources.cuda, builder.bindings(sources)))
    times: dict[str, list[float]] = {"whole": [], "trimmed": [], "empty": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        builder._write(folder / "include", {**own_headers(), **written_headers(sources)})
        builder._write(folder, {"extension.cu": text, "empty.cu": EMPTY})
        for _ in range(REPEATS):
            times["whole"].append(seconds(whole, folder))
            times["trimmed"].append(seconds(trimmed, folder))
            times["empty"].append(seconds([word.replace("extension.cu", "empty.cu") for word in trimmed], folder))
    report = {"machine": describe(), "repeats": REPEATS} | {
        f"{name}_s": statistics.median(values) for name, values in times.items()
    }
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
