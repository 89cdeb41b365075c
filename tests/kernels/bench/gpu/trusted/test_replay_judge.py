"""Judge, replayer and source on the CPU with Programs of library calls: right ones pass, wrong ones do not."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.trusted.judge import NotReplayed
from foretell.kernels.candidate import Candidate
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.task import Workload
from foretell.kernels.tasks import kernelbench
from tests.kernels.bench.gpu.host import softmax
from tests.kernels.bench.gpu.trusted.local import LocalProcess, judge_of, judged

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
HONEST = HEAD + "def kernel(x):\n    return torch.softmax(x, 1)\n"
PROBLEM = (
    HEAD
    + """class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x):
        return torch.relu(self.layer(x))
def get_inputs():
    return [torch.rand(8, 64)]
def get_init_inputs():
    return [64]
"""
)
SAME = (
    HEAD
    + """class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        other = nn.Linear(n, n)
        self.weight, self.bias = other.weight, other.bias
    def forward(self, x):
        return BODY
"""
)


def kernel(body: str) -> str:
    return HEAD + "def kernel(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())


def model(body: str) -> str:
    return SAME.replace("BODY", body)


def test_an_honest_candidate_is_measured_by_replay() -> None:
    judge, workers = judge_of(softmax())
    outcome = judge.judge(Candidate("softmax", "torch", HONEST))
    assert outcome.ok, outcome.message
    assert [t.workload for t in outcome.timings] == ["rows=6 cols=128", "rows=10 cols=64"]
    assert outcome.conditions["trust"] == "replay" and outcome.conditions["expected"] == "float64"
    assert outcome.conditions["tf32"] == "nowhere"
    candidate, reference = workers["replayer"]
    assert {"run", "batch", "check"} <= set(candidate.asked) and "expect" not in candidate.asked
    assert "expect" in reference.asked
    assert not candidate.alive and reference.alive  # a process that held a candidate is not used again


@pytest.mark.parametrize(("body", "words"), [
    ("return torch.zeros_like(x)", "values are wrong"),
    ("return torch.full_like(x, 1 / x.shape[1])", "values are wrong"),
    ("return torch.softmax(x.half(), 1).float()", "values are wrong"),
    ("y = torch.softmax(x, 1)\ny[-1] = 0\nreturn y", "values are wrong"),
    ("return torch.softmax(x, 1) * float('nan')", "values are wrong"),
    ("return torch.softmax(x, 0)", "values are wrong"),
])  # fmt: skip
def test_wrong_results_are_wrong(body: str, words: str) -> None:
    outcome = judged(softmax(), kernel(body))
    assert outcome.status is Status.WRONG and words in outcome.message


@pytest.mark.parametrize(("body", "says"), [
    ("return x", "lies in the memory of an input"),
    ("return torch.softmax(x, 1), x.sum()", "2 outputs"),
    ("return torch.softmax(x, 1).double()", "expected float32"),
    ("y = torch.softmax(x, 1)\nx.zero_()\nreturn y", "input 0 was changed"),
])  # fmt: skip
def test_programs_with_another_signature_are_refused(body: str, says: str) -> None:
    outcome = judged(softmax(), kernel(body))
    assert outcome.status is Status.CHEAT and says in outcome.message


def test_a_problem_is_judged_without_its_code_in_the_judge() -> None:
    task = kernelbench.from_text(PROBLEM, "relu_layer")
    judge, workers = judge_of(task)
    right = judge.judge(Candidate(task.key, "torch", model("(x @ self.weight.t() + self.bias).clamp(min=0)")))
    wrong = judge.judge(Candidate(task.key, "torch", model("(x @ self.weight.t()).clamp(min=0)")))
    judge.close()
    assert right.ok, right.message
    assert wrong.status is Status.WRONG
    draws = workers["source_job"][1].asked.count("draw")
    assert draws == 1 + len(right.timings[0].candidate_us) + 2  # known inputs, each pair, each set of the batch


def test_an_output_that_is_kept_and_written_in_part_is_wrong() -> None:
    """What an earlier run or the setup left in it is poisoned before each run, step by step too."""
    source = PROBLEM.replace("torch.relu(self.layer(x))", "torch.diag_embed(x)")
    task = kernelbench.from_text(source, "diagonals")
    kept = SAME.replace("BODY", "self.out").replace(
        "    def forward(self, x):\n",
        "        self.out = None\n    def forward(self, x):\n"
        "        if self.out is None:\n            self.out = x.new_zeros(8, 64, 64)\n"
        "        self.out.diagonal(dim1=1, dim2=2).copy_(x)\n",
    )
    assert judged(task, kept).status is Status.WRONG
    whole = kept.replace("        self.out.diagonal", "        self.out.zero_()\n        self.out.diagonal")
    assert judged(task, whole).ok


def test_a_kernel_of_the_library_bears_numbers_whose_exponentials_overflow() -> None:
    sizes = Workload({"heads": 2, "length": 40, "dim": 64})
    task = replace(get("attention", "gpu"), workloads=(sizes,), extra=())
    scores = "scores = (q.float() @ k.float().transpose(1, 2)) * 0.125\n"
    source = f"{HEAD}def kernel(q, k, v):\n    {scores}    return (BODY @ v.float()).half()\n"
    found = judged(task, source.replace("BODY", "(scores.exp() / scores.exp().sum(2, keepdim=True))"))
    assert found.status is Status.WRONG
    assert re.search("on (large|skewed|raised|stepped) numbers", found.message)  # all of which overflow at times
    assert judged(task, source.replace("BODY", "torch.softmax(scores, 2)")).ok


def test_a_problem_says_by_what_it_draws_which_numbers_it_is_for() -> None:
    problem = PROBLEM.replace("torch.relu(self.layer(x))", "torch.softmax(self.layer(x), 1)")
    body = "(x @ self.weight.t() + self.bias).exp() / (x @ self.weight.t() + self.bias).exp().sum(1, keepdim=True)"
    assert judged(kernelbench.from_text(problem, "rows"), model(body)).ok


def test_lower_precision_than_asked_shows_where_sums_cancel() -> None:
    """All inputs are positive, so that rounding hides in large sums: it shows on centred numbers."""
    source = PROBLEM.replace("rand(8, 64)", "rand(8, 1024)").replace("return [64]", "return [1024]")
    source = source.replace("torch.relu(self.layer(x))", "x @ self.layer.weight.abs()")
    task = kernelbench.from_text(source, "positive_product")
    lower = judged(task, model("(x.bfloat16().float() @ self.weight.abs())"))
    assert lower.status is Status.WRONG and "values are wrong" in lower.message
    exact = judged(task, model("(self.weight.abs().t() @ x.t()).t().contiguous()"))
    assert exact.ok, exact.message


def test_what_cannot_be_recorded_runs_live_and_says_so() -> None:
    judge, workers = judge_of(softmax())
    source = kernel("if float(x.sum()) > 1e30:\n    return x\nreturn torch.softmax(x, 1)")
    outcome = judge.judge(Candidate("softmax", "torch", source))
    assert outcome.ok, outcome.message
    assert outcome.conditions["trust"] == "live" and "depends on data" in outcome.conditions["trust_reason"]
    assert outcome.method.startswith("live")
    reference, candidate = workers["live"]
    assert reference.alive and not candidate.alive
    wrong = judge.judge(Candidate("softmax", "torch", source.replace("softmax(x, 1)", "softmax(x, 0)")))
    assert wrong.status is Status.WRONG and wrong.conditions["trust"] == "live"


def test_a_live_candidate_that_computes_after_it_said_it_was_done_is_wrong() -> None:
    """It answers at once and writes the right outputs when anything else is asked, such as the reference's runs."""

    class Late(LocalProcess):
        is_candidate = False

        def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
            while late:
                worker, before = late.pop()
                worker._obey(before)
            if command["do"] != "batch" or not command["order"] or not self.is_candidate:
                return super().ask(timeout_s, **command)
            late.append((self, command))
            return {"token": command["token"]}

    made: list[Late] = []
    late: list[tuple[Late, dict[str, Any]]] = []

    def start(role: str, platform: Any) -> Any:
        made.append(Late(role, platform))
        made[-1].is_candidate = role == "live" and any(worker.role == "live" for worker in made[:-1])
        return made[-1]

    source = kernel("if float(x.sum()) > 1e30:\n    return x\nreturn torch.softmax(x, 1)")
    outcome = judged(softmax(), source, start=start, chunk_pairs=1, fewest_pairs=1, most_pairs=1)
    assert outcome.status is Status.WRONG and outcome.trust == "live", outcome.message


