"""What a candidate sets for the whole process is its own: neither the reference nor the next candidate runs with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu import settings
from foretell.kernels.bench.gpu.session import Session
from foretell.kernels.bench.gpu.watch import Snapshot
from foretell.kernels.candidate import Candidate
from foretell.kernels.tasks import kernelbench
from tests.kernels.bench.gpu.host import judge_of

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.randn(4, 8)]
"""
SETS = """
import torch

torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("high")
torch.set_default_dtype(torch.float64)
torch.backends.cuda.enable_flash_sdp(False)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


@pytest.fixture(autouse=True, params=[True, False])
def _settings_as_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever others have set in this process, and set again afterwards."""
    found = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = request.param
    yield
    torch.backends.cudnn.allow_tf32 = found


def _session() -> Session:
    judge, worker = judge_of(kernelbench.from_text(PROBLEM, "plus_one"))
    judge.ensure_open()
    assert worker._session is not None
    return worker._session


def _seen_by(session: Session, entry: Any) -> settings.Settings:
    seen: list[settings.Settings] = []

    def watched(*inputs: Any) -> Any:
        seen.append(settings.current())
        return inputs[0]

    if entry is session.reference_entry:
        session.reference_entry = entry = watched
    else:
        entry = watched
    session._run_of(entry, 0, 0)()
    return seen[0]


def test_reference_and_candidate_run_with_their_own_settings() -> None:
    before = settings.current()
    with torch.no_grad():
        session, usual = _session(), settings.current()
        session.load(SETS, "torch", Snapshot())
        own = _seen_by(session, None)
        assert (own["cudnn.benchmark"], own["matmul precision"], own["default dtype"]) == (True, "high", torch.float64)
        assert _seen_by(session, session.reference_entry) == usual
        assert settings.current() == own, "the reference's run leaves the candidate's settings in place"
        session.unload()
        assert settings.current() == usual
        session.close()
    assert settings.current() == before


def test_the_next_candidate_finds_the_usual_settings() -> None:
    judge, _ = judge_of(kernelbench.from_text(PROBLEM, "plus_one"))
    judge.ensure_open()
    before = settings.current()
    source = SETS.replace("torch.set_default_dtype(torch.float64)\n", "")  # the judge draws inputs in this process
    assert judge.judge(Candidate("plus_one", "torch", source)).ok
    assert settings.current() == before
