"""What a program must be so that the bench takes it: the rules of each language, in words for whoever writes one."""

from __future__ import annotations

from foretell.kernels.languages.cpp_signature import signature
from foretell.kernels.task import Task

_CPP = """\
One C++20 file that defines

    {signature}

All arrays are dense and row-major; inputs must not be written. It is built with -O3 -march=native -fopenmp; OpenMP \
and intrinsics may be used, other libraries not. No file, network or process may be opened, and no work may go on \
after the call."""

_PYTHON = """\
One Python module that defines `kernel({inputs})`. It gets dense torch tensors on the GPU, must not write to them, and \
returns {outputs}."""

_CUDA_EXAMPLE = """\
    import torch
    from foretell.cuda import compile

    program = compile(r'''
    extern "C" __global__ void scale(const float* x, float* out, float factor, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = x[i] * factor;
    }
    ''')

    def kernel(x):
        out = torch.empty_like(x)
        program.scale(((x.numel() + 255) // 256,), (256,), (x, out, 2.0, x.numel()))
        return out

Launches take the grid, the block and the arguments (tensors for pointers, numbers for numbers)."""

_OWN = {
    "triton": "The work is done by Triton kernels of its own (`@triton.jit`); torch is for allocating outputs.",
    "cuda": f"""\
The work is done by CUDA C++ kernels of its own, compiled and launched like this; torch is for allocating outputs:

{_CUDA_EXAMPLE}""",
    "torch": "It may use whatever torch offers.",
}

_FOREIGN = {
    "kernelbench": "`class ModelNew(torch.nn.Module)` with the constructor and `forward` of the reference's `Model`",
    "gpumode": "`custom_kernel(data)`, which takes and returns what the reference's `ref_kernel` does",
    "flashinfer": "`run`, which takes and returns what the reference's `run` does",
    "module": "`kernel`, which takes and returns what the reference's `reference` does",
}
_BESIDE = f"""\
Kernels may be Triton's, CUDA C++ in `torch.utils.cpp_extension.load_inline` (built with nvcc in seconds), or CUDA C++ \
compiled and launched like this; torch may be used beside them:

{_CUDA_EXAMPLE}
It gets tensors on the GPU. Times are those of the device alone: a CUDA graph of the call, caches cold, new data each \
time."""
_WRITING = {
    "kernelbench": """\
Inputs must not be written. It is constructed with the arguments and the random seed of `Model`: make the same \
parameters in the same order. They may be packed once, in the constructor or at the first call."""
}
_ROOM = "Inputs must not be written, unless they are there for the results."

_HONEST = """\
Results are checked on fresh inputs{sizes}: each element must lie within the absolute tolerance plus the relative one \
times its expected size of what {expected} gives{rounding}; integers must be equal. Keeping results between calls, \
work put off until after the call and calling the reference are found out and count as failures."""

_ROUNDING = " (more where rounding the inputs once moves the reference's own results further)"

_ENTRIES = {
    "kernelbench": "class ModelNew(torch.nn.Module), as Model in the problem",
    "gpumode": "def custom_kernel(data)",
}


def entry(task: Task) -> str:
    """The entry point that a program of a task defines, in one line."""
    if task.device_kind == "cpu":
        return signature(task)
    word = "run" if task.kind == "flashinfer" else "kernel"
    inputs = ", ".join(tensor.name for tensor in task.inputs) or "*inputs"
    return _ENTRIES.get(task.kind, f"def {word}({inputs})")


def contract(task: Task, language: str) -> str:
    """The rules for a program of a task in a language."""
    sizes = ", at sizes that are not timed too" if task.extra else ""
    if language == "cpp":
        honest = _HONEST.format(sizes=sizes, expected="the task in double precision", rounding="")
    else:
        honest = _HONEST.format(sizes=sizes, expected="the reference on the same inputs", rounding=_ROUNDING)
    if language == "cpp":
        return f"{_CPP.format(signature=signature(task))}\n{honest}"
    if task.kind in _FOREIGN:
        writing = _WRITING.get(task.kind, _ROOM)
        return f"One Python module that defines {_FOREIGN[task.kind]}. {_BESIDE} {writing}\n{honest}"
    inputs = ", ".join(tensor.name for tensor in task.inputs)
    made = [f"{tensor.name} ({tensor.dtype})" for tensor in task.outputs]
    outputs = made[0] if len(made) == 1 else f"the tuple {', '.join(made)}"
    return f"{_PYTHON.format(inputs=inputs, outputs=outputs)} {_OWN[language]}\n{honest}"
