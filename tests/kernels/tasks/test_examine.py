"""Tasks whose code cannot be judged by: each is refused with its reason; nested data and room for results are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, Refusal, gpumode, kernelbench
from foretell.kernels.tasks.examine import check_size, needed_bytes
from tests.kernels.bench.gpu.host import DEVICE, judge_of


def problem(forward: str = "x + 1", inputs: str = "[torch.rand(64, 64)]", init: str = "pass") -> Task:
    return kernelbench.from_text(
        f"""
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, *xs):
        x = xs[0]
        return {forward}


def get_inputs():
    return {inputs}
""",
        "odd",
    )


def measured(task: Task, source: str) -> Measurement:
    return judge_of(task)[0].judge(Candidate(task.key, "torch", source))


@pytest.mark.parametrize(
    ("task", "reason", "says"),
    [
        (problem("torch.rand_like(x)"), Refusal.NONDETERMINISTIC, "other results for the same inputs and weights"),
        (problem("torch.dropout(x, 0.5, True)"), Refusal.NONDETERMINISTIC, "other results"),
        (problem("x + self.w", init="self.w = Model.made = getattr(Model, 'made', 0) + 1"),
         Refusal.NONDETERMINISTIC, "other results"),
        (problem("x.shape[0]"), Refusal.ODD_OUTPUTS, "returns int among its outputs"),
        (problem("[]"), Refusal.ODD_OUTPUTS, "returns nothing"),
        (problem("(x, None)"), Refusal.ODD_OUTPUTS, "returns NoneType"),
        (problem("x / 0 * 0"), Refusal.ODD_OUTPUTS, "not numbers"),
        (problem("x.add_(1)"), Refusal.CHANGES_INPUTS, "changes its input 0"),
        (problem("x @ torch.rand(3)"), Refusal.DOES_NOT_RUN, "its reference fails"),
        (problem(inputs="1 / 0"), Refusal.DOES_NOT_RUN, "making its inputs fails"),
        (problem("exit(3)"), Refusal.DOES_NOT_RUN, "SystemExit"),
        (problem(inputs="[object()]"), Refusal.ODD_INPUTS, "is a object"),
        (problem(inputs="[3]"), Refusal.ODD_INPUTS, "no tensor"),
        (problem(init="raise KeyError('w')"), Refusal.DOES_NOT_RUN, "its model fails"),
    ],
)  # fmt: skip
def test_each_is_refused_with_its_reason(task: Task, reason: Refusal, says: str) -> None:
    with pytest.raises(BadTask) as caught:
        judge_of(task)
    assert caught.value.reason is reason and says in caught.value.what, caught.value.what
    assert caught.value.expected


def test_nested_outputs_are_flattened_and_compared() -> None:
    task = problem("{'b': [x + 1, (x * 2,)], 'a': x - 1}")
    right = "import torch\n\n\ndef kernel(x):\n    return {'a': x - 1, 'b': (x + 1, [x * 2])}\n"
    assert measured(task, right).status is Status.OK
    assert measured(task, right.replace("x * 2", "x * 3")).status is Status.WRONG
    assert "returned 2 outputs, expected 3" in measured(task, right.replace(", [x * 2]", ",")).message


def test_nested_inputs_are_lent_as_they_are() -> None:
    task = problem("xs[1]['w'][0] * x * xs[2]", "[torch.rand(8, 8), {'w': [torch.rand(8)]}, 3]")
    right = "def kernel(x, more, factor):\n    return more['w'][0] * x * factor\n"
    assert measured(task, right).status is Status.OK
    spoils = "def kernel(x, more, factor):\n    y = more['w'][0] * x * factor\n    more['w'][0].zero_()\n    return y\n"
    assert measured(task, spoils).status is Status.CHEAT


BATCHED = """
import torch

batch_size = 4096
features = 1024


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.rand(batch_size, features)]
"""


class TestSize:
    def test_what_does_not_fit_is_refused_with_smaller_sizes_that_do(self) -> None:
        task = kernelbench.from_text(BATCHED, "large")
        assert needed_bytes(task) == 9 * 4096 * 1024 * 4
        with pytest.raises(BadTask) as caught:
            check_size(task, replace(DEVICE, memory_bytes=40 << 20))
        assert caught.value.reason is Refusal.TOO_LARGE
        assert "needs about 144 MiB" in caught.value.what and "has 40 MiB" in caught.value.what
        assert caught.value.do.startswith("--size batch_size=1024 (instead of 4096) needs 36 MiB")

    def test_it_is_not_drawn_to_find_out(self) -> None:
        task = kernelbench.from_text(BATCHED.replace("4096", "1 << 40"), "huge")
        with pytest.raises(BadTask, match="needs about"):
            judge_of(task)

    def test_what_only_running_can_tell_is_not_refused(self) -> None:
        task = kernelbench.from_text(BATCHED.replace("x + 1", "x[: int(x.sum().item())]"), "odd")
        assert needed_bytes(task) == 2 * 4096 * 1024 * 4


WRITES = """
import torch


