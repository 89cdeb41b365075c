"""What a task never varies by itself is varied: weights, constant inputs, whole numbers, further workloads."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.trusted.altered import altered, fingerprint, is_alterable, perturbed
from foretell.kernels.bench.gpu.trusted.contest import ReplayContest, floor_us
from foretell.kernels.bench.gpu.trusted.live import _Live
from foretell.kernels.bench.gpu.trusted.other_weights import AS_MADE, CHANGED
from foretell.kernels.bench.gpu.trusted.variants import _SLICE, applied, looks_independent, names_for
from foretell.kernels.bench.gpu.trusted.verdict import at_most
from foretell.kernels.bench.gpu.watch import too_much_computed
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.tasks import kernelbench
from tests.kernels.bench.gpu.host import softmax
from tests.kernels.bench.gpu.trusted.local import EFFORT, judge_of

HEAD = "import torch\nimport torch.nn as nn\n\n\n"
PROBLEM = """class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)
        nn.init.zeros_(self.layer.bias)
        self.gamma = nn.Parameter(1e-6 * torch.ones(64))
        self.register_buffer("table", torch.cos(torch.arange(64.0)))

    def forward(self, x):
        return x * self.table + self.gamma * torch.relu(self.layer(x)) + self.layer.bias


def get_inputs():
    return [torch.randn(16, 64)]


def get_init_inputs():
    return []
"""
CONSTANTS = """class Model(nn.Module):
    def forward(self, x, mask, graph):
        return torch.softmax(x + mask, 1) + graph.float()