def test_a_live_candidate_that_answers_empty_batches_late_gains_nothing() -> None:
    """What an empty batch of its own process took was subtracted from its batches."""

    class Slow(LocalProcess):
        is_candidate = False

        def ask(self, timeout_s: float, **command: Any) -> dict[str, Any]:
            if command["do"] == "batch" and self.is_candidate:
                time.sleep(0.5)  # which is most of what its batches take
            return super().ask(timeout_s, **command)

    made: list[Slow] = []

    def start(role: str, platform: Any) -> Any:
        made.append(Slow(role, platform))
        made[-1].is_candidate = role == "live" and any(worker.role == "live" for worker in made[:-1])
        return made[-1]

    source = kernel("if float(x.sum()) > 1e30:\n    return x\nreturn torch.softmax(x, 1)")
    outcome = judged(softmax(), source, start=start, chunk_pairs=1, fewest_pairs=1, most_pairs=1)
    assert outcome.ok, outcome.message
    assert all(us > 1e5 for t in outcome.timings for us in t.candidate_us)


def test_outputs_in_another_layout_than_the_references_are_made_dense_within_the_time() -> None:
    """The hand-over, which is not timed, must not do what the reference's kernel does."""
    judge, workers = judge_of(softmax())
    process = workers["replayer"][0]
    dense: list[bool] = []
    ask = process.ask

    def noting(timeout_s: float, **command: Any) -> Any:
        if command["do"] == "run":
            timed = process._obey.__self__._performances[command["workload"]].timed[command["set"]]
            dense.extend(output.is_contiguous() for output in timed._run())
        return ask(timeout_s, **command)

    process.ask = noting
    outcome = judge.judge(Candidate("softmax", "torch", kernel("return torch.softmax(x.t().contiguous(), 0).t()")))
    assert outcome.ok, outcome.message
    assert dense and all(dense)


