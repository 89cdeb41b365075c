"""The whole path on a tiny model: corpus to pairs, both stages, an adapter on disk, and forecasts by its name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foretell.belief import Forecast, bins
from foretell.kernels.evaluate.data import Data, read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import brief, make
from foretell.kernels.forecast.model import REGIMES
from foretell.kernels.measurement import Measurement, Status
from foretell.lm import BadModelName
from foretell.lm.adapter import Calibration, Card
from foretell.train import features
from foretell.train.features import Effort
from foretell.train.lm import calibrate, pairs, run, trees
from foretell.train.lm.errors import OutOfMemory, TrainingTrouble
from foretell.train.lm.pairs import CHOICES, Drawing, KernelPairs, target_of
from foretell.train.lm.run import Wanted, train_lm
from foretell.train.lm.stored import Stored, write
from foretell.train.lm.trees import LeftOut, left_out
from tests.train.lm.tiny import pair
from tests.train.slices import slice_of

torch.set_num_threads(1)
LONGEST = 1000  # characters of a source: what attention costs grows with the square of a question's length
LEARNT = ("relu_squared_scale", "row_mean", "argmin", "log_softmax")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """A few candidates of four operations that are learnt from, and of one that is held out."""
    whole = read(slice_of((*LEARNT, "row_var"), tmp_path_factory.mktemp("corpus")))
    few: list[dict[str, object]] = []
    for task in (*LEARNT, "row_var"):
        rows = [row for row in whole.rows if row["task"] == task and len(row["source"]) < LONGEST]
        few += [dict(row) for row in rows[:: max(1, len(rows) // 12)][:12]]
    return replace(whole, rows=few)


@pytest.fixture(scope="module", autouse=True)
def few_trees_and_questions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "EFFORT", Effort(40, 10, 10))
        patch.setattr(run, "CHECKED", 100)
        yield


@pytest.fixture(scope="module")
def asked(data: Data, few_trees_and_questions: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LeftOut]:
    """A cache that holds what trees say of these rows, and what that is."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORETELL_CACHE", str(cache))
        return cache, left_out(data, print)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    model, words = pair()
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def test_corpus_to_forecasts(
    data: Data, base: Path, asked: tuple[Path, LeftOut], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(asked[0]))
    sft = Wanted("sft", str(base), tmp_path / "sft", examples=8, dtype="float32", rank=4)
    small = {"batch_tokens": 16_384, "longest": 12_000}
    assert "--forecaster 'local:" in train_lm(data, sft, print, **small)
    grpo = replace(sft, stage="grpo", into=tmp_path / "grpo", start=tmp_path / "sft" / "adapter", steps=1)
    train_lm(data, grpo, print, questions=2, answers=2, longest=8, longest_prompt=12_000)
    forecaster = make(f"local:{tmp_path / 'grpo' / 'adapter'}?base={base}&dtype=float32", 0)
    pools = data.pools("held_operation", "build")
    judged = judge(forecaster, pools)
    assert not judged.troubles
    figures = assess(judged, "tiny", "held_operation", 0, 20).to_dict()["figures"]
    assert np.isfinite(figures["spearman"]["value"])


@pytest.mark.full
def test_a_run_is_not_gone_on_with_by_another_corpus(data: Data, base: Path, tmp_path: Path) -> None:
    wanted = Wanted("sft", str(base), tmp_path, examples=4, dtype="float32", rank=4, alone=True)
    small = {"batch_tokens": 16_384, "longest": 12_000}
    train_lm(data, wanted, print, **small)
    with pytest.raises(TrainingTrouble, match=r"other settings \(--data\)"):
        train_lm(replace(data, rows=data.rows[1:]), wanted, print, **small)


