"""Honest candidates of many kinds: each reference, handed in as its own candidate, is measured by replay and right."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.trusted.judge import NotReplayed
from foretell.kernels.corpus.plan import templates
from foretell.kernels.library import get
from foretell.kernels.tasks import kernelbench
from tests.kernels.bench.gpu.trusted.local import judged
from tests.kernels.record.sources import HEAD
from tests.kernels.record.test_torch_programs import _OWN, _SCRIPTED, FUNCTIONS, MODELS

REFUSED = {
    "an input is returned": "memory of an input",
    "part of an input is returned": "memory of an input",
    "in place on the input": "changes its input",
}
DATA = "\n\ndef get_inputs():\n    return [torch.randn(8, 16)]\n\n\ndef get_init_inputs():\n    return []\n"


def problem(init: str, forward: str) -> str:
    made = "".join(f"        {line}\n" for line in ("super().__init__()\n" + init).splitlines())
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    outside = _SCRIPTED if "scripted" in init else _OWN if "Own" in forward else ""
    model = f"class Model(nn.Module):\n    def __init__(self):\n{made}\n    def forward(self, x):\n{body}"
    return f"{HEAD}{outside}\n\n{model}{DATA}"


CONTROLS = {name: ("", body) for name, body in FUNCTIONS.items()} | {f"model: {n}": m[:2] for n, m in MODELS.items()}


QUICK = tuple(CONTROLS)[::4]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.full) for name in CONTROLS]
)
def test_a_reference_is_right_as_its_own_candidate(name: str) -> None:
    text = problem(*CONTROLS[name])
    task = kernelbench.from_text(text, "control")
    candidate = text.replace("class Model(", "class ModelNew(")
    if name in REFUSED:
        with pytest.raises(NotReplayed, match=REFUSED[name]):
            judged(task, candidate)
        return
    outcome = judged(task, candidate, most_pairs=3, fewest_pairs=3)
    assert outcome.ok and outcome.trust == "replay", outcome.message


OPERATIONS = sorted(set(templates("triton")) | set(templates("cuda")))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if k % 20 == 0 else pytest.mark.full) for k, name in enumerate(OPERATIONS)],
)
def test_a_reference_of_the_library_is_right_as_a_candidate(name: str) -> None:
    task = get(name, "gpu")
    least = min((*task.workloads, *task.extra), key=lambda w: task.flops(w.sizes) + task.least_bytes(w.sizes))
    small = replace(task, workloads=(least,), extra=())
    outcome = judged(small, task.references["torch"], most_pairs=3, fewest_pairs=3)
    assert outcome.ok and outcome.trust == "replay", outcome.message