def test_a_reference_that_cannot_be_recorded_is_told() -> None:
    task = kernelbench.from_text(PROBLEM.replace("torch.relu(self.layer(x))", "x[x > 0.5]"), "data_dependent")
    with pytest.raises(NotReplayed, match="depends on data"):
        judge_of(task)


def test_a_candidate_that_does_not_build_is_a_compile_error() -> None:
    assert judged(softmax(), "def kernel(x:\n").status is Status.COMPILE_ERROR


def test_every_timed_run_sees_new_inputs() -> None:
    """No two runs of a workload are on the same data, and every element differs."""
    judge, workers = judge_of(softmax())
    replayer: Any = workers["replayer"][0]
    seen: list[Any] = []
    ask = replayer.ask

    def looking(timeout_s: float, **command: Any) -> Any:
        if command["do"] == "run" and command["workload"] == 0:
            stage = judge._scene.stages[0]
            seen.append(judge._scene.inputs.tensors(stage.inputs[command["set"]])[0].clone())
        return ask(timeout_s, **command)

    replayer.ask = looking
    assert judge.judge(Candidate("softmax", "torch", HONEST)).ok
    timed = seen[1:]  # the first run is not timed
    assert len(timed) >= 3
    assert all(bool((a != b).float().mean() > 0.99) for a, b in pairwise(timed))


def test_memory_behind_what_is_lent_holds_nothing_for_the_next_run() -> None:
    judge, workers = judge_of(softmax())
    replayer: Any = workers["replayer"][0]
    ask = replayer.ask

    def writing(timeout_s: float, **command: Any) -> Any:
        if command["do"] == "run":
            room = judge._scene.inputs
            place = room._ends[-1][0]
            assert place < room._ends[-1][1]
            room._whole()[place] += 1
        return ask(timeout_s, **command)

    honest = Candidate("softmax", "torch", HONEST)
    assert judge.judge(honest).ok
    replayer.ask = writing
    found = judge.judge(honest)
    assert found.status is Status.WRONG and "memory behind an input was written" in found.message
    replayer.ask = ask
    assert judge.judge(honest).ok
