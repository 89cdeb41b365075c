"""A FlashInfer-Bench definition, executed: `run` on inputs that are drawn, given or read from safetensors files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from foretell.kernels.languages.python_source import Entry
from foretell.kernels.task import Task, Tensor, Workload
from foretell.kernels.tasks import flashinfer
from foretell.kernels.tasks.problem_runtime import FileRuntime
from foretell.kernels.tasks.refusal import BadTask, Refusal

MOST_HEADER_BYTES = 16 << 20
_DTYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
    "BOOL": "bool",
}  # fmt: skip
_RANGES = {"int8": (-128, 128), "uint8": (0, 256)}
_RANGE = (-1024, 1024)  # of other whole numbers


class FlashInferRuntime(FileRuntime):
    """`run` of the definition. Only random inputs change with the seed."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, flashinfer.FILE)
        self._need("run")
        about = json.loads(task.files[flashinfer.DEFINITION])
        self._numbers = {name for name, given in about["inputs"].items() if given.get("shape") is None}

    def inputs(self, workload: Workload, seed: int, device: str) -> list[Any]:
        import torch

        generator = torch.Generator(device=device).manual_seed(seed)
        sources = workload.arguments[flashinfer.INPUTS]
        return [self._input(each, sources.get(each.name), workload, generator, device) for each in self._task.inputs]

    def traced_inputs(self, workload: Workload) -> list[Any]:
        import torch

        sources = workload.arguments[flashinfer.INPUTS]
        return [
            sources.get(each.name, {}).get("value", 1)
            if each.name in self._numbers
            else torch.empty(each.dims(workload.sizes), dtype=getattr(torch, each.dtype), device="cuda")
            for each in self._task.inputs
        ]

    def reference(self, device: str, again: bool = False) -> Entry:
        run, names = self._module.run, [tensor.name for tensor in self._task.outputs]

        def in_order(*inputs: Any) -> Any:
            outputs = run(*inputs)
            return [outputs[name] for name in names] if isinstance(outputs, dict) else outputs

        return in_order

    def _input(
        self, tensor: Tensor, source: Mapping[str, Any] | None, workload: Workload, generator: Any, device: str
    ) -> Any:
        import torch

        shape, dtype = tensor.dims(workload.sizes), getattr(torch, tensor.dtype)
        if source is not None and "value" in source:
            return source["value"]
        if source is not None:
            return self._stored(tensor, shape, source).to(device)
        drawn = _random(shape, dtype, generator, device)
        return drawn.item() if tensor.name in self._numbers else drawn

    def _stored(self, tensor: Tensor, shape: tuple[int, ...], source: Mapping[str, Any]) -> Any:
        found = read_safetensor(Path(source["path"]), source["key"])
        if tuple(found.shape) != shape or str(found.dtype) != f"torch.{tensor.dtype}":
            what = f"{source['key']} in {source['path']} is {tuple(found.shape)} {found.dtype}"
            raise BadTask(Refusal.ODD_INPUTS, what, f"{shape} {tensor.dtype}, as the definition says of {tensor.name}")
        return found


def _random(shape: tuple[int, ...], dtype: Any, generator: Any, device: str) -> Any:
    import torch

    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator, device=device).bool()
    if dtype.is_floating_point:
        drawn = torch.randn(shape, generator=generator, device=device)
        return (drawn.clamp(-2.0, 2.0) if dtype.itemsize == 1 else drawn).to(dtype)
    low, high = _RANGES.get(str(dtype).removeprefix("torch."), _RANGE)
    return torch.randint(low, high, shape, generator=generator, device=device).to(dtype)


def read_safetensor(path: Path, key: str) -> Any:
    """One tensor of a safetensors file. Raises BadTask if the file is damaged or does not hold it."""
    import torch

    try:
        size_bytes = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(MOST_HEADER_BYTES, size_bytes - 8):
                raise ValueError("its header does not fit into it")
            about = json.loads(file.read(length))[key]
            start, end = about["data_offsets"]
            shape, dtype = [int(side) for side in about["shape"]], getattr(torch, _DTYPES[about["dtype"]])
            count = 1
            for side in shape:
                count *= side
            if not 0 <= start <= end <= size_bytes - 8 - length or end - start != count * dtype.itemsize:
                raise ValueError("its data does not fit into it")
            file.seek(8 + length + start)
            data = bytearray(file.read(end - start))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        what = f"{key} cannot be read from {path}: {error!r}"
        raise BadTask(Refusal.NOT_READABLE, what, "a safetensors file that holds it") from error
    if not data:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(data, dtype=dtype).reshape(shape)
