"""Every task keeps its promises: references are right, costs are positive, templates varied and working."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from foretell.kernels.bench.cpu import CpuBench, reference_candidate
from foretell.kernels.library import UnknownTask, get, tasks
from foretell.kernels.measurement import Status
from foretell.kernels.profiles import BenchEffort
from foretell.kernels.propose.cpp import templates
from foretell.kernels.propose.template import TemplateProposer
from foretell.kernels.task import Task, Tensor, evaluate_size, fill_array, tensor_bytes
from tests.kernels.representatives import per_family, representatives

NAMES = list(tasks())
TELLING = ("naive", "slow", "fast", "bad", "good", "race", "wrong", "optimi", "//", "/*")


@pytest.fixture(scope="module")
def bench() -> Iterator[CpuBench]:
    effort = BenchEffort(check_seeds=1, fewest_pairs=2, most_pairs=2, busy_cap_s=0.5, run_timeout_s=30.0, processes=1)
    bench = CpuBench(effort)
    yield bench
    bench.close()


def test_there_are_enough_tasks_and_families() -> None:
    assert len(NAMES) >= 16
    assert len({task.family for task in tasks().values()}) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_task_is_well_formed(name: str) -> None:
    task = get(name)
    assert 2 <= len(task.workloads) <= 4
    assert len(task.extra) >= 2
    assert task.tolerance.reason
    assert len(task.inputs) + len(task.outputs) + len(task.sizes) <= 16, "the runner passes at most 16 arguments"
    for workload in task.workloads:
        moved = sum(tensor_bytes(t, workload.sizes) for t in (*task.inputs, *task.outputs))
        assert 0 < task.least_bytes(workload.sizes) <= moved
        assert task.flops(workload.sizes) >= 0


@pytest.mark.parametrize("name", NAMES)
def test_oracle_gives_outputs_of_the_declared_shape(name: str) -> None:
    task = get(name)
    for workload in task.extra:
        rng = np.random.default_rng(7)
        arrays = {tensor.name: fill_array(tensor, workload.sizes, rng) for tensor in task.inputs}
        outputs = task.oracle(arrays, workload.sizes)
        assert [o.shape for o in outputs] == [t.dims(workload.sizes) for t in task.outputs]
        assert all(np.isfinite(o).all() for o in outputs)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_reference_and_plainest_setting_of_the_template_are_right(name: str, bench: CpuBench) -> None:
    _check_reference_and_plainest(get(name), bench)


@pytest.mark.parametrize("name", sorted(representatives(NAMES, "cpu")))
def test_they_are_right_on_the_smallest_workload(name: str, bench: CpuBench) -> None:
    task = get(name)
    smallest = min(task.workloads, key=lambda workload: task.least_bytes(workload.sizes))
    _check_reference_and_plainest(replace(task, workloads=(smallest,)), bench)


def _check_reference_and_plainest(task: Task, bench: CpuBench) -> None:
    """The first value of every knob is the plainest choice: it must be right, and so must the reference."""
    template = templates()[task.name]
    candidates = [reference_candidate(task), template.candidate(template.settings()[0])]
    for _, measurement in bench.measure(task, candidates):
        assert measurement.status is Status.OK, measurement.message
        assert [t.workload for t in measurement.timings] == [w.name for w in task.workloads]


@pytest.mark.parametrize("name", per_family(NAMES))
def test_template_is_varied_deterministic_and_tells_nothing(name: str) -> None:
    template = templates()[name]
    settings = template.settings()
    sources = [template.render(knobs) for knobs in settings]
    candidates = {template.candidate(knobs).id for knobs in settings}
    assert 100 <= len(candidates) <= 500
    assert sources == [template.render(knobs) for knobs in settings]
    for source in sources:
        assert not any(word in source.lower() for word in TELLING)


def test_proposer_never_repeats_and_goes_past_the_settings() -> None:
    task, template = get("matmul"), templates()["matmul"]
    proposer = TemplateProposer(template)
    root = reference_candidate(task)
    settings = {template.candidate(knobs).id for knobs in template.settings()}
    order: list[str] = []
    for seed in range(8):
        order += [child.id for child in proposer.propose(task, [root], 64, np.random.default_rng(seed), set(order))]
    assert len(order) == len(set(order)) == 512 > len(settings)
    assert set(order[: len(settings)]) == settings and not settings & set(order[len(settings) :])


def test_children_of_a_template_candidate_are_neighbours() -> None:
    task, template = get("softmax"), templates()["softmax"]
    parent = template.candidate(template.settings()[0])
    children = TemplateProposer(template).propose(task, [parent], 5, np.random.default_rng(0), {parent.id})
    assert all(child.parents == (parent.id,) for child in children)
    changed = [
        sum(value != parent.origin.detail["knobs"][name] for name, value in child.origin.detail["knobs"].items())
        for child in children
    ]
    assert min(changed) >= 1
    assert sum(count <= 2 for count in changed) >= 3, "only where no valid neighbour was found may it jump"


def test_unknown_task_suggests_the_nearest() -> None:
    with pytest.raises(UnknownTask, match="softmax"):
        get("softmx")


def test_dimensions_are_read_without_eval() -> None:
    assert evaluate_size("h - k + 1", {"h": 8, "k": 3}) == 6
    with pytest.raises(ValueError, match="cannot read"):
        evaluate_size("__import__('os')", {})


def test_workloads_must_name_all_sizes() -> None:
    task = get("softmax")
    with pytest.raises(ValueError, match="must give the sizes"):
        Task(
            task.name, task.family, "", ("rows",), task.inputs, task.outputs, task.workloads, task.extra,
            task.tolerance, task.flops, task.oracle, task.references,
        )  # fmt: skip


def test_unknown_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown fill"):
        fill_array(Tensor("x", "float32", (2,), fill="zeros"), {}, np.random.default_rng(0))