def get_inputs():
    i = torch.arange(64)
    graph = ((i[:16, None] // 16) == (i[None, :] // 16)).to(torch.uint8)
    return [torch.randn(16, 64), torch.zeros(16, 64), graph]


def get_init_inputs():
    return []
"""
PIXELS = """class Model(nn.Module):
    def forward(self, x):
        return x.float().mean(1)


def get_inputs():
    return [torch.randint(0, 256, (8, 65536), dtype=torch.uint8)]


def get_init_inputs():
    return []
"""


def outcome_of(problem: str, candidate: str) -> Measurement:
    task = kernelbench.from_text(HEAD + problem, "a problem")
    judge, _ = judge_of(task)
    try:
        return judge.judge(Candidate(task.key, "torch", HEAD + candidate))
    finally:
        judge.close()


def model(forward: str, extra: str = "") -> str:
    """The problem's model as a candidate with another forward."""
    text = PROBLEM.replace("class Model(", "class ModelNew(").partition("def get_inputs")[0]
    head, _, _ = text.partition("    def forward")
    lines = "".join(f"        {line}\n" for line in extra.splitlines())
    return head + lines + f"    def forward(self, x):\n        return {forward}\n"


WEIGHTED = {
    "honest": ("x * self.table + self.gamma * torch.relu(self.layer(x)) + self.layer.bias", "", CHANGED),
    "computes the table": (
        "x * torch.cos(torch.arange(64.0, device=x.device)) + self.gamma * torch.relu(self.layer(x)) + self.layer.bias",
        "", CHANGED,
    ),
    "keeps weights transposed": (
        "x * self.table + self.gamma * torch.relu(x @ self.turned + self.layer.bias) + self.layer.bias",
        "self.turned = nn.Parameter(self.layer.weight.t().contiguous())", AS_MADE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WEIGHTED)
def test_honest_candidates_are_right_with_other_weights_too(name: str) -> None:
    forward, extra, checked = WEIGHTED[name]
    outcome = outcome_of(PROBLEM, model(forward, extra))
    assert outcome.ok, outcome.message
    assert outcome.conditions["weights"] == checked


@pytest.mark.parametrize(
    "forward",
    [
        "x * self.table + self.layer.bias",
        "x * self.table",
        "x * self.table + self.gamma * torch.relu(x @ self.layer.weight.t())",
    ],
    ids=["without the scaled branch", "without any weight", "without the bias of zeros"],
)
def test_what_is_right_for_the_constructors_weights_alone_is_wrong(forward: str) -> None:
    outcome = outcome_of(PROBLEM, model(forward))
    assert outcome.status is Status.WRONG and "on weights numbers" in outcome.message


def test_equal_weights_change_alike_and_by_the_secret_alone() -> None:
    weight, zeros = torch.randn(8, 16), torch.zeros(16)
    assert torch.equal(perturbed(torch, weight, 5), perturbed(torch, weight.clone(), 5))
    assert not torch.equal(perturbed(torch, weight, 5), perturbed(torch, weight, 6))
    assert bool((perturbed(torch, weight, 5).sign() == weight.sign()).all())
    assert 0.01 < float(perturbed(torch, zeros, 5).std()) < 0.2
    assert fingerprint(torch, weight) != fingerprint(torch, weight.flip(1))


@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ("torch.softmax(x + mask, 1) + graph.float()", True),
        ("torch.softmax(x, 1) + graph.float()", False),
        ("torch.softmax(x + mask, 1) + torch.nn.functional.pad(graph[:, :16].float(), (0, 48))", False),
    ],
    ids=["honest", "a mask of zeros is not read", "empty parts of a graph are not read"],
)
def test_inputs_that_are_the_same_in_every_draw_are_varied(body: str, is_right: bool) -> None:
    text = f"class ModelNew(nn.Module):\n    def forward(self, x, mask, graph):\n        return {body}\n"
    outcome = outcome_of(CONSTANTS, text)
    assert outcome.ok == is_right, outcome.message
    assert is_right or "on altered numbers" in outcome.message


def test_structure_that_honest_kernels_rest_on_is_kept() -> None:
    square = torch.rand(16, 16)
    kept = [square.tril(), torch.arange(100), square > 0.5, torch.full((16, 16), -torch.inf).triu(1)]
    assert not any(is_alterable(torch, tensor) for tensor in kept)
    symmetric = square + square.t()
    other = altered(torch, symmetric)
    assert is_alterable(torch, symmetric) and torch.equal(other, other.t()) and not torch.equal(other, symmetric)
    rows = torch.eye(16)[:, torch.randperm(16)].repeat(4, 1).to(torch.uint8)
    assert is_alterable(torch, rows) and bool((altered(torch, rows).sum(1) == 1).all())


@pytest.mark.parametrize(("body", "is_right"), [("x.float().mean(1)", True), ("x[:, ::16].float().mean(1)", False),
                                                ("x[:, :4096].float().mean(1)", False)])  # fmt: skip
def test_whole_numbers_differ_from_place_to_place(body: str, is_right: bool) -> None:
    text = f"class ModelNew(nn.Module):\n    def forward(self, x):\n        return {body}\n"
    outcome = outcome_of(PIXELS, text)
    assert outcome.ok == is_right, outcome.message


def test_permutations_and_sorted_numbers_are_left_as_they_are() -> None:
    assert looks_independent(torch, torch.randint(0, 50, (4096,)))
    for tensor in (torch.randperm(4096), torch.randint(0, 50, (4096,)).sort().values, torch.randint(0, 2, (4096,)) > 0):
        assert not looks_independent(torch, tensor)
    pixels = torch.randint(0, 256, (65536,), dtype=torch.uint8)
    changed = applied(torch, "stepped", [pixels])
    assert changed is not None and changed[0].dtype == torch.uint8 and applied(torch, "skewed", [pixels]) is None


def test_every_workload_is_checked_on_other_distributions() -> None:
    judge, _ = judge_of(softmax())
    names = [{known.distribution for known in stage} for stage in judge._scene.known]
    judge.close()
    assert {"narrowed", "skewed", "raised", "centred", "stepped", "ends", "large", "huge"} <= names[0]
    assert all("stepped" in each and len(each) >= 2 for each in names[1:])
    assert "tiny" not in names_for("softmax", True, True) and "tiny" in names_for("matmul", True, True)
    assert not {"ends", "large", "huge", "tiny"} & set(names_for("matmul", False, True))
    assert not {"ends", "huge", "tiny"} & set(names_for("matmul", True, False))


def test_large_inputs_are_changed_in_slices_of_different_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.kernels.bench.gpu.trusted.variants._SLICE", 4096)
    drawn = torch.rand(64, 1024)
    [changed] = applied(torch, "stepped", [drawn]) or [drawn]
    means = changed.reshape(-1, 4096).mean(1)
    assert float(means.std()) > 0.05 and float(changed.min()) >= 0 and float(changed.max()) <= 1
    quarters = [float(changed.reshape(-1, 256)[k::4].mean() / changed.mean()) for k in range(4)]
    assert max(abs(share - 1) for share in quarters) > 1e-3  # every fourth block does not stand for the rest
    assert _SLICE > 1 << 20


class _Asked:
    """A process that says how it is timed."""

    def __init__(self, method: str) -> None:
        self.method, self.asked = method, []  # type: ignore[var-annotated]

    def ask(self, do: str, timeout_s: float, **details: Any) -> dict[str, Any]:
        self.asked.append((do, details.get("captured")))
        return {"method": self.method if details["captured"] else "eager"}

    def run_us(self, *details: Any) -> float:
        return 1.0


@pytest.mark.parametrize(("reference", "candidate", "captured"), [
    ("graph", "eager", True), ("graph", "graph", True), ("eager", "graph", False),
])  # fmt: skip
def test_a_candidate_that_cannot_be_captured_does_not_slow_the_reference(
    reference: str, candidate: str, captured: bool
) -> None:
    scene = SimpleNamespace(reference=_Asked(reference), methods={})
    for _ in range(2):
        process = _Asked(candidate)
        ReplayContest(scene, process, EFFORT).prepare(0)  # type: ignore[arg-type]
        assert process.asked == [("prepare", captured)]
    assert scene.reference.asked == [("prepare", True)]  # once, and as a graph if it can be one


def test_a_live_reference_counts_as_long_as_it_takes_by_itself() -> None:
    assert at_most([4.0, 6.0, 8.0], 3.0) == [2.0, 3.0, 4.0] and at_most([1.0, 2.0], 9.0) == [1.0, 2.0]


def test_every_call_of_a_live_candidate_is_watched() -> None:
    live, calls = _Live.__new__(_Live), []

    class Watched:
        def __enter__(self) -> Watched:
            calls.append("watched")
            return self

        def __exit__(self, *details: Any) -> None: ...

        def verdict(self, arguments: list[Any]) -> str:
            return ""

    live._watch, live._entry = Watched, lambda x: [x]  # type: ignore[assignment]
    for _ in range(3):
        live._called([torch.ones(1)])
    assert calls == ["watched"] * 3


def test_many_small_computations_are_one_large_one() -> None:
    assert too_much_computed([("mm", 25)], 100)
    assert too_much_computed([("mm", 20)] * 3, 100) and not too_much_computed([("sum", 20)] * 2, 100)
    assert not too_much_computed([], 0)


def test_pixels_have_to_be_read() -> None:
    task = kernelbench.from_text(HEAD + PIXELS, "pixels")
    judge, _ = judge_of(task)
    stage = judge._scene.stages[0]
    judge.close()
    device = SimpleNamespace(bandwidth_bytes_per_s=1e9)
    effort = replace(EFFORT, physics_margin=1.0)
    assert floor_us(task, stage, device, effort) == pytest.approx(8 * 65536 / 2 / 1e9 * 1e6)  # type: ignore[arg-type]
