"""Problems that cannot be recorded: each is refused with its reason, and what to do where that is known."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.devices import described
from foretell.kernels.record import Reason, Recording, record
from foretell.kernels.tasks import BadTask, Refusal, kernelbench, load

H200 = described("h200")


def problem(
    forward: str = "x + 1", inputs: str = "[torch.rand(batch_size, 64)]", head: str = "", batch: str = "8"
) -> str:
    return f"""
import torch
{head}

batch_size = {batch}


class Model(torch.nn.Module):
    def forward(self, x):
        return {forward}


def get_inputs():
    return {inputs}
"""


def recorded(text: str, source: str | None = None) -> Recording:
    task = kernelbench.from_text(text, "odd")
    return record(task, task.workloads[0], source, "torch", H200)


@pytest.mark.parametrize(
    ("text", "reason", "says"),
    [
        (problem(head="raise OSError('no disk')"), Reason.TASK, "OSError: no disk"),
        (problem(head="import a_package_that_is_nowhere"), Reason.TASK, "install a_package_that_is_nowhere"),
        (problem(head="import sys; sys.exit(0)"), Reason.TASK, "SystemExit"),
        (problem(inputs="1 / 0"), Reason.TASK, "making its inputs fails"),
        (problem(inputs="exit(3)"), Reason.TASK, "making its inputs fails"),
        (problem(inputs="[torch.rand(17179869184, 64)]"), Reason.MEMORY, "use smaller sizes"),
        (problem(batch="17179869184"), Reason.MEMORY, "--size batch_size="),
        (problem("x[:, :, None] * x[:, None, :]", batch="33554432"), Reason.MEMORY, "--size batch_size="),
        (problem("x + torch.rand_like(x)"), Reason.NONDETERMINISTIC, "random"),
        (problem("torch.dropout(x, 0.5, True)"), Reason.NONDETERMINISTIC, "random"),
        (problem("x * __import__('time').perf_counter_ns()"), Reason.DEPENDS_ON_DATA, "changed"),
        (problem("x.shape[0]"), Reason.OUTPUTS, "returns int"),
        (problem("[]"), Reason.OUTPUTS, "returns nothing"),
        (problem("x @ torch.rand(3)"), Reason.FAILED, "RuntimeError"),
    ],
)
def test_each_is_refused_with_its_reason(text: str, reason: Reason, says: str) -> None:
    refusal = recorded(text).refusal
    assert refusal is not None and refusal.reason is reason, refusal
    assert says in refusal.sentence, refusal.sentence


def test_a_candidate_of_a_problem_that_is_too_large_is_refused_with_the_same_offer() -> None:
    text = problem(batch="17179869184")
    reference, candidate = (recorded(text, source).refusal for source in (None, "def kernel(x):\n    return x + 1\n"))
    assert reference == candidate and reference is not None and reference.reason is Reason.MEMORY


def test_what_is_offered_can_be_recorded(tmp_path: Path) -> None:
    path = tmp_path / "large.py"
    path.write_text(problem(batch="17179869184"))
    refusal = recorded(path.read_text()).refusal
    assert refusal is not None
    name, _, size = refusal.sentence.partition("--size ")[2].split()[0].partition("=")
    task = load(path, "gpu", {name: int(size)})
    assert record(task, task.workloads[0], None, "torch", H200).ok


def test_nested_outputs_are_flattened() -> None:
    program = recorded(problem("{'a': x + 1, 'b': [x * 2, (x.sum(),)]}")).program
    assert program is not None and [view.shape for view in program.outputs] == [(8, 64), (8, 64), ()]


def test_a_problem_without_inputs_is_no_problem() -> None:
    with pytest.raises(BadTask) as caught:
        recorded(problem().replace("get_inputs", "get_input"))
    assert caught.value.reason is Refusal.NO_INPUTS and "get_inputs" in caught.value.what
