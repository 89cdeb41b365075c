"""C++ and CUDA extensions recorded without a GPU: launches, fills, copies, symbols, calls of torch from C++."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.devices import described
from foretell.kernels.languages.extension import toolchain
from foretell.kernels.program import Allocate, Copy, Fill, Launch, LibraryCall, SymbolUpload
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.record import Reason, Recording, record
from foretell.kernels.record.recorder import record_host
from foretell.kernels.tasks import load
from tests.kernels.record.sources import HEAD, host

pytestmark = pytest.mark.skipif(toolchain.nvcc() is None, reason="nvcc is not here: extensions cannot be compiled")

_MATRIX = [((8, 16), "float32")]

CUDA = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

__constant__ float table[4];
struct Sizes { int rows; int cols; float* out; };

__global__ void scale(const float* x, Sizes sizes, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < sizes.rows * sizes.cols) sizes.out[i] = x[i] * factor * table[i & 3];
}

torch::Tensor scaled(torch::Tensor x, double factor) {
    static bool ready = false;
    if (!ready) {
        float values[4] = {1, 2, 3, 4};
        cudaMemcpyToSymbol(table, values, sizeof(values));
        ready = true;
    }
    auto out = torch::zeros_like(x);
    auto spare = torch::empty({4}, x.options());
    cudaMemset(spare.data_ptr<float>(), 1, 8);
    cudaMemcpy(spare.data_ptr<float>() + 2, x.data_ptr<float>(), 8, cudaMemcpyDeviceToDevice);
    int rows = x.size(0), cols = x.size(1);
    scale<<<(rows * cols + 63) / 64, 64, 256>>>(x.data_ptr<float>(), Sizes{rows, cols, out.data_ptr<float>()}, factor);
    return torch::relu(out) + spare[3];
}

torch::Tensor centred(torch::Tensor x) {
    static float* room = nullptr;
    if (!room) cudaMalloc(&room, 16);
    float values[4] = {4, 3, 2, 1};
    cudaMemcpyToSymbol(table, values, sizeof(values));
    cudaMemset(room, 0, 16);
    scale<<<1, 4>>>(x.data_ptr<float>(), Sizes{1, 4, room}, 1.0f);
    auto out = torch::empty_like(x);
    scale<<<1, 64>>>(room, Sizes{1, 4, out.data_ptr<float>()}, 1.0f);
    return out;
}

torch::Tensor peek(torch::Tensor x) {
    float first;
    cudaMemcpy(&first, x.data_ptr<float>(), 4, cudaMemcpyDeviceToHost);
    return x * first;
}

torch::Tensor host_sum(torch::Tensor x) {
    auto there = x.cpu();
    float total = 0;
    for (int i = 0; i < there.numel(); ++i) total += there.data_ptr<float>()[i];
    return x * total;
}
"""
DECLARED = """
torch::Tensor scaled(torch::Tensor, double);
torch::Tensor centred(torch::Tensor);
torch::Tensor peek(torch::Tensor);
torch::Tensor host_sum(torch::Tensor);
"""


def _recorded(call: str) -> Recording:
    source = (
        f"{HEAD}from torch.utils.cpp_extension import load_inline\n\n"
        f"built = load_inline('recorded', cpp_sources={DECLARED!r}, cuda_sources={CUDA!r}, "
        "functions=['scaled', 'centred', 'peek', 'host_sum'])\n\n\n"
        f"def kernel(x):\n    return {call}\n"
    )
    plain = host(source, _MATRIX)
    return record_host(type(plain)(plain.entry, plain.inputs, "test", "torch", True), described("h200"))


def test_everything_that_host_code_asks_for_is_a_step() -> None:
    recording = _recorded("built.scaled(x, 2.5)")
    program = recording.program
    assert program is not None, recording.refusal
    assert from_bytes(to_bytes(program)) == program
    [upload] = program.setup
    assert isinstance(upload, SymbolUpload) and upload.source == struct.pack("<4f", 1, 2, 3, 4)
    kinds = [step.name if isinstance(step, LibraryCall) else type(step) for step in program.run]
    assert kinds == ["zeros_like", Allocate, Fill, Copy, Launch, "relu", "add"]
    [launch] = program.launches()
    assert launch.grid == (2, 1, 1) and launch.block == (64, 1, 1) and launch.shared_bytes == 256
    assert upload.image == launch.image and "scale" in launch.entry
    assert [pointer.position for pointer in launch.pointers] == [0, 16]  # the second lies inside a struct
    assert struct.unpack_from("<ii", launch.arguments, 8) == (8, 16)
    assert struct.unpack_from("<f", launch.arguments, 24) == (2.5,)
    fill, copy = program.run[2], program.run[3]
    assert isinstance(fill, Fill) and (fill.region.bytes, fill.pattern) == (8, b"\1")
    assert isinstance(copy, Copy) and (copy.target.offset_bytes, copy.target.bytes) == (8, 8)


