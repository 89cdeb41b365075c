"""Triton and `foretell.cuda` candidates recorded without a GPU: images, launches, pointers, configurations."""

from __future__ import annotations

import shutil
import struct

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.languages import nvrtc
from foretell.kernels.program import Allocate, Launch, LibraryCall, Program, Role
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.propose.cuda import templates as cuda_templates
from foretell.kernels.propose.triton import templates as triton_templates
from foretell.kernels.record.parameters import pack, parameters_of
from foretell.kernels.record.refusal import Reason
from foretell.kernels.record.replay import ReplayError, replay
from foretell.kernels.record.stores import stored_parameters
from tests.kernels.record.sources import HEAD, program_of, recorded

needs_cuda_compiler = pytest.mark.skipif(
    nvrtc.toolchain() is None and shutil.which("nvcc") is None, reason="neither NVRTC nor nvcc is here"
)
_MATRIX = [((37, 1040), "float32")]

_SCALE = """\
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


"""


def _triton(body: str, kernels: str = _SCALE) -> str:
    return HEAD + kernels + "def kernel(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def _launches(program: Program) -> tuple[Launch, ...]:
    assert from_bytes(to_bytes(program)) == program
    return program.launches()


def test_a_triton_launch_has_pointers_and_numbers() -> None:
    call = "scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 2.5, B=1024, num_warps=8)"
    body = f"y = torch.empty_like(x)\n{call}\nreturn y"
    program = program_of(_triton(body), _MATRIX, language="triton")
    assert [type(step) for step in program.run] == [Allocate, Launch]
    [launch] = _launches(program)
    assert launch.entry == "scale" and launch.grid == (38, 1, 1) and launch.block == (256, 1, 1)
    assert [(pointer.buffer, pointer.offset_bytes) for pointer in launch.pointers] == [(0, 0), (1, 0)]
    image = program.image(launch.image)
    assert image.cubin is not None and image.cubin.startswith(b"\x7fELF") and image.arch == "sm_90a"
    number, factor = struct.unpack_from("<If", launch.arguments, 16)
    assert number == 37 * 1040 and factor == 2.5
    assert program.outputs[0].buffer == 1 and program.facts["launches"] == 1
    with pytest.raises(ReplayError, match="GPU"):
        replay(program, [torch.zeros(37, 1040)], {}, "cpu")


def test_a_pointer_into_a_view_is_an_offset_and_not_taken_for_aligned() -> None:
    body = "y = torch.empty_like(x)\nscale[(1,)](x.view(-1)[1:], y.view(-1)[3:], 100, 1.5, B=128)\nreturn y"
    [launch] = _launches(program_of(_triton(body), _MATRIX))
    assert [(pointer.buffer, pointer.offset_bytes) for pointer in launch.pointers] == [(0, 4), (1, 12)]


def test_library_calls_beside_kernels_are_in_order() -> None:
    body = "y = x @ x.t()\nz = torch.zeros_like(y)\nscale[(4,)](y, z, y.numel(), 3.0, B=512)\nreturn F.relu(z)"
    program = program_of(_triton(body), _MATRIX)
    kinds = [step.name if isinstance(step, LibraryCall) else type(step).__name__ for step in program.run]
    assert kinds == ["mm", "zeros_like", "Launch", "relu"]


_TUNED = _SCALE.replace(
    "@triton.jit",
    "@triton.autotune([triton.Config({'B': 256}, num_warps=2), triton.Config({'B': 1024}, num_warps=4), "
    "triton.Config({'B': 2048}, num_warps=8)], key=['n'])\n@triton.jit",
)


def test_every_configuration_has_a_program_and_the_first_is_the_default() -> None:
    body = "y = torch.empty_like(x)\nscale[lambda m: (triton.cdiv(x.numel(), m['B']),)](x, y, x.numel(), 2.0)\nreturn y"
    recording = recorded(_triton(body, _TUNED), _MATRIX)
    assert recording.program is not None, recording.refusal
    programs = [recording.program, *recording.alternatives]
    assert [program.launches()[0].block[0] for program in programs] == [64, 128, 256]
    assert len({program.launches()[0].image for program in programs}) == 3
    assert "256" in recording.program.facts["configurations"]["0:scale"]


