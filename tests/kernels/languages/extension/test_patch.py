"""`load_inline`, `load` and bare CUDA files, as candidates use them, built by this package."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode

from foretell.kernels.languages import extension
from foretell.kernels.languages.extension import ExtensionError, Reason, events, toolchain
from foretell.kernels.languages.python_source import entry_of, is_extension, load_module

needs_compiler = pytest.mark.skipif(toolchain.host_compiler() is None, reason="no C++ compiler is here")
needs_nvcc = pytest.mark.skipif(toolchain.nvcc() is None, reason="nvcc is not here: CUDA extensions cannot be compiled")

INLINE = """
import torch
from torch.utils.cpp_extension import load_inline
built = load_inline(
    name="inline_test",
    cpp_sources=["torch::Tensor minus(torch::Tensor x) { return x * -1; }"],
    functions=["minus"],
    extra_cflags=["-O1"],
    verbose=True,
)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return built.minus(x)
"""
CLASHING = """
import torch
from torch.utils.cpp_extension import load_inline
built = load_inline("clashing", '''
static int width() { return 32; }
torch::Tensor plus(torch::Tensor x, double by = 1.0);
torch::Tensor wide(torch::Tensor x) { return plus(x, width()); }
''', '''
static int width() { return 64; }
__global__ void plus_kernel(const float* x, float* y, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + by;
}
torch::Tensor plus(torch::Tensor x, double by = 1.0) {
  auto y = torch::empty_like(x);
  const int n = x.numel(), blocks = (n + width() - 1) / width();
  plus_kernel<<<blocks, width()>>>(x.data_ptr<float>(), y.data_ptr<float>(), n, by);
  return y;
}
''', functions={"wide": "adds 32", "plus": "adds"})
"""
BARE = """
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
__global__ void scale_kernel(const float* x, const float* w, float* y, int64_t n) {
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * w[0];
}
static at::Tensor checked(at::Tensor x) { return x.contiguous(); }
torch::Tensor scale(torch::Tensor x, torch::Tensor w, int64_t copies) {
  auto y = torch::empty({copies, x.numel()}, x.options());
  scale_kernel<<<1, 128>>>(checked(x).data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""


def _recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    seen: list[Any] = []
    monkeypatch.setattr(extension, "recorder", seen.append)
    return seen


@needs_compiler
def test_a_module_with_load_inline_is_loaded_as_it_is() -> None:
    assert is_extension(INLINE)
    module = load_module(INLINE)
    assert torch.equal(entry_of(module, device="cpu")(torch.arange(3.0)), -torch.arange(3.0))
    assert Path(module.built.__file__).parent.parent.name == "extensions"


@needs_compiler
def test_an_extension_is_built_once_and_by_content() -> None:
    sources = extension.ExtensionSources("inline_test", cpp=("int one() { return 1; }",), functions=(("one", ""),))
    other = extension.ExtensionSources("inline_test", cpp=("int one() { return 2; }",), functions=(("one", ""),))
    path = extension.build(sources, "sm_90a")
    made = path.stat().st_mtime_ns
    assert extension.build(sources, "sm_90a") == path and path.stat().st_mtime_ns == made
    assert extension.build(other, "sm_90a") != path
    assert (extension.load(path).one(), extension.load(extension.build(other, "sm_90a")).one()) == (1, 2)


@needs_compiler
def test_a_failure_is_told_even_if_the_candidate_swallows_it() -> None:
    source = INLINE.replace("x * -1", "x * no_such_name").replace("built = load_inline(", "load_inline(")
    with extension.patched() as builds:
        with pytest.raises(ExtensionError) as caught:
            exec(source, {})
        exec("try:\n" + "\n".join(f"    {line}" for line in source.splitlines()) + "\nexcept Exception:\n    pass", {})
    assert caught.value.reason is Reason.DOES_NOT_COMPILE and "no_such_name" in caught.value.log
    assert len(builds.failures) == 2 and str(extension.usual_arch()).startswith("sm_")


@needs_compiler
def test_what_cannot_be_built_here_falls_back_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.utils.cpp_extension as torch_builder

    made = ModuleType("by_torch")
    asked: list[str] = []

    def load_inline(
        name: str,
        cpp_sources: Any,
        cuda_sources: Any = None,
        functions: Any = None,
        extra_cflags: Any = None,
        extra_cuda_cflags: Any = None,
    ) -> ModuleType:
        asked.append(name)
        return made

    monkeypatch.setattr(torch_builder, "load_inline", load_inline)
    with extension.patched(fallback=True) as builds:
        assert torch_builder.load_inline("gone", "#include <torch/csrc/no_such.h>\nint x = nothing();") is made
    assert asked == ["gone"] and len(builds.failures) == 1
    assert torch_builder.load_inline is load_inline


@needs_nvcc
@pytest.mark.full
def test_texts_that_clash_are_compiled_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(CLASHING)
    seen = _recorded(monkeypatch)
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.built.wide(torch.empty(100, device="cuda"))
    [launch] = seen
    assert launch.block == (64, 1, 1) and launch.arguments[20:24] == b"\x00\x00\x00\x42"  # 32.0f
    assert module.built.wide.__doc__ == "adds 32"


@needs_nvcc
def test_a_bare_file_is_a_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(BARE)
    seen = _recorded(monkeypatch)

    def reference(x: Any) -> Any:
        return x

    reference.model = torch.nn.Module()  # type: ignore[attr-defined]
    with FakeTensorMode(allow_non_fake_inputs=True):
        reference.model.register_buffer("weight", torch.empty(1, device="cuda"))  # type: ignore[attr-defined]
        entry = entry_of(module, [4], reference=lambda: reference)
        y = entry(torch.empty(100, device="cuda"))
    assert y.shape == (4, 100) and [type(event) for event in seen] == [events.Launched]
    assert len(seen[0].arguments) == 32


@needs_nvcc
@pytest.mark.full
def test_functions_that_our_runtime_lacks_are_named() -> None:
    text = "void f() { cudaGraph_t graph; cudaGraphCreate(&graph, 0); }"
    with pytest.raises(ExtensionError, match="cudaGraphCreate") as caught:
        extension.build(extension.ExtensionSources("graphs", cuda=(text,), functions=(("f", ""),)), "sm_90a")
    assert caught.value.reason is Reason.UNSUPPORTED


@needs_nvcc
@pytest.mark.full
def test_files_are_built_by_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.utils.cpp_extension as torch_builder

    (tmp_path / "width.h").write_text("#define WIDTH 96\n")
    (tmp_path / "one.cu").write_text(
        '#include <torch/extension.h>\n#include "width.h"\n__global__ void k(float* x) { x[threadIdx.x] = 1; }\n'
        "void fill(torch::Tensor x) { k<<<1, WIDTH>>>(x.data_ptr<float>()); }\n"
    )
    (tmp_path / "two.cpp").write_text(
        "#include <torch/extension.h>\nvoid fill(torch::Tensor x);\n"
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fill", &fill); }\n'
    )
    with extension.patched():
        module = torch_builder.load("from_files", [str(tmp_path / "two.cpp"), str(tmp_path / "one.cu")])
    seen = _recorded(monkeypatch)
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.fill(torch.empty(96, device="cuda"))
    assert seen[0].block == (96, 1, 1)
