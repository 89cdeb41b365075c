"""Host code to record: small candidates of every form, and how to record and check one on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from foretell.kernels.devices import described
from foretell.kernels.languages.python_source import entry_of, load_module
from foretell.kernels.program import Program
from foretell.kernels.record.recorder import Host, record_host
from foretell.kernels.record.refusal import Recording
from foretell.kernels.record.replay import replay

H200 = described("h200")
HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
Shapes = Sequence[tuple[tuple[int, ...], str]]


def host(source: str, shapes: Shapes, init: Sequence[Any] = (), language: str = "torch") -> Host:
    module: list[Any] = []

    def entry() -> Any:
        if not module:
            module.append(load_module(source))
        return entry_of(module[0], init)

    def inputs() -> list[Any]:
        return [torch.empty(shape, dtype=getattr(torch, dtype), device="cuda") for shape, dtype in shapes]

    return Host(entry, inputs, "test", language)


def recorded(source: str, shapes: Shapes, init: Sequence[Any] = (), language: str = "torch") -> Recording:
    return record_host(host(source, shapes, init, language), H200)


def program_of(source: str, shapes: Shapes, init: Sequence[Any] = (), language: str = "torch") -> Program:
    recording = recorded(source, shapes, init, language)
    assert recording.program is not None, recording.refusal
    return recording.program


def drawn(shapes: Shapes, seed: int) -> list[Any]:
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator).to(getattr(torch, dtype))
        if dtype.startswith(("float", "bfloat"))
        else torch.randint(0, 5, shape, generator=generator).to(getattr(torch, dtype))
        for shape, dtype in shapes
    ]


def check_on_cpu(source: str, shapes: Shapes, init: Sequence[Any] = ()) -> Program:
    """Record, replay on the CPU with fresh data and weights, and compare with the code itself."""
    program = program_of(source, shapes, init)
    for seed in (1, 2):
        torch.manual_seed(seed)
        entry = entry_of(load_module(source), init, "cpu")
        model = getattr(entry, "model", None)
        weights: dict[str, Any] = {}
        if model is not None:
            with torch.no_grad():
                for parameter in () if program.facts["folds_weights"] else model.parameters():
                    parameter.add_(0.01 * seed)  # what was folded into other tensors would be left behind
            weights = {**model.state_dict(), **dict(model.named_buffers())}
            weights |= {name: value for name, value in vars(model).items() if isinstance(value, torch.Tensor)}
        inputs = drawn(shapes, seed)
        got = replay(program, [x.clone() for x in inputs], {k: v.clone() for k, v in weights.items()}, "cpu")
        want = entry(*[x.clone() for x in inputs])
        want = list(want) if isinstance(want, tuple | list) else [want]
        assert len(got) == len(want)
        for mine, theirs in zip(got, want, strict=True):
            assert mine.dtype == theirs.dtype and torch.equal(mine.isnan(), theirs.isnan())
            torch.testing.assert_close(mine, theirs, equal_nan=True)
    return program
