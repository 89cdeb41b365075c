"""What an extension is built from: options that are heeded, functions, files, and bare CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.kernels.languages.extension.bare import arguments, bare_sources, entry_in, is_bare
from foretell.kernels.languages.extension.builder import build
from foretell.kernels.languages.extension.errors import ExtensionError, Reason
from foretell.kernels.languages.extension.prelude import prelude, trimming_options
from foretell.kernels.languages.extension.sources import (
    ExtensionSources,
    cuda_options,
    from_files,
    functions_of,
    host_options,
)

BARE = """
#include <torch/extension.h>
// torch::Tensor commented_out(torch::Tensor x) { }
__global__ void twice(const float* x, float* y, int n) {}
static torch::Tensor helper(torch::Tensor x) { return x.contiguous(); }
torch::Tensor entry(torch::Tensor x, const torch::Tensor& weight, int64_t dim) {
    const char* text = "torch::Tensor in_a_string(torch::Tensor x) {";
    return helper(x);
}
void after(torch::Tensor x) {}
"""


def test_only_harmless_options_are_heeded() -> None:
    given = ["-O3", "--use_fast_math", "-I/etc", "-arch=sm_70", "-Xptxas", "-O3", "-DWIDTH=32", "--ptxas-options=-v"]
    assert cuda_options(given) == ("-O3", "--use_fast_math", "-Xptxas=-O3", "-DWIDTH=32")
    hostile = [
        "-fplugin=/tmp/x.so",
        "-include",
        "/etc/passwd",
        "-Xcompiler=-B/tmp",
        "-ccbin=/tmp/x",
        "@/tmp/options",
        "-D",
    ]
    assert cuda_options(hostile) == host_options(hostile) == ()
    assert host_options(["-O3", "-march=native", "-Wl,-rpath,/tmp", "-specs=/tmp/x", ""]) == ("-O3", "-march=native")


def test_functions_come_as_a_name_a_list_or_with_documentation() -> None:
    assert functions_of("f") == (("f", "f"),)
    assert functions_of(["f", "g"]) == (("f", "f"), ("g", "g"))
    assert functions_of({"f": "what it does"}) == (("f", "what it does"),)
    assert functions_of(None) == ()


@pytest.mark.parametrize("name", ["../escape", "a b", "", "x" * 200, "1st"])
def test_a_name_must_be_one_of_a_module(name: str) -> None:
    with pytest.raises(ExtensionError) as caught:
        ExtensionSources(name)
    assert caught.value.reason is Reason.UNSUPPORTED


def test_a_bound_function_must_be_a_name() -> None:
    with pytest.raises(ExtensionError):
        ExtensionSources("fine", functions=(("f); system(0", ""),))


def test_files_bring_the_headers_beside_them(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text('#include "shared.h"\n#include "../outside.h"\n#include <cuda.h>\n')
    (tmp_path / "two.cpp").write_text("int two();\n")
    (tmp_path / "shared.h").write_text('#include "deeper.h"\n')
    (tmp_path / "deeper.h").write_text("int deeper;\n")
    (tmp_path.parent / "outside.h").write_text("int outside;\n")
    sources = from_files("both", [tmp_path / "one.cu", str(tmp_path / "two.cpp")])
    assert len(sources.cuda) == len(sources.cpp) == 1
    assert set(sources.headers) == {"shared.h", "deeper.h"}
    with pytest.raises(ExtensionError):
        from_files("none", [tmp_path / "absent.cu"])


def test_the_entry_of_a_bare_file_is_the_last_function_that_returns_a_tensor() -> None:
    entry = entry_in(BARE)
    assert (entry.function, entry.tensors, entry.bound) == ("entry", (True, True, False), False)
    assert bare_sources(BARE).functions == (("entry", ""),)
    assert is_bare(BARE) and not is_bare("import torch\nsource = '''#include <torch/extension.h>'''")
    with pytest.raises(ExtensionError) as caught:
        entry_in("__global__ void only(float* x) {}")
    assert caught.value.reason is Reason.NO_ENTRY


def test_a_bare_file_that_binds_its_entry_keeps_the_name_it_gave() -> None:
    bound = BARE + 'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &entry, "doc"); }'
    assert entry_in(bound).name == "forward"
    assert bare_sources(bound).functions == ()


def test_a_bare_entry_gets_inputs_then_parameters_and_numbers() -> None:
    entry = entry_in(BARE)
    assert arguments(entry, ["x"], {"weight": "w", "bias": "b"}, [64, "text", 2]) == ["x", "w", 64]
    with pytest.raises(ExtensionError):
        arguments(entry, ["x"], {}, [1])
    with pytest.raises(ExtensionError):
        arguments(entry, ["x", "w"], {}, [])


def test_a_module_that_is_bound_twice_is_refused_as_torch_refuses_it() -> None:
    text = 'int f() { return 1; }\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }'
    assert not ExtensionSources("own", cpp=(text,)).bound_twice
    assert not ExtensionSources("none", cpp=("// PYBIND11_MODULE(x, m)",), functions=(("f", ""),)).bound_twice
    with pytest.raises(ExtensionError) as caught:
        build(ExtensionSources("twice", cpp=(text,), functions=(("f", ""),)), "sm_90a")
    assert caught.value.reason is Reason.INVALID


def test_a_source_gets_the_headers_that_its_words_ask_for() -> None:
    assert "<map>" in prelude("std::map<int, int> m;", cuda=False)
    assert "<map>" not in prelude("a map of things", cuda=False)
    assert "<map>" in prelude("using namespace std; map<int, int> m;", cuda=False)
    assert "<algorithm>" in prelude("int x = std::max({1, 2, 3});", cuda=False)
    assert "<algorithm>" not in prelude("int x = std::max(1, 2);", cuda=False)
    assert "cuda_fp16" in prelude("half2 x;", cuda=True) and "cuda_fp16" not in prelude("halfway", cuda=True)
    assert "FORETELL_DISPATCH" in prelude("AT_DISPATCH_FLOATING_TYPES(t, n, f)", cuda=True)


@pytest.mark.parametrize(
    "text, trimmed", [("x = sqrtf(y);", True), ("x = std::beta(a, b);", False), ("beta * x", True)]
)
def test_special_functions_are_included_if_they_are_called(text: str, trimmed: bool) -> None:
    assert bool(trimming_options(text)) == trimmed
