"""The code of tasks, executed: inputs from seeds, references, expected values, and the judge that each task gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import WorkerHandle
from foretell.kernels.candidate import Candidate
from foretell.kernels.library import get, tasks
from foretell.kernels.measurement import Status
from foretell.kernels.task import Sizes, Task
from foretell.kernels.tasks import BadTask, Refusal, from_spec, kernelbench, load
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves, rebuilt
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT
from tests.kernels.representatives import per_family
from tests.kernels.tasks.test_sources import PROBLEM, folder, write


@pytest.mark.parametrize("name", per_family(tasks("gpu"), "gpu"))
def test_reference_of_every_gpu_task_gives_the_declared_outputs(name: str) -> None:
    task = tasks("gpu")[name]
    runtime, workload = runtime_of(task), task.extra[0]
    inputs = runtime.inputs(workload, 7, "cpu")
    outputs = leaves(runtime.reference("cpu")(*inputs))
    assert [tuple(o.shape) for o in outputs] == [t.dims(workload.sizes) for t in task.outputs]
    assert [str(o.dtype).removeprefix("torch.") for o in outputs] == [t.dtype for t in task.outputs]
    wide = leaves(runtime.reference("cpu")(*[x.float() if x.is_floating_point() else x for x in inputs]))
    for got, summed, want in zip(outputs, wide, runtime.expected(inputs, "cpu"), strict=True):
        assert torch.isfinite(want.double()).all()
        room = task.tolerance.absolute + task.tolerance.relative * want.double().abs()
        assert ((summed.to(got.dtype).double() - want.double()).abs() <= room).all()
        assert ((got.double() - want.double()).abs() <= room + _lost_in_halves(task, workload.sizes, got, want)).all()


def _lost_in_halves(task: Task, sizes: Sizes, got: torch.Tensor, want: torch.Tensor) -> float:
    """What a sum of n terms may lose on a processor that adds halves in halves: tolerances speak of sums in float32.

    Each of the n additions rounds a partial sum, off by up to half a unit in the last place of the largest result; the
    errors add up like a random walk, and four standard deviations cover all elements.
    """
    if got.dtype not in (torch.float16, torch.bfloat16):
        return 0.0
    terms = max(1.0, task.flops(sizes) / (2 * got.numel()))
    return 4 * terms**0.5 * torch.finfo(got.dtype).eps / 2 * float(want.double().abs().max())


def test_the_same_seed_draws_the_same_inputs() -> None:
    task = get("softmax", "gpu")
    workload = task.extra[-1]
    one, other = runtime_of(task), runtime_of(from_spec(task.spec))
    assert torch.equal(one.inputs(workload, 3, "cpu")[0], other.inputs(workload, 3, "cpu")[0])
    assert not torch.equal(one.inputs(workload, 3, "cpu")[0], one.inputs(workload, 4, "cpu")[0])


def test_a_problem_file_is_run_as_it_is() -> None:
    task = kernelbench.from_text(PROBLEM, "plus_one")
    runtime = runtime_of(task)
    [x] = runtime.inputs(task.workloads[0], 1, "cpu")
    assert torch.equal(runtime.expected([x], "cpu")[0], x + 1)


def test_a_folder_imports_what_lies_beside_it_and_so_may_its_candidates(tmp_path: Path) -> None:
    task = load(folder(tmp_path))
    runtime = runtime_of(task)
    inputs = runtime.inputs(task.extra[0], 1, "cpu")
    assert torch.equal(runtime.expected(inputs, "cpu")[0], torch.full((4,), 2.0))
    with runtime.modules():
        import task as beside  # type: ignore[import-not-found]

        assert beside.input_t is int
    with pytest.raises(ModuleNotFoundError):
        __import__("task")


@pytest.mark.parametrize(
    ("line", "reason", "says"),
    [
        ("import a_package_that_is_nowhere", Refusal.MISSING_PACKAGE, "imports a_package_that_is_nowhere"),
        ("raise OSError('no disk')", Refusal.DOES_NOT_IMPORT, "OSError: no disk"),
        ("import sys; sys.exit(0)", Refusal.DOES_NOT_IMPORT, "SystemExit"),
        ("def get_init_inputs(): return 1 / 0", Refusal.DOES_NOT_IMPORT, "ZeroDivisionError"),
        ("def get_init_inputs(): return 3", Refusal.ODD_INPUTS, "get_init_inputs of odd returns a int"),
        ("del get_inputs", Refusal.NO_INPUTS, "does not define get_inputs"),
    ],
)
def test_problems_that_cannot_be_executed_are_refused(line: str, reason: Refusal, says: str) -> None:
    with pytest.raises(BadTask) as caught:
        runtime_of(kernelbench.from_text(f"{PROBLEM}\n\n{line}\n", "odd"))
    assert caught.value.reason is reason and says in caught.value.what


def test_trees_keep_their_leaves_and_nesting() -> None:
    tree = {"b": [1, (2, 3)], "a": 4}
    assert leaves(tree) == [4, 1, 2, 3]
    assert rebuilt(tree, iter("wxyz")) == {"b": ["x", ("y", "z")], "a": "w"}


@pytest.fixture
def bench() -> Iterator[GpuBench]:
    """The bench on a stand-in for the GPU."""
    worker = WorkerHandle("foretell.testing.host:Host")
    made = GpuBench(EFFORT, 1, DEVICE, worker, Host())
    yield made
    made.close()
    worker.close()


def test_problem_files_of_one_name_have_judges_of_their_own(bench: GpuBench, tmp_path: Path) -> None:
    doubles = PROBLEM.replace("x + 1", "x * 2")
    source = doubles.replace("class Model", "class ModelNew")
    tasks = [load(write(tmp_path / name / "problem.py", text)) for name, text in (("a", PROBLEM), ("b", doubles))]
    statuses = []
    for task in (*tasks, tasks[0]):
        [(_, outcome)] = bench.measure(task, [Candidate("problem", "torch", source)])
        statuses.append(outcome.status)
    assert statuses == [Status.WRONG, Status.OK, Status.WRONG]