def ref_kernel(data):
    x, out = data
    out[...] = x * 2
    return out


def generate_input(size, seed):
    torch.manual_seed(seed)
    return torch.rand(size, size), torch.empty(size, size)
"""


class TestRoomForResults:
    """Inputs that results are written to, as GPU MODE's newer problems have them."""

    def task(self, reference: str = WRITES) -> Task:
        return gpumode.from_texts({"reference.py": reference}, "twice", {"benchmarks": [{"size": 64}]})

    def test_writing_there_is_fair(self) -> None:
        honest = "def custom_kernel(data):\n    x, out = data\n    out.copy_(x * 2)\n    return out\n"
        own = "def custom_kernel(data):\n    return data[0] * 2\n"
        assert measured(self.task(), honest).status is Status.OK
        assert measured(self.task(), own).status is Status.OK
        returns = WRITES.replace("out[...] = x * 2\n    return out", "return x * 2")
        assert measured(self.task(returns), honest).status is Status.OK

    def test_leaving_there_what_the_reference_wrote_is_found_out(self) -> None:
        judge, _ = judge_of(self.task())
        key = self.task().key
        honest = "def custom_kernel(data):\n    x, out = data\n    out.copy_(x * 2)\n    return out\n"
        idle = "def custom_kernel(data):\n    return data[1]\n"
        assert judge.judge(Candidate(key, "torch", honest)).status is Status.OK
        assert judge.judge(Candidate(key, "torch", idle)).status is Status.WRONG
        once = f"calls = []\n\n\n{honest}".replace("out.copy_", "calls.append(1)\n    len(calls) > 1 or out.copy_")
        assert judge.judge(Candidate(key, "torch", once)).status is Status.WRONG

    def test_what_is_read_too_is_not_room_for_results(self) -> None:
        with pytest.raises(BadTask) as caught:
            judge_of(self.task(WRITES.replace("out[...] = x * 2", "out[...] += x * 2").replace("empty", "zeros")))
        assert caught.value.reason is Refusal.CHANGES_INPUTS

    def test_other_inputs_must_stay(self) -> None:
        spoils = "def custom_kernel(data):\n    x, out = data\n    out.copy_(x * 2)\n    x.zero_()\n    return out\n"
        assert measured(self.task(), spoils).status is Status.CHEAT


ROOTS = """
import torch


def ref_kernel(data):
    return data.sqrt(), [data * 0]


def generate_input(size, seed):
    torch.manual_seed(seed)
    return torch.rand(size) + 1


def check_implementation(data, output):
    roots, [zeros] = output
    good = bool(((roots * roots - data).abs() < 1e-3).all() and (zeros == 0).all())
    return RESULT
"""


@pytest.mark.parametrize("result", ["good, 'not a root'", "'' if good else 'not a root'"])
def test_a_problem_may_have_a_check_of_its_own(result: str) -> None:
    files = {"reference.py": ROOTS.replace("RESULT", result)}
    task = gpumode.from_texts(files, "root", {"benchmarks": [{"size": 64}]})
    source = "import torch\n\n\ndef custom_kernel(data):\n    return -data.sqrt(), [torch.zeros_like(data)]\n"
    assert measured(task, source).status is Status.OK
    wrong = measured(task, source.replace("-data.sqrt()", "data + 1"))
    assert wrong.status is Status.WRONG and "not a root" in wrong.message
    assert measured(task, source.replace("-data.sqrt()", "data * float('nan')")).status is Status.WRONG


def test_embeddings_are_not_accused_of_being_too_fast() -> None:
    """What is read of a table depends on the indices: its size is no bound on the time."""
    task = problem("xs[1][x]", "[torch.randint(0, 9, (8,)), torch.rand(1 << 16, 32)]")
    judge, _ = judge_of(task, device=replace(DEVICE, bandwidth_bytes_per_s=1e8))
    outcome = judge.judge(Candidate(task.key, "torch", "def kernel(i, table):\n    return table[i]\n"))
    assert outcome.status is Status.OK, outcome.message