def test_what_every_call_overwrites_is_no_state() -> None:
    recording = _recorded("built.centred(x)")
    program = recording.program
    assert program is not None, recording.refusal
    assert [type(step) for step in program.setup] == [Allocate]  # the room, which only has to be there
    kinds = [type(step) for step in program.run]
    assert kinds == [SymbolUpload, Fill, Launch, Allocate, Launch]
    assert "unverified_state" not in program.facts


@pytest.mark.parametrize(
    ("call", "reason"), [("built.peek(x)", Reason.DEPENDS_ON_DATA), ("built.host_sum(x)", Reason.HOST_DATA)]
)
def test_looking_at_values_from_cpp_is_refused(call: str, reason: Reason) -> None:
    refusal = _recorded(call).refusal
    assert refusal is not None and refusal.reason is reason


BARE = r"""
#include <torch/extension.h>

__global__ void shift(const float* x, const float* bias, float* out, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = x[i] + bias[i % cols];
}

torch::Tensor forward(torch::Tensor x, torch::Tensor bias) {
    auto out = torch::empty_like(x);
    shift<<<1, 128>>>(x.data_ptr<float>(), bias.data_ptr<float>(), out.data_ptr<float>(), x.size(0), x.size(1));
    return out;
}
"""
PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(16))

    def forward(self, x):
        return x + self.bias


def get_inputs():
    return [torch.rand(8, 16)]
"""


@pytest.mark.full
def test_a_bare_file_gets_the_parameters_of_the_reference(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(PROBLEM)
    task = load(tmp_path / "problem.py")
    recording = record(task, task.workloads[0], BARE, "cuda", described("h200"))
    assert recording.program is not None, recording.refusal
    assert [weight.name for weight in recording.program.weights] == ["bias"]
    [launch] = recording.program.launches()
    assert [pointer.buffer for pointer in launch.pointers] == [0, 1, 2]


def test_an_extension_that_does_not_build_is_refused_even_if_host_code_has_another_way() -> None:
    source = (
        f"{HEAD}from torch.utils.cpp_extension import load_inline\n\ntry:\n    built = load_inline('broken', "
        "cpp_sources='torch::Tensor f(torch::Tensor x) { return missing(x); }', functions=['f'])\n"
        "except Exception:\n    built = None\n\n\ndef kernel(x):\n    return built.f(x) if built else x + 1\n"
    )
    plain = host(source, _MATRIX)
    refusal = record_host(type(plain)(plain.entry, plain.inputs, "", "torch", True), described("h200")).refusal
    assert refusal is not None and refusal.reason is Reason.BUILD and "missing" in refusal.sentence


def test_an_extension_that_no_builder_could_build_leaves_the_other_way() -> None:
    source = (
        f"{HEAD}from torch.utils.cpp_extension import load_inline\n\ntry:\n    built = load_inline('undeclared', "
        "cpp_sources='', functions=['f'])\nexcept Exception:\n    built = None\n\n\n"
        "def kernel(x):\n    return built.f(x) if built else x + 1\n"
    )
    plain = host(source, _MATRIX)
    program = record_host(type(plain)(plain.entry, plain.inputs, "", "torch", True), described("h200")).program
    assert program is not None and [call.name for call in program.library_calls()] == ["add"]


def test_a_function_that_cpp_sources_do_not_declare_is_bound_by_no_builder() -> None:
    source = (
        f"{HEAD}from torch.utils.cpp_extension import load_inline\n\ntry:\n    built = load_inline('kernel_bound', "
        "cpp_sources='// f', cuda_sources='__global__ void f(float* x) { x[0] = 1; }', functions=['f'])\n"
        "except Exception:\n    built = None\n\n\n"
        "def kernel(x):\n    return built.f(grid=1, args=[x]) if built else x + 1\n"
    )
    plain = host(source, _MATRIX)
    program = record_host(type(plain)(plain.entry, plain.inputs, "", "torch", True), described("h200")).program
    assert program is not None and [call.name for call in program.library_calls()] == ["add"]
