"""Plans, collecting, the table and its proofs."""

from __future__ import annotations

import ast
import gzip
import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from foretell.kernels.bench.fake import FAKE_DEVICE, FakeBench
from foretell.kernels.candidate import TELLING_NAME, stripped
from foretell.kernels.corpus import imports, table
from foretell.kernels.corpus import plan as plans
from foretell.kernels.corpus.check import CorpusDamaged, NotWritten
from foretell.kernels.corpus.collect import collect
from foretell.kernels.corpus.plan import Item, make_plan, read_plan, write_plan
from foretell.kernels.corpus.splits import HELD_FAMILIES, HELD_OPERATIONS, assign, shingles, similarity, split_of
from foretell.kernels.corpus.stats import summary
from foretell.kernels.corpus.verify import problems
from foretell.kernels.library import tasks
from foretell.kernels.measurement import Cost, Measurement, Status, Timing
from foretell.kernels.store import Catalogue
from foretell.kernels.store.combine import combine
from foretell.kernels.tasks import BadTask
from tests.kernels.search.world import make_search

SMALL = ("softmax", "row_sum", "transpose")


def _collected(tmp_path: Path, **options: Any) -> tuple[Path, Any]:
    path = tmp_path / "catalogue.sqlite"
    tally = collect(make_plan("cpu", 12, 2, wanted=SMALL), "cpu", FakeBench(), Catalogue(path), **options)
    return path, tally


def test_a_plan_is_the_same_every_time_and_mixes_tasks_in_rounds(tmp_path: Path) -> None:
    plan = make_plan("cpu", 10, 2, seed=3, wanted=SMALL)
    assert plan == make_plan("cpu", 10, 2, seed=3, wanted=SMALL)
    assert plan != make_plan("cpu", 10, 2, seed=4, wanted=SMALL)
    runs = [name for name, _ in itertools.groupby(plan, key=lambda item: item.task)]
    assert sorted(runs[:3]) == sorted(SMALL) and runs[3:] == runs[:3]
    path = tmp_path / "plan.jsonl.gz"
    assert write_plan(path, plan) == 30
    assert [i.candidate().id for i in read_plan(path)] == [i.candidate().id for i in plan]


def test_written_kernels_are_planned_with_their_origin(tmp_path: Path) -> None:
    folder = tmp_path / "softmax"
    folder.mkdir()
    (folder / "triton_1.py").write_text("def kernel(x):\n    return x\n")
    (folder / "cuda_1.py").write_text("def kernel(x):\n    return x  # cuda\n")
    plan = make_plan("gpu", 0, wanted=["softmax"], written=tmp_path)
    assert {(item.language, item.file) for item in plan} == {("triton", "triton_1.py"), ("cuda", "cuda_1.py")}
    assert {item.candidate(tmp_path).origin.kind for item in plan} == {"model"}


NOT_PLANS = {
    "not gzip": b"not gzip",
    "not JSON": gzip.compress(b"{broken"),
    "no entry": gzip.compress(b'{"a":1}\n'),
    "a list": gzip.compress(b"[1, 2]\n"),
    "knobs that are a list": gzip.compress(b'{"task": "row_sum", "language": "cpp", "knobs": [1]}\n'),
    "a task that is a number": gzip.compress(b'{"task": 5, "language": "cpp", "file": "x"}\n'),
    "a source that is a list": gzip.compress(b'{"task": "x", "language": "cpp", "source": []}\n'),
    "nested": gzip.compress(b"[" * 200_000 + b"\n"),
    "a number of many digits": gzip.compress(b'{"task": ' + b"9" * 5000 + b"}\n"),
    "damaged": gzip.compress(b"[1, 2]\n")[:12] + b"\xff" * 8,
    "not UTF-8": gzip.compress(b'{"task": "\xff\xfe"}\n'),
    "a line without end": gzip.compress(b" " * (plans.MOST_LINE_BYTES + 1)),
}


@pytest.mark.parametrize("content", NOT_PLANS.values(), ids=NOT_PLANS.keys())
def test_what_is_no_plan_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a plan"):
        list(read_plan(path))


def test_a_plan_that_inflates_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_PLAN_BYTES", 1000)
    path = tmp_path / "plan"
    path.write_bytes(gzip.compress(b'{"task": "row_sum", "language": "cpp", "knobs": {}}\n' * 100))
    with pytest.raises(ValueError, match="1000 in all"):
        list(read_plan(path))


