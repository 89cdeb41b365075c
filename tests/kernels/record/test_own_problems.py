"""The problems of benchmarks/problems: what must be refused is, for its reason, and the page fits the results."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from benchmarks.own_problems import FOLDER, KERNELS, PAGE, REFUSED, candidates, problems, read
from benchmarks.own_problems_page import page
from foretell.kernels.devices import described
from foretell.kernels.record import record
from foretell.kernels.tasks import load

RECORDED = ["contrastive_loss_backward", "kv_cache_decode", "list_inputs_optimizer", "soft_dice_backward"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_must_be_refused_is_refused_for_its_reason(name: str) -> None:
    task = load(FOLDER / f"{name}.py")
    refusal = record(task, task.workloads[0], None, "torch", described("h200")).refusal
    assert refusal is not None and REFUSED[name] in str(refusal)


@pytest.mark.parametrize("name", RECORDED)
def test_reference_and_its_copy_are_recorded_alike(name: str) -> None:
    task = load(FOLDER / f"{name}.py")
    reference, copy = (
        record(task, task.workloads[0], text, "torch", described("h200")).program
        for text in (None, candidates(name)["plain"])
    )
    assert reference is not None and copy is not None and reference.run == copy.run


def test_every_problem_has_results_and_every_kernel_a_problem() -> None:
    assert set(problems()) == set(read()) and len(problems()) >= 60
    kernels = {path.stem for path in KERNELS.glob("*.py")}
    assert kernels < set(problems()) and len(kernels) >= 15


def test_the_page_is_made_from_the_results() -> None:
    assert PAGE.read_text() == page(read(), REFUSED)
