"""Problems in the three forms people have them, rebuilt from their specs; and the watch that sees what torch does."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.problem import TaskProblem, from_path, from_spec, read_task_yml
from foretell.kernels.bench.gpu.watch import OperationWatch, Snapshot, shares_memory, watch_for
from foretell.kernels.library import tasks
from foretell.kernels.task import Sizes, Task
from tests.kernels.bench.gpu.controls import CONTROLS
from tests.kernels.bench.gpu.exploits import EXPLOITS
from tests.kernels.bench.gpu.faults import FAULTS
from tests.kernels.representatives import per_family

EXAMPLES = Path(__file__).parents[4] / "examples"


def test_there_are_enough_exploits_controls_and_faults() -> None:
    assert len(EXPLOITS) >= 24 and len({e.name for e in EXPLOITS}) == len(EXPLOITS)
    assert len(CONTROLS) >= 24 and len({c.name for c in CONTROLS}) == len(CONTROLS)
    assert len(FAULTS) >= 8
    for entry in (*EXPLOITS, *CONTROLS, *FAULTS):
        compile(entry.source, entry.name, "exec")


@pytest.mark.parametrize("name", per_family(tasks("gpu"), "gpu"))
def test_reference_of_every_gpu_task_gives_the_declared_outputs(name: str) -> None:
    problem, task = TaskProblem(name), tasks("gpu")[name]
    case = next(case for case in problem.cases if not case.timed)
    inputs = problem.inputs(case, 7, "cpu")
    plain = problem.reference("cpu")(*inputs)
    outputs = list(plain) if isinstance(plain, tuple | list) else [plain]
    assert [tuple(o.shape) for o in outputs] == [t.dims(case.sizes) for t in task.outputs]
    assert [str(o.dtype).removeprefix("torch.") for o in outputs] == [t.dtype for t in task.outputs]
    lifted = problem.reference("cpu")(*[x.float() if x.is_floating_point() else x for x in inputs])
    wide = list(lifted) if isinstance(lifted, tuple | list) else [lifted]
    for got, summed, want in zip(outputs, wide, problem.expected(inputs, "cpu"), strict=True):
        assert torch.isfinite(want.double()).all()
        room = task.tolerance.absolute + task.tolerance.relative * want.double().abs()
        assert ((summed.to(got.dtype).double() - want.double()).abs() <= room).all()
        assert ((got.double() - want.double()).abs() <= room + _lost_in_halves(task, case.sizes, got, want)).all()


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
    problem = TaskProblem("softmax")
    case = problem.cases[-1]
    again = from_spec(problem.spec)
    assert torch.equal(problem.inputs(case, 3, "cpu")[0], again.inputs(case, 3, "cpu")[0])
    assert not torch.equal(problem.inputs(case, 3, "cpu")[0], problem.inputs(case, 4, "cpu")[0])


def test_kernelbench_file_as_it_is() -> None:
    problem = from_path(EXAMPLES / "kernelbench" / "gelu_problem.py")
    again = from_spec(problem.spec)
    assert again.name == problem.name and [c.timed for c in problem.cases] == [True]


def test_gpu_mode_folder_as_it_is() -> None:
    problem = from_path(EXAMPLES / "gpumode")
    assert any(case.timed for case in problem.cases)
    assert any(not case.timed for case in problem.cases)
    assert from_spec(problem.spec).cases == problem.cases


def test_task_yml() -> None:
    text = 'name: x\ntests:\n  - {size: 4, seed: 1}\nbenchmarks:\n  - {size: 9, seed: 2}\n  - {"size": 16, seed: 3}\n'
    assert read_task_yml(text) == ([{"size": 4, "seed": 1}], [{"size": 9, "seed": 2}, {"size": 16, "seed": 3}])


@pytest.mark.parametrize(
    ("text", "says"),
    [("x = 1\n", "neither a KernelBench problem"), ("def f(:\n", "not valid Python")],
)
def test_other_files_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "problem.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        from_path(path)


def _watched(language: str, run: object, inputs: list[torch.Tensor], library_calls: bool = False) -> str:
    watch = watch_for(language, library_calls)
    with watch:
        assert callable(run)
        run(*inputs)
    return watch.verdict(inputs)


def test_torch_doing_the_work_is_seen() -> None:
    x = torch.randn(64, 64)
    assert "no kernel of its own" in _watched("triton", lambda x: torch.softmax(x, 1), [x])
    assert _watched("torch", lambda x: torch.softmax(x, 1), [x]) == ""
    assert _watched("triton", lambda x: torch.softmax(x, 1), [x], library_calls=True) == ""


def test_torch_beside_a_kernel_may_move_and_allocate_but_not_compute() -> None:
    x = torch.randn(64, 64)
    watch = OperationWatch()
    with watch:
        watch.launches = 1
        torch.empty_like(x).copy_(x.t().contiguous())
        torch.zeros(8).sum()
    assert watch.verdict([x]) == ""
    with watch:
        watch.launches = 1
        torch.exp(x)
    assert "aten.exp" in watch.verdict([x])


def test_replaced_functions_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = Snapshot()
    assert snapshot.changed() == ""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert snapshot.changed() == "torch.cuda.synchronize"


def test_shared_memory_is_seen() -> None:
    x = torch.randn(8, 8)
    assert shares_memory(x[2:], x)
    assert not shares_memory(x.clone(), x)