def test_items_of_no_template_are_missing_and_specs_of_no_task_are_told(tmp_path: Path) -> None:
    for item in (Item("row_sum", "../x", {}), Item("row_sum", "lm", {}), Item("row_sum", "cpp", {"threads": []})):
        tally = collect([item], "cpu", FakeBench(), Catalogue(tmp_path / "c"))
        assert tally.missing == 1 and tally.measured == 0
    for spec in ({}, {"workloads": 5, "extra": []}, {"workloads": [{"sizes": 3}], "extra": [], "tolerance": {}}):
        with pytest.raises(BadTask, match="of the plan cannot be read"):
            Item("mine", "cpp", source="x", spec=spec).definition("cpu")


def test_nothing_is_measured_twice(tmp_path: Path) -> None:
    path, first = _collected(tmp_path)
    assert first.measured == 36 and first.known == first.left == 0
    bench = FakeBench()
    again = collect(make_plan("cpu", 12, 2, wanted=SMALL), "cpu", bench, Catalogue(path))
    assert again.measured == 0 and again.known == 36
    assert len(Catalogue(path)) == 36


def test_what_the_corpus_holds_is_known(tmp_path: Path) -> None:
    path, _ = _collected(tmp_path)
    imports.merge(tmp_path, [path])
    ids = table.known_ids(tmp_path)
    elsewhere = Catalogue(tmp_path / "other.sqlite")
    tally = collect(make_plan("cpu", 12, 2, wanted=SMALL), "cpu", FakeBench(), elsewhere, ids)
    assert tally.measured == 0 and tally.known == 36


def test_time_up_leaves_the_rest_for_later(tmp_path: Path) -> None:
    ticks = itertools.count()
    path, tally = _collected(tmp_path, seconds=10.0, clock=lambda: float(next(ticks)))
    assert 0 < tally.measured < 36
    assert tally.measured + tally.left == 36
    _, rest = _collected(tmp_path)
    assert rest.measured == tally.left and rest.known == tally.measured
    assert len(Catalogue(path)) == 36


def test_items_that_are_gone_are_counted_and_passed_over(tmp_path: Path) -> None:
    items = [Item("softmax", "cpp", file="missing.cpp"), *make_plan("cpu", 2, wanted=["softmax"])]
    tally = collect(items, "cpu", FakeBench(), Catalogue(tmp_path / "c"), written=tmp_path)
    assert tally.missing == 1 and tally.measured == 2


def test_faults_of_the_machine_are_not_kept(tmp_path: Path) -> None:
    plan = make_plan("cpu", 3, wanted=["softmax"])
    bench = FakeBench(faults={plan[0].candidate().id: 1})
    catalogue = Catalogue(tmp_path / "c")
    first = collect(plan, "cpu", bench, catalogue)
    assert first.statuses["infrastructure"] == 1 and len(catalogue) == 2
    assert collect(plan, "cpu", bench, catalogue).measured == 1


class Disturbed(FakeBench):
    """A bench that other processes disturb while it measures candidates whose id begins with a digit below 8."""

    def measure(self, task, candidates, hopeless_below=None):  # type: ignore[no-untyped-def]
        for candidate, outcome in super().measure(task, candidates, hopeless_below):
            conditions = {"others": 0.5, "load": 3.0, "cores": 2, "disturbed": candidate.id[0] < "8"}
            yield candidate, replace(outcome, conditions=conditions)


def test_disturbed_measurements_are_neither_kept_nor_counted_as_measured(tmp_path: Path) -> None:
    plan = make_plan("cpu", 12, wanted=["softmax"])
    catalogue = Catalogue(tmp_path / "c")
    tally = collect(plan, "cpu", Disturbed(), catalogue)
    assert tally.disturbed > 0 and tally.measured > 0
    assert tally.measured == len(catalogue) == sum(tally.statuses.values()) == 12 - tally.disturbed
    assert tally.left == tally.disturbed
    assert collect(plan, "cpu", FakeBench(), catalogue).measured == tally.disturbed


