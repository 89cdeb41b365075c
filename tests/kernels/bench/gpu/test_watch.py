"""The watch that sees what torch does for a candidate, and what a candidate replaces."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.watch import OperationWatch, Snapshot, shares_memory, watch_for
from tests.kernels.bench.gpu.controls import CONTROLS
from tests.kernels.bench.gpu.exploits import EXPLOITS
from tests.kernels.bench.gpu.faults import FAULTS


def test_there_are_enough_exploits_controls_and_faults() -> None:
    assert len(EXPLOITS) >= 24 and len({e.name for e in EXPLOITS}) == len(EXPLOITS)
    assert len(CONTROLS) >= 24 and len({c.name for c in CONTROLS}) == len(CONTROLS)
    assert len(FAULTS) >= 8
    for entry in (*EXPLOITS, *CONTROLS, *FAULTS):
        compile(entry.source, entry.name, "exec")


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