def test_the_policy_stage_needs_something_to_go_on_from(data: Data, base: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingTrouble, match="--from"):
        train_lm(data, Wanted("grpo", str(base), tmp_path), print)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"stage": "grpo", "start": Path("nowhere")}, "no adapter in nowhere"),
        ({"dtype": "float99"}, "no type 'float99'"),
        ({"base": "nowhere.gguf"}, "no file nowhere.gguf"),
        ({"into": Path("pyproject.toml")}, "is a file"),
        ({"stage": "grpo", "reward": "speed"}, "no reward 'speed'"),
        ({"stage": "grpo", "reward": "crps", "weights": (("crps", float("nan")),)}, "weight of crps is nan"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_read(
    data: Data, base: Path, tmp_path: Path, changed: dict[str, object], words: str
) -> None:
    said: list[str] = []
    wanted = replace(Wanted("sft", str(base), tmp_path, start=None), **changed)  # type: ignore[arg-type]
    with pytest.raises((TrainingTrouble, ValueError), match=words):
        train_lm(data, wanted, said.append)
    assert said == []


def test_the_folder_of_a_run_is_no_adapter_but_has_one(data: Data, base: Path, tmp_path: Path) -> None:
    (tmp_path / "run" / "adapter").mkdir(parents=True)
    (tmp_path / "run" / "adapter" / "adapter_config.json").write_text("{}")
    with pytest.raises(TrainingTrouble, match=r"there is one in .*run/adapter"):
        train_lm(data, Wanted("grpo", str(base), tmp_path / "into", start=tmp_path / "run"), print)


def test_without_anything_to_learn_from(data: Data, base: Path, tmp_path: Path) -> None:
    other = read(Path("data/corpus_cpu.parquet"))
    with pytest.raises(TrainingTrouble, match="nothing to learn from"):
        train_lm(
            replace(other, rows=other.rows[:60]), Wanted("sft", str(base), tmp_path, dtype="float32", alone=True), print
        )


@pytest.mark.full
def test_an_adapter_is_there_even_if_calibrating_it_fails(
    data: Data, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object, **__: object) -> None:
        raise OutOfMemory("too much")

    monkeypatch.setattr(calibrate, "choice_probs", none)
    wanted = Wanted("sft", str(base), tmp_path, examples=4, dtype="float32", rank=4, alone=True)
    with pytest.raises(OutOfMemory):
        train_lm(data, wanted, print, longest=12_000)
    assert Card.read(tmp_path / "adapter") is not None
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(base)
    assert "some/model" in make(f"local:{tmp_path / 'adapter'}?base=some/model", 0).name


@pytest.mark.full
def test_one_operation_is_learnt_from_and_not_calibrated_by(data: Data, base: Path, tmp_path: Path) -> None:
    one = replace(data, rows=[row for row in data.rows if row["task"] == "row_mean"])
    wanted = Wanted("sft", str(base), tmp_path, examples=4, dtype="float32", rank=4, alone=True)
    train_lm(one, wanted, print, longest=12_000)
    card = Card.read(tmp_path / "adapter")
    assert card is not None
    assert card.calibration == Calibration()


def test_an_adapter_whose_base_is_not_here_says_so(data: Data, base: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text('{"base_model_name_or_path": "/nowhere/base"}')
    with pytest.raises(BadModelName, match=r"\?base=PATH"):
        make(f"local:{adapter}", 0)


def test_nothing_of_a_held_out_operation_is_learnt_from(data: Data) -> None:
    world = KernelPairs(data)
    learnt, kept = world.operations
    assert sorted(learnt + kept) == sorted(LEARNT)
    assert len(kept) == 1
    drawn = world.train(200, 3)
    assert {example.group for example in drawn} == set(learnt)
    assert {example.group for example in world.check(20, 0)} == set(kept)
    assert not any("row_var" in example.messages[0].content for example in drawn)


def test_operations_and_outcomes_have_equal_mass(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "COMMON", 1)
    world = KernelPairs(data, drawing=Drawing(structured=0.0, reference=1.0))
    drawn = world.train(1500, 0)
    by_group = {name: [e for e in drawn if e.group == name] for name in {e.group for e in drawn}}
    counts = np.array([len(examples) for examples in by_group.values()])
    assert counts.min() > 0.8 * counts.mean()
    for examples in by_group.values():
        found = np.bincount([int(np.argmax(e.target)) for e in examples], minlength=len(CHOICES))
        present = found[found > 0]
        assert present.max() < 2.0 * present.mean()


def test_rows_of_a_rare_outcome_are_not_drawn_over_and_over() -> None:
    by_outcome = [[0], list(range(1, 1 + 2 * pairs.COMMON)), [], list(range(100, 100 + 4 * pairs.COMMON))]
    rng = np.random.default_rng(0)
    drawn = np.array([pairs._balanced(by_outcome, rng) for _ in range(8000)])
    common = [int(np.isin(drawn, rows).sum()) for rows in (by_outcome[1], by_outcome[3])]
    assert common[0] == pytest.approx(common[1], rel=0.1)
    assert (drawn == 0).sum() < 1.5 * common[0] / pairs.COMMON


def test_questions_can_leave_the_sources_out_and_targets_can_be_blurred(data: Data) -> None:
    plain = KernelPairs(data, drawing=Drawing(blind=0.0, blur_log2=0.0)).train(40, 0)
    blind = KernelPairs(data, drawing=Drawing(blind=1.0, blur_log2=0.3)).train(40, 0)
    assert all("Source not shown" not in e.messages[0].content and "kernel" in e.messages[0].content for e in plain)
    assert not any("def kernel" in e.messages[0].content for e in blind)
    assert [e.group for e in blind] == [e.group for e in plain]
    assert np.mean([max(e.target) for e in blind]) < np.mean([max(e.target) for e in plain])
    asked = KernelPairs.for_policy(data).train(20, 0)
    assert {e.form for e in asked} == {"structured"}
    assert all("## Reference" in e.messages[0].content for e in asked)


def _words(data: Data, medians: float = 2.5) -> LeftOut:
    rows = [row for row in data.rows if row["split"] == "train"]
    word = Forecast.from_normal(medians, 0.01, 0.0)
    return {regime: {(row["device"], row["id"]): word for row in rows} for regime in REGIMES[1:]}


def test_questions_can_tell_what_trees_expect(data: Data) -> None:
    word = "say, in hundredths: H 100; middle 5.66x."
    always = Drawing(told=1.0)
    for example in KernelPairs(data, _words(data), always).train(60, 0):
        text = example.messages[0].content
        assert (word in text) == ("## Reference" in text)
    asked = KernelPairs.for_policy(data, _words(data))
    assert asked.style == brief.TOLD
    assert all(word in example.messages[0].content for example in (*asked.train(9, 0), *asked.check(9, 0)))
    assert KernelPairs(data).style == brief.ALONE


def test_where_the_word_of_trees_is_not_told_it_can_be_part_of_the_target(data: Data) -> None:
    taught = KernelPairs(data, _words(data), Drawing(told=0.0, taught=0.25)).train(60, 0)
    plain = KernelPairs(data, _words(data), Drawing(told=0.0, taught=0.0)).train(60, 0)
    for own, other in zip(taught, plain, strict=True):
        assert own.messages == other.messages and "Trees that" not in own.messages[0].content
        if "## Reference" in own.messages[0].content:
            assert own.target[-1] == pytest.approx(0.75 * other.target[-1] + 0.25)
        assert sum(own.target) == pytest.approx(1.0)
    # Over a base that is as fast as what trees expect of the candidate, they expect no difference.
    ratios = [e.target for e, o in zip(taught, plain, strict=True) if "## Base" in e.messages[0].content]
    assert ratios and not all(target[-1] >= 0.25 for target in ratios)


def test_numbers_of_builds_are_nudged_while_learning(data: Data) -> None:
    plain = KernelPairs(data, drawing=Drawing(nudge_log2=0.0)).train(30, 0)
    nudged = KernelPairs(data, drawing=Drawing(nudge_log2=0.1)).train(30, 0)
    for own, other in zip(nudged, plain, strict=True):
        for chosen in ("registers", "spilled", "threads"):
            exact = re.compile(rf"{chosen} [\d.k]+, ")
            assert exact.findall(own.messages[0].content) == exact.findall(other.messages[0].content)
        counts = [re.findall(r"instructions (\d+)", e.messages[0].content) for e in (own, other)]
        for near, number in zip(*counts, strict=True):
            assert int(number) * 0.6 <= int(near) <= int(number) * 1.7
    assert sum(own.messages != other.messages for own, other in zip(nudged, plain, strict=True)) > 25


def test_trees_are_asked_about_rows_they_were_not_shown(
    data: Data, asked: tuple[Path, LeftOut], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operation whose speedups were all eight times as high would be expected to be as it is now."""
    faster = [
        {**row, "speedup": row["speedup"] * 8} if row["task"] == "argmin" and row["speedup"] else row
        for row in data.rows
    ]
    cache, now = asked
    then = left_out(replace(data, rows=faster), print, tmp_path / "then.jsonl.gz")
    assert set(now) == set(REGIMES[1:])
    built = [row for row in data.rows if row["split"] == "train" and row["features"]]
    assert set(now[REGIMES[1]]) == {(row["device"], row["id"]) for row in built}
    moved = {task: _moved(now[REGIMES[1]], then[REGIMES[1]], built, task) for task in LEARNT}
    assert moved["argmin"] < 0.2 < 0.3 < max(moved.values())
    monkeypatch.setenv("FORETELL_CACHE", str(cache))
    assert left_out(data, lambda words: pytest.fail("asked again")) == now


def test_asking_trees_goes_on_where_it_was_cut(
    data: Data, asked: tuple[Path, LeftOut], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_out, times = features._held_out, 0

    def counted(*given: Any) -> Any:
        nonlocal times
        times += 1
        if times == 4:
            raise KeyboardInterrupt
        return held_out(*given)

    monkeypatch.setattr(features, "_held_out", counted)
    with pytest.raises(KeyboardInterrupt):
        left_out(data, print, tmp_path / "cut.jsonl.gz")
    assert not (tmp_path / "cut.jsonl.gz").exists()
    said: list[str] = []
    assert left_out(data, said.append, tmp_path / "cut.jsonl.gz") == asked[1]
    parts = sum("part" in words and " of " in words for words in said)
    assert times == parts + 1  # the one that was cut is done again, those before it are not
    assert {path.name for path in tmp_path.iterdir()} == {"cut.jsonl.gz"}


def _moved(now: Mapping[tuple[str, str], Forecast], then: Any, rows: Sequence[Mapping[str, Any]], task: str) -> float:
    """How much higher the middle of what is expected of an operation's candidates has become (log2)."""
    keys = [(row["device"], row["id"]) for row in rows if row["task"] == task]
    return float(np.median([then[key].median - now[key].median for key in keys]))


def test_what_is_drawn_does_not_depend_on_how_many(data: Data) -> None:
    world = KernelPairs(data)
    assert world.train(5, 9) == world.train(8, 9)[:5]


def test_remarks_of_the_source_are_not_shown(data: Data) -> None:
    world = KernelPairs(data)
    shown = "\n".join(example.messages[0].content for example in world.train(60, 1))
    assert "slip" not in shown
    assert not [line for line in shown.splitlines() if line.strip().startswith(("# ", "//"))]


def test_targets_carry_the_doubt_of_the_measurement() -> None:
    sure = target_of(Measurement(Status.OK, speedup=1.2, low=1.19, high=1.21))
    edge = target_of(Measurement(Status.OK, speedup=1.0, low=0.9, high=1.1))
    assert sure[1 + bins.bin_of(1.2)] > 0.99
    assert 0.3 < edge[1 + bins.bin_of(1.0)] < 0.7
    assert target_of(Measurement(Status.WRONG)) == (1.0, *(0.0,) * bins.N_BINS)
    for target in (sure, edge):
        assert sum(target) == pytest.approx(1.0)


def test_structured_answers_are_read_back(data: Data) -> None:
    world = KernelPairs(data)
    for example in world.train(50, 4):
        told = world.read(world.answer(example.target))
        assert told is not None
        assert np.allclose(told, example.target, atol=0.02)
    assert world.read("faster, I think") is None


def test_examples_in_a_file_are_the_same(data: Data, tmp_path: Path) -> None:
    world = KernelPairs(data)
    drawn = world.train(6, 0)
    write(tmp_path / "e.jsonl.gz", world, drawn)
    again = Stored(tmp_path / "e.jsonl.gz", world).train(6, 0)
    assert [e.messages for e in again] == [e.messages for e in drawn]
    assert np.allclose([e.target for e in again], [e.target for e in drawn], atol=1e-5)