def test_what_another_process_measures_is_left_to_it(tmp_path: Path) -> None:
    plan = make_plan("cpu", 6, wanted=["softmax"])
    task, candidates = tasks()["softmax"], [item.candidate() for item in plan]
    other = Catalogue(tmp_path / "c")
    assert len(other.reserve(task, candidates[:2], FAKE_DEVICE, 3600)) == 2
    bench = FakeBench()
    tally = collect(plan, "cpu", bench, Catalogue(tmp_path / "c"))
    assert sorted(bench.asked) == sorted(candidate.id for candidate in candidates[2:])
    assert (tally.measured, tally.elsewhere, tally.left) == (4, 2, 0)
    other.release(task, candidates, FAKE_DEVICE)
    assert collect(plan, "cpu", FakeBench(), Catalogue(tmp_path / "c")).measured == 2


def test_what_is_being_collected_is_reserved_and_given_up(tmp_path: Path) -> None:
    plan = make_plan("cpu", 4, wanted=["softmax"])
    task, candidates = tasks()["softmax"], [item.candidate() for item in plan]
    other = Catalogue(tmp_path / "c")
    free: list[int] = []

    class Watched(FakeBench):
        def measure(self, task, candidates, hopeless_below=None):  # type: ignore[no-untyped-def]
            free.append(len(other.reserve(task, candidates, FAKE_DEVICE, 1.0)))
            yield from super().measure(task, candidates, hopeless_below)

    ticks = itertools.count()
    tally = collect(plan, "cpu", Watched(), Catalogue(tmp_path / "c"), seconds=1.5, clock=lambda: float(next(ticks)))
    assert free == [0] and (tally.measured, tally.left) == (1, 3)
    assert len(other.reserve(task, candidates, FAKE_DEVICE, 1.0)) == 4


def test_several_measurements_of_one_candidate_are_combined_by_precision(tmp_path: Path) -> None:
    task = tasks()["softmax"]
    [candidate] = [item.candidate() for item in make_plan("cpu", 1, wanted=["softmax"])]
    [build] = FakeBench().build(task, [candidate])
    outcomes = [_outcome(1.0, 0.5, 2.0), _outcome(2.0, 1.96, 2.04), _outcome(1.9, 1.5, 2.4)]
    for number, outcome in enumerate(outcomes):
        put = Catalogue(tmp_path / f"{number}", clock=partial(float, 1e9 + number)).put
        assert put(task, candidate, build, FAKE_DEVICE, outcome)
    together = combine(outcomes)
    for order in itertools.permutations(range(3)):
        folder = tmp_path / "-".join(map(str, order))
        for number in (*order, order[0]):  # one of them twice
            imports.merge(folder, [tmp_path / f"{number}"])
        [row] = table.read(folder)
        assert row["speedup"] == pytest.approx(together.speedup, rel=1e-5)
        assert (row["low"], row["high"]) == pytest.approx((together.low, together.high), rel=1e-5)
        assert row["measured_at"] == 1e9 + 2
        assert json.loads(row["conditions"])["combined"] == 3
        assert not list(problems([row]))


def test_a_run_and_its_catalogue_tell_of_the_same_measurements(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "c")
    state = make_search(tmp_path / "run", "all", catalogue=catalogue).run()
    imports.merge(tmp_path, [tmp_path / "run", tmp_path / "c"])
    rows = table.read(tmp_path)
    assert len(rows) == state.measured + state.unbuilt
    assert not any("combined" in row["conditions"] for row in rows)


def _outcome(speedup: float, low: float, high: float) -> Measurement:
    timings = tuple(
        Timing(w.name, (100.0,) * 3, (100.0 / speedup,) * 3, speedup, low, high) for w in tasks()["softmax"].workloads
    )
    return Measurement(Status.OK, "", speedup, low, high, timings, cost=Cost(device_s=speedup))


@pytest.mark.parametrize("parts", [1, [1], [[0.0, "ok", None, 1.0, 1.0, 0.0]], [[0.0, "splendid", 1.0, 1.0, 1.0, 0.0]]])
def test_parts_that_make_no_sense_are_refused(tmp_path: Path, parts: Any) -> None:
    path, _ = _collected(tmp_path)
    imports.merge(tmp_path, [path])
    rows = table.read(tmp_path)
    rows[0]["conditions"] = json.dumps({"parts": parts})
    with pytest.raises(NotWritten, match="conditions"):
        table.write(tmp_path / "corpus_cpu.parquet", rows)
    made = table.arrow().Table.from_pylist(rows, schema=table.schema())
    table.arrow().parquet.write_table(made, tmp_path / "corpus_cpu.parquet")
    with pytest.raises(CorpusDamaged, match="conditions"):
        table.read(tmp_path)


