"""What a task costs by its recorded reference."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from foretell.kernels.cost import work_of
from tests.kernels.record.sources import HEAD, program_of


@pytest.mark.parametrize(
    ("body", "inputs", "dtype"),
    [
        ("return (x.bfloat16() @ x.bfloat16().t()).float() + 1", "float32", "bfloat16"),
        ("return x @ x.t().float().half()", "float16", "float16"),
        ("return torch.softmax(x, -1)", "float16", "float16"),
        ("return x.clone()", "float64", "float64"),
        ("return x + x", "int32", "float32"),
    ],
)
def test_the_type_of_a_task_is_the_one_that_most_operations_are_done_in(body: str, inputs: str, dtype: str) -> None:
    program = program_of(f"{HEAD}def kernel(x):\n    {body}\n", [((64, 64), inputs)])
    assert work_of(program).dtype == dtype
