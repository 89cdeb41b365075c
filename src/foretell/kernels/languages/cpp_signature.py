"""The C entry point that a `cpp` candidate must define: it follows from the task's inputs, outputs and sizes."""

from __future__ import annotations

from foretell.kernels.task import Task

ENTRY = "kernel"

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "int8": "int8_t",
}


def signature(task: Task) -> str:
    """`extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols)`: inputs, outputs, sizes."""
    parts = [f"const {C_TYPES[t.dtype]}* {t.name}" for t in task.inputs]
    parts += [f"{C_TYPES[t.dtype]}* {t.name}" for t in task.outputs]
    parts += [f"int64_t {name}" for name in task.sizes]
    return f'extern "C" void {ENTRY}({", ".join(parts)})'