def test_the_table_keeps_what_was_measured(tmp_path: Path) -> None:
    path, tally = _collected(tmp_path)
    assert imports.merge(tmp_path, [path]) == {"corpus_cpu": 36}
    assert imports.merge(tmp_path, [path]) == {"corpus_cpu": 36}
    rows = table.read(tmp_path)
    assert {r["task"] for r in rows} == set(SMALL)
    told = summary(rows)
    assert told["statuses"] == dict(tally.statuses) and told["candidates"] == 36
    good = next(r for r in rows if r["status"] == "ok")
    assert good["low"] <= good["speedup"] <= good["high"]
    assert good["detail"] and json.loads(good["detail"])["knobs"]
    assert not list(problems(rows))


@pytest.mark.parametrize(("change", "says"), [
    ({"source": "int other;"}, "its id is not"),
    ({"stripped": "// naive"}, "not its source stripped"),
    ({"speedup": 77.0}, "workloads give"),
    ({"status": "wrong"}, "status wrong with speedup"),
])  # fmt: skip
def test_verification_finds(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path, _ = _collected(tmp_path)
    imports.merge(tmp_path, [path])
    rows = table.read(tmp_path)
    index = next(i for i, r in enumerate(rows) if r["status"] == "ok" and r["workloads"])
    rows[index] = {**rows[index], **change}
    assert any(says in words for words in problems(rows))


def test_duplicates_and_leaks_are_found(tmp_path: Path) -> None:
    path, _ = _collected(tmp_path)
    imports.merge(tmp_path, [path])
    rows = table.read(tmp_path)
    assert any("occurs 2 times" in words for words in problems([*rows, rows[0]]))
    held = {**rows[0], "task": "sobel", "family": "stencil", "key": "k"}
    both = [*rows, held]
    assert assign(both)[0] == "near" and assign(both)[-1] == "held_operation"
    careless = [{**r, "split": "train"} for r in rows] + [{**held, "split": "held_operation"}]
    assert any("same text is held out" in words for words in problems(careless))
    assert any("is in near" in words for words in problems([{**held, "split": "near"}]))


def test_what_is_held_out_exists_and_is_out_whatever_its_origin() -> None:
    known = tasks("gpu")
    assert set(known) >= HELD_OPERATIONS
    assert {t.family for t in known.values()} >= HELD_FAMILIES
    assert split_of("pooling", "max_pool2d", "template") == "held_family"
    assert split_of("stencil", "sobel", "model") == "held_operation"
    assert {split_of("x", name, "model") for name in known if name not in HELD_OPERATIONS} == {"train", "held_written"}
    assert split_of("softmax", "softmax", "template") == "train"


def test_numbers_do_not_make_a_difference_but_structure_does() -> None:
    text = "for (int i = 0; i < 128; ++i) { out[i] = x[i] * 2 + y[i]; total += out[i]; }"
    assert similarity(shingles(text), shingles(text.replace("128", "256"))) == 1.0
    assert similarity(shingles(text), shingles("while (k) { a -= b[k] / c; swap(a, b); --k; other(k); }")) < 0.2
    assert len(shingles("x")) == 1


def test_the_written_kernels_are_programs_for_known_tasks() -> None:
    folder = Path(__file__).parents[2] / "data" / "written"
    found = sorted(folder.glob("*/*.py"))
    assert len(found) >= 700 and len({path.parent.name for path in found}) >= 70
    for path in found:
        assert path.parent.name in tasks("gpu"), path
        defined = {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}
        assert "kernel" in defined, path
        shown = stripped(path.read_text(), "cuda" if path.name.startswith("cuda") else "triton")
        assert "/*" not in shown and not TELLING_NAME.search(shown), path


@pytest.mark.full
def test_the_committed_corpus_is_what_it_says() -> None:
    folder = Path(__file__).parents[2] / "data"
    rows = table.read(folder)
    counts = Counter(r["language"] for r in rows)
    assert counts["triton"] >= 20_000 and counts["cuda"] >= 6_000 and counts["cpp"] >= 4_000
    by_task = Counter(r["task"] for r in rows if r["kind"] == "gpu")
    assert len(by_task) >= 120 and min(by_task.values()) >= 100
    assert not list(problems(rows))
    assert sum(path.stat().st_size for path in table.files(folder)) < 60e6
