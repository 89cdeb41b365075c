"""The shipped model: conforms, knows what it does not know, and is read from a file that cannot run code."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.devices import described, names
from foretell.kernels.forecast import TrainedForecaster, make
from foretell.kernels.forecast.explain import explain
from foretell.kernels.forecast.model import Model
from foretell.kernels.forecast.model_file import BadModel
from foretell.kernels.forecast.trained import shipped
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.propose.triton import templates
from foretell.kernels.protocols import Build, Forecaster, Subject
from tests.kernels.forecast.world import WorldConformance

H200 = described("h200")
# What building a plain kernel shows, roughly: 32 registers, full occupancy, a few loads and stores.
FEATURES = {
    "launches": 1.0, "registers": 32.0, "spill_bytes": 0.0, "shared_bytes": 1024.0, "threads": 128.0, "occupancy": 1.0,
    "instructions": 120.0, "blocks_log2": 13.0, "global_load_share": 0.05, "global_store_share": 0.03,
    "wide_load_share": 1.0, "fma_share": 0.1, "float_share": 0.2, "integer_share": 0.3,
}  # fmt: skip


def _subject(task: str, origin: str = "template", build: bool = True) -> Subject:
    template = templates()[task]
    source = template.render(template.settings()[0])
    built = Build(Status.OK, features=FEATURES) if build else None
    return Subject(Candidate(task, "triton", source, Origin(origin)), built)


class TestTrained(WorldConformance):
    @pytest.fixture
    def forecaster(self) -> Forecaster:
        return make("features")

    @pytest.fixture
    def twin(self) -> Forecaster:
        return TrainedForecaster()


def _width(task: str, subject: Subject) -> float:
    [told] = TrainedForecaster().forecast(get(task, "gpu"), H200, [subject])
    low, high = told.interval(0.8)
    return high - low


def test_a_forecast_for_every_described_gpu_with_and_without_a_build() -> None:
    task, teller = get("softmax", "gpu"), TrainedForecaster()
    for name in names():
        device = described(name)
        if device.kind == "gpu":
            told = teller.forecast(task, device, [_subject("softmax"), _subject("softmax", build=False)])
            assert all(0.0 < f.p_fail < 1.0 and f.std > 0.0 for f in told)


def test_a_failed_build_is_a_failure() -> None:
    broken = Subject(_subject("softmax").candidate, Build(Status.COMPILE_ERROR, "no"))
    [told] = TrainedForecaster().forecast(get("softmax", "gpu"), H200, [broken])
    assert told.p_fail > 0.99


def test_what_was_never_seen_is_more_doubtful() -> None:
    model = shipped()
    assert model.regime("gpu", "softmax", "softmax") == "operation seen"
    assert model.regime("gpu", "kl_div_rows", "loss") == "operation new"
    assert model.regime("gpu", "max_pool2d", "pooling") == "family new"
    # The same program, told to be of an operation that was, or was not, there in training.
    task = get("softmax", "gpu")
    widths = []
    for name, family in (("softmax", "softmax"), ("other", "softmax"), ("other", "never")):
        renamed = replace(task, name=name, family=family)
        [told] = TrainedForecaster().forecast(renamed, H200, [_subject("softmax")])
        widths.append(told.std)
    assert widths[0] < widths[2] and widths[1] < widths[2]


def test_outside_what_was_seen_the_interval_widens() -> None:
    subject = _subject("softmax")
    strange = {name: value * 1e4 + 1e4 for name, value in FEATURES.items()}
    odd = Subject(subject.candidate, Build(Status.OK, features=strange | {"occupancy": 1.0, "blocks_log2": 40.0}))
    tier = shipped().tiers["gpu.build"]
    asked = TrainedForecaster().ask(get("softmax", "gpu"), H200, [subject, odd])
    usual, outside = tier.outside(tier.table([a.described for a in asked]))
    assert usual < 0.02 < outside
    assert _width("softmax", odd) > 1.3 * _width("softmax", subject)


def test_an_outlandish_source_is_told_with_a_wider_interval_than_a_usual_one() -> None:
    task, usual = get("softmax", "gpu"), _subject("softmax", build=False)
    strange = (
        usual.candidate.source
        + "\n\n"
        + "\n".join(
            f"@triton.jit\ndef f{i}(p, n: tl.constexpr):\n    for k in range(n):\n        for j in range(k):\n"
            f"            tl.store(p + j, tl.sort(tl.load(p + k * j)) // {10**i} % 7)\n"
            for i in range(40)
        )
    )
    odd = Subject(Candidate("softmax", "triton", strange, Origin("template")))
    seen, unseen = (explain(TrainedForecaster(), task, H200, each) for each in (usual, odd))
    assert seen.outside < 0.02 < 0.05 < unseen.outside
    assert _width("softmax", odd) > 1.3 * _width("softmax", usual)


def test_sources_of_any_sort_are_answered() -> None:
    task = get("softmax", "gpu")
    for text in ("", "\0\1\2", "def kernel(x): return", "x" * 1_000_000, "import os\n" * 20_000, "(" * 5000):
        for language in ("triton", "cuda", "torch"):
            subject = Subject(Candidate("softmax", language, text))
            assert len(TrainedForecaster().forecast(task, H200, [subject])) == 1


def test_the_shipped_file_is_small_and_a_bad_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    shipped().save(path)
    assert path.stat().st_size < 10e6
    again = Model.load(path)
    assert again.tasks == shipped().tasks and again.references == shipped().references
    task, subject = get("softmax", "gpu"), _subject("softmax")
    assert TrainedForecaster(again).forecast(task, H200, [subject]) == TrainedForecaster().forecast(
        task, H200, [subject]
    )
    for data in (b"", b"PK\x03\x04 not really", pickle.dumps({"a": 1}), path.read_bytes()[:5000]):
        (tmp_path / "bad.npz").write_bytes(data)
        with pytest.raises(BadModel):
            Model.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "objects.npz", head=np.array([{"a": 1}], dtype=object))
    with pytest.raises(BadModel):
        Model.load(tmp_path / "objects.npz")
    with pytest.raises(BadModel):
        Model.load(tmp_path / "absent.npz")