def test_a_configuration_that_does_not_compile_is_passed_over() -> None:
    kernels = _TUNED.replace("    i = tl.program_id", "    tl.static_assert(B != 256)\n    i = tl.program_id")
    body = "y = torch.empty_like(x)\nscale[lambda m: (triton.cdiv(x.numel(), m['B']),)](x, y, x.numel(), 2.0)\nreturn y"
    recording = recorded(_triton(body, kernels), _MATRIX)
    assert recording.program is not None, recording.refusal
    assert [p.launches()[0].block[0] for p in (recording.program, *recording.alternatives)] == [128, 256]


def test_launches_that_depend_on_data_or_addresses_are_refused() -> None:
    bodies = {
        "grid": "y = torch.empty_like(x)\nscale[(int(x.sum()),)](x, y, 5, 2.0, B=128)\nreturn y",
        "address": "y = torch.empty_like(x)\nscale[(1,)](x, y, x.data_ptr() % 99991, 2.0, B=128)\nreturn y",
    }
    for body in bodies.values():
        refusal = recorded(_triton(body), _MATRIX).refusal
        assert refusal is not None and refusal.reason is Reason.DEPENDS_ON_DATA


def test_an_address_passed_as_a_number_is_a_pointer() -> None:
    kernels = _SCALE.replace("tl.load(x + i", "tl.load(x.to(tl.pointer_type(tl.float32)) + i")
    body = "y = torch.empty_like(x)\nscale[(1,)](x.data_ptr() + 64, y, 100, 2.0, B=128)\nreturn y"
    [launch] = _launches(program_of(_triton(body, kernels), _MATRIX))
    assert [(pointer.buffer, pointer.offset_bytes) for pointer in launch.pointers] == [(0, 64), (1, 0)]


def test_a_kernel_that_does_not_compile_is_a_build_failure() -> None:
    body = "y = torch.empty_like(x)\nscale[(1,)](x, y, 5, 2.0, B=100)\nreturn y"
    refusal = recorded(_triton(body), _MATRIX).refusal
    assert refusal is not None and refusal.reason is Reason.BUILD


_MODEL = (
    HEAD
    + _SCALE
    + """\
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(1040, 1040, bias=False)
        self.folded = None
        self.room = None

    def forward(self, x):
        if self.folded is None:
            self.folded = torch.empty_like(self.f.weight)
            scale[(2048,)](self.f.weight, self.folded, self.folded.numel(), 0.5, B=1024)
            self.room = torch.empty_like(x)
        scale[(64,)](x, self.room, x.numel(), 2.0, B=1024)
        return self.room @ self.folded.t()
"""
)


def test_a_kernel_that_folds_weights_is_setup_and_a_workspace_is_state() -> None:
    program = program_of(_MODEL, _MATRIX, language="triton")
    assert [type(step) for step in program.setup] == [Allocate, Launch, Allocate]
    assert [type(step) for step in program.run] == [Launch, LibraryCall]
    assert [weight.name for weight in program.weights] == ["f.weight"] and program.facts["folds_weights"]
    roles = [program.buffers[pointer.buffer].role for pointer in program.launches()[0].pointers]
    assert roles == [Role.INPUT, Role.STATE]
    assert program.facts["unverified_state"] == [program.launches()[0].pointers[1].buffer]


def test_a_result_kept_by_a_kernel_is_refused() -> None:
    source = _MODEL.replace("        scale[(64,)](x, self.room, x.numel(), 2.0, B=1024)\n", "").replace(
        "self.room = torch.empty_like(x)",
        "self.room = torch.empty_like(x)\n            scale[(64,)](x, self.room, x.numel(), 2.0, B=1024)",
    )
    refusal = recorded(source, _MATRIX).refusal
    assert refusal is not None and refusal.reason is Reason.KEEPS_RESULTS


