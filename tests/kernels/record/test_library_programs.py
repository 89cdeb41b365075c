"""The library's references recorded for a GPU and replayed on the CPU: their Programs say all that they do."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.devices import described
from foretell.kernels.library import tasks
from foretell.kernels.record import record
from foretell.kernels.record.replay import replay
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves
from tests.kernels.representatives import per_family

H200 = described("h200")


@pytest.mark.parametrize("name", per_family(tasks("gpu"), "gpu"))
def test_a_reference_is_replayed_on_the_cpu(name: str) -> None:
    task = tasks("gpu")[name]
    runtime = runtime_of(task)
    for workload in task.extra:
        recording = record(task, workload, None, "torch", H200)
        assert recording.program is not None, recording.refusal
        inputs = runtime.inputs(workload, 7, "cpu")
        expected = leaves(runtime.reference("cpu")(*[x.clone() for x in inputs]))
        outputs = replay(recording.program, inputs, {}, "cpu")
        assert len(outputs) == len(expected)
        for got, want in zip(outputs, expected, strict=True):
            assert got.dtype == want.dtype
            torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-5, equal_nan=True)
