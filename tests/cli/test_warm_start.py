"""`foretell search --warm-start`: a run leaves what it found to the next one, here and on other devices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from foretell.kernels.bench import trial
from foretell.kernels.search import RunState, load_run
from tests.cli.conftest import FakeBench, Invoke
from tests.cli.test_real import needs_compiler

SMALL = ("--profile", "quick", "--measurements", "8", "--candidates", "32")


def first_round(state: RunState) -> set[str]:
    return {node.id for node in state.nodes.values() if node.round == 0}


def fastest(state: RunState, count: int) -> list[str]:
    return [node.id for node in state.ranking()[:count]]


def test_the_next_search_begins_with_the_fastest(bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
    invoke("search", "softmax", *SMALL, "--run", "one")
    before = load_run(own_place / "one")
    assert invoke("search", "softmax", *SMALL, "--seed", "1", "--run", "two", "--warm-start").exit_code == 0
    after = load_run(own_place / "two")
    assert set(fastest(before, 4)) <= first_round(after)
    recalled = [node for node in after.nodes.values() if "catalogue_device" in node.candidate.origin.detail]
    assert {node.candidate.origin.detail["catalogue_device"] for node in recalled} == {bench.device.id}
    assert any(node.reused for node in recalled), "what was measured here before is not paid for again"
    assert after.config["proposer"] == "warm:template"


def test_also_on_another_device_and_measured_there(bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
    invoke("search", "softmax", *SMALL, "--run", "one")
    here = bench.device
    bench.device = replace(here, name="another")
    invoke("search", "softmax", *SMALL, "--seed", "1", "--run", "two", "--warm-start", "--policy", "all")
    after = load_run(own_place / "two")
    recalled = [node for node in after.nodes.values() if "catalogue_device" in node.candidate.origin.detail]
    assert set(fastest(load_run(own_place / "one"), 4)) <= {node.id for node in recalled} <= first_round(after)
    assert {node.candidate.origin.detail["catalogue_device"] for node in recalled} == {here.id}
    assert after.reused == 0 and all(node.measurement is not None for node in recalled)


def test_a_run_is_resumed_with_its_own_start(bench: FakeBench, invoke: Invoke, own_place: Path) -> None:
    invoke("search", "softmax", *SMALL, "--run", "one")
    bench.interrupt_at = 0
    bench.device = replace(bench.device, name="another")
    assert invoke("search", "softmax", *SMALL, "--run", "two", "--warm-start").exit_code == 130
    bench.interrupt_at = None
    assert invoke("search", "softmax", "--resume", "two").exit_code == 0
    refused = invoke("search", "softmax", "--resume", "one", "--warm-start")
    assert refused.exit_code == 2 and "warm:template" in refused.stderr


def test_it_needs_the_catalogue(bench: FakeBench, invoke: Invoke) -> None:
    refused = invoke("search", "softmax", "--warm-start", "--no-catalogue")
    assert refused.exit_code == 2 and "--no-catalogue" in refused.stderr


@needs_compiler
@pytest.mark.full
def test_on_the_real_bench(invoke: Invoke, own_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "BUSY_SHARE", 2.0)  # what others disturb is not kept: here it is, whoever else is busy
    budget = ("--profile", "quick", "--measurements", "2", "--candidates", "2", "--no-report")
    assert invoke("search", "softmax", *budget, "--run", "one").exit_code == 0
    assert invoke("search", "softmax", *budget, "--run", "two", "--seed", "7", "--warm-start").exit_code == 0
    before, after = load_run(own_place / "one"), load_run(own_place / "two")
    assert before.best is not None and before.best.id in first_round(after) and after.reused >= 1