@needs_cuda_compiler
def test_a_cuda_launch_has_pointers_and_numbers() -> None:
    source = HEAD + (
        'from foretell.cuda import compile\n\nprogram = compile(r"""\n'
        'extern "C" __global__ void scale(const float* x, float* out, double f, bool b, long long n, int m) {\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n && b) out[i] = x[i] * (float)f + m;\n}\n"
        '""")\n\n\ndef kernel(x):\n    out = torch.empty_like(x)\n'
        "    program.scale(((x.numel() + 255) // 256,), (256,), (x, out, 0.25, True, x.numel(), -7), 1024)\n"
        "    return out\n"
    )
    [launch] = _launches(program_of(source, _MATRIX, language="cuda"))
    assert launch.shared_bytes == 1024 and launch.grid == (151, 1, 1) and launch.block == (256, 1, 1)
    assert [(p.position, p.buffer) for p in launch.pointers] == [(0, 0), (8, 1)]
    assert struct.unpack_from("<d?7xqi", launch.arguments, 16) == (0.25, True, 37 * 1040, -7)


@pytest.mark.parametrize("name", ["softmax", "layernorm", "matmul", "prefix_sum"])
def test_templates_are_recorded(name: str) -> None:
    from foretell.kernels.library import get

    task = get(name, "gpu")
    shapes = [(tensor.dims(task.extra[0].sizes), tensor.dtype) for tensor in task.inputs]
    for language, templates in (("triton", triton_templates()), ("cuda", cuda_templates())):
        if name not in templates or (language == "cuda" and nvrtc.toolchain() is None):
            continue
        template = templates[name]
        program = program_of(template.render(template.settings()[0]), shapes, language=language)
        assert program.launches() and program.inputs[0].shape == shapes[0][0]
        written = {p.buffer for launch in program.launches() for p in launch.pointers}
        assert {view.buffer for view in program.outputs} <= written


_COPY = """\
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(source, target, R: tl.constexpr, C: tl.constexpr):
    i, j = tl.program_id(0) * R, tl.program_id(1) * C
    target.store([i, j], source.load([i, j]))


"""


def test_tensor_descriptors_of_the_host_are_described() -> None:
    made = ", ".join(f"TensorDescriptor.from_tensor({name}, [16, 32])" for name in ("x", "y"))
    body = f"y = torch.empty_like(x)\ncopy[(3, 33)]({made}, 16, 32)\nreturn y"
    program = program_of(_triton(body, _COPY), [((48, 1056), "float32")], language="triton")
    [launch] = _launches(program)
    assert [(each.position, each.buffer, each.offset_bytes) for each in launch.tensor_maps] == [(0, 0, 0), (192, 1, 0)]
    for each in launch.tensor_maps:
        assert (each.shape, each.strides_bytes, each.box) == ((1056, 48), (4 * 1056,), (32, 16))
    parameters = parameters_of(program.image(launch.image).ptx, launch.entry)
    assert [p.offset for p in parameters if p.size == 128] == [0, 192]
    assert len(launch.arguments) == parameters[-1].offset + parameters[-1].size


PTX = """
.visible .entry copy_some(
    .param .u64 .ptr .global .align 1 copy_some_param_0,
    .param .u64 .ptr .global .align 1 copy_some_param_1,
    .param .align 4 .b8 copy_some_param_2[12], // a struct
    .param .u8 copy_some_param_3,
    .param .f64 copy_some_param_4
)
{
    ld.param.u64 %rd1, [copy_some_param_0];
    ld.param.u64 %rd2, [copy_some_param_1];
    cvta.to.global.u64 %rd3, %rd2;
    add.s64 %rd4, %rd3, %rd9;
    @%p1 ld.global.f32 %f1, [%rd1];
    st.global.f32 [%rd4+8], %f1;
    ret;
}
"""


def test_parameters_are_read_off_ptx() -> None:
    found = parameters_of(PTX, "copy_some")
    assert [(p.offset, p.size) for p in found] == [(0, 8), (8, 8), (16, 12), (28, 1), (32, 8)]
    block = pack(found, [1, 2, b"abcdefghijkl", True, 0.5])
    assert block == struct.pack("<QQ12sB3xd", 1, 2, b"abcdefghijkl", 1, 0.5)
    assert stored_parameters(PTX, "copy_some") == {1}


def test_floats_have_the_format_of_their_parameter() -> None:
    halves = parameters_of(".entry k(.param .b16 k_0, .param .b16 k_1, .param .f32 k_2) { ret; }", "k")
    assert pack(halves, [1.5, 1.5, -2.0], ["fp16", "bf16", "fp32"]) == struct.pack("<eHf", 1.5, 0x3FC0, -2.0)
