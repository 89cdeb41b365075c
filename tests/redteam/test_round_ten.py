"""Received files of the tenth round: small ones that meant minutes and gigabytes, and values nobody had looked at."""

from __future__ import annotations

import difflib
import gzip
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from foretell import received_limits
from foretell.cli.app import app
from foretell.gui import dataset, elements
from foretell.gui.dataset import DatasetError, load_image
from foretell.gui.elements import look
from foretell.gui.places import places
from foretell.gui.rescore import rescore
from foretell.gui.trace import TraceError
from foretell.gui.trace import read as read_trace
from foretell.kernels import task as tasks
from foretell.kernels.corpus import splits
from foretell.kernels.corpus.plan import Item, read_plan
from foretell.kernels.evaluate import data
from foretell.kernels.evaluate.pools import BadTable
from foretell.kernels.library import get
from foretell.kernels.limits import TASK_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.replay import compare as replayed
from foretell.kernels.replay import spaces
from foretell.kernels.replay.spaces import BadSpace, Space
from foretell.kernels.tasks import BadTask, from_spec
from foretell.kernels.tune.tuner import Tuner
from foretell.received_limits import TooMuchWork, within_limits
from foretell.report import diff, write_report
from foretell.report.diff import compare
from tests.fuzzing import mutate
from tests.redteam.test_round_eight import at_most
from tests.redteam.test_round_nine import EVENT, cache
from tests.report.synthetic import events_of_a_run, state_of

SEEDS = range(12)
LONGEST = "n" + "*1" * 99  # of a dimension


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def spec(sides: int = 1, workloads: int = 1, side: str | int = "n", rank: int = 32, **changes: Any) -> dict[str, Any]:
    """Of a task with so many sides in all, at so many workloads."""
    shapes = [[side] * min(rank, sides - at) for at in range(0, sides, rank)]
    inputs = [{"name": f"x{i}", "dtype": "float32", "shape": shape, "fill": "normal"} for i, shape in enumerate(shapes)]
    sizes = [{"sizes": {"n": 7 + i}, "arguments": {}, "label": ""} for i in range(workloads)]
    return {
        "kind": "module", "name": "own", "family": "module", "summary": "s", "sizes": ["n"], "inputs": inputs,
        "outputs": [], "workloads": sizes[:128], "extra": sizes[128:],
        "tolerance": {"relative": 1e-3, "absolute": 1e-5, "reason": "r"},
        "files": {"module.py": "x", "reference.cpp": "x"}, "references": {"cpp": "reference.cpp"},
    } | changes  # fmt: skip


def table_of(path: Path, *specs: Any) -> Path:
    """A table of two kernels of each of these tasks."""
    rows = [
        {"task": f"own{i}", "kind": "cpu", "language": "cpp", "source": f"int x{k};", "device": f"box x{i + 1}",
         "status": "ok", "speedup": 1.5, "split": "held_operation", "spec": json.dumps(each)}
        for i, each in enumerate(specs) for k in range(2)
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
    return path


def plan_of(path: Path, *specs: Any) -> Path:
    lines = (
        json.dumps({"task": f"own{i}", "language": "cpp", "file": "", "source": "int x;", "spec": each})
        for i, each in enumerate(specs)
    )
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


TOO_MUCH = pytest.mark.parametrize(
    ("odd", "words"),
    [
        (spec(TASK_LIMITS.listed_sides // 256, 256), "sides at all its workloads"),
        (spec(TASK_LIMITS.side_characters // len(LONGEST) + 1, 1, LONGEST), "characters"),
        (spec(6, 256, LONGEST), "characters"),
        (spec(1, 1, "n", extra=[{"sizes": {"n": 1, **{f"s{i}": 1 for i in range(256)}}}]), "sizes"),
    ],
    ids=["sides", "characters", "characters at all workloads", "sizes"],
)


class TestSpecs:
    """Tasks whose dimensions took minutes to work out, and gigabytes to remember."""

    @TOO_MUCH
    def test_of_very_many_dimensions_are_none(self, tmp_path: Path, odd: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            from_spec(odd)
        result = run("eval", table_of(tmp_path / "t.parquet", odd), "--forecaster", "roofline", "--resamples", "5")
        assert result.exit_code == 2 and words in " ".join(result.output.split())

    @TOO_MUCH
    def test_of_a_plan(self, tmp_path: Path, odd: dict[str, Any], words: str) -> None:
        [item] = read_plan(plan_of(tmp_path / "p.gz", odd))
        assert isinstance(vars(item)["own_task"], BadTask), "not made while the plan was read"
        with pytest.raises(BadTask, match=words):
            item.definition("cpu")
        (tmp_path / "empty").mkdir()
        result = run("collect", tmp_path / "p.gz", "--into", tmp_path / "c.sqlite", "--corpus", tmp_path / "empty")
        assert result.exit_code == 0 and "missing 1" in result.output and words in " ".join(result.output.split())

    def test_are_made_within_the_limits_of_reading(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        most = TASK_LIMITS.side_characters // 256 // 200
        several = [spec(most, 256, LONGEST, name=f"own{i}") for i in range(40)]
        table_of(tmp_path / "t.parquet", *several)
        plan_of(tmp_path / "p.gz", *several)
        monkeypatch.setattr(received_limits, "SECONDS", 0.2)
        (tmp_path / "empty").mkdir()
        for words in (
            ("eval", tmp_path / "t.parquet", "--forecaster", "roofline"),
            ("replay", tmp_path / "t.parquet", "--jobs", "1"),
            ("collect", tmp_path / "p.gz", "--into", tmp_path / "c.sqlite", "--corpus", tmp_path / "empty"),
        ):
            result = run(*words)
            assert result.exit_code == 2 and "takes more than" in " ".join(result.output.split()), result.output

    def test_no_reader_takes_the_end_of_its_time_for_an_odd_part(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(received_limits, "SECONDS", 0.1)
        for caught in (Exception, BaseException):
            ends = 0
            with pytest.raises(TooMuchWork), within_limits("x", 0):
                while ends == 0:
                    try:
                        sum(range(1000))
                    except caught:
                        ends += 1
            assert ends == (0 if caught is Exception else 1)

    def test_no_more_is_made_once_they_are_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rows = data.read(table_of(tmp_path / "t.parquet", spec(), spec(2)))
        monkeypatch.setattr("foretell.kernels.evaluate.pools.from_spec", None)
        assert [len(pool) for pool in rows.pools("all", "source")] == [2, 2]

    def test_bytes_are_worked_out_once_for_each_workload(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        worked_out = tasks.tensor_bytes
        monkeypatch.setattr(tasks, "tensor_bytes", lambda *of: asked.append(of[0].name) or worked_out(*of))
        made = from_spec(spec(64, 4))
        for _ in range(50):
            assert all(made.least_bytes_of(workload) > 0.0 for workload in made.workloads)
            assert all(made.certain_bytes(workload.sizes) >= 0.0 for workload in made.workloads)
        assert len(asked) == 4 * 2

    def test_what_is_remembered_of_foreign_texts_is_bounded(self) -> None:
        for remembered in (tasks._parsed, splits._code):
            assert remembered.cache_info().maxsize is not None
        size = tasks._parsed.cache_info().maxsize or 0
        for number in range(2 * size):
            assert tasks.evaluate_size(f"n + {number}", {"n": 1}) == number + 1
        assert tasks._parsed.cache_info().currsize <= size

    @pytest.mark.parametrize(
        "fill", ["", "none", "index:", "index:0", "index:m", "index:n - 99", "xindex:3", 5, "x" * 300]
    )
    def test_fills_that_nothing_has(self, fill: Any) -> None:
        tensor = {"name": "x", "dtype": "float32", "shape": ["n"], "fill": fill}
        with pytest.raises(ValueError, match=r"fill|shape|dimension"):
            from_spec(spec(inputs=[tensor]))

    @pytest.mark.parametrize("side", [10**30, "1" * 40])
    def test_sides_beyond_64_bits(self, side: str | int) -> None:
        with pytest.raises(ValueError, match=r"64 bits|shape is"):
            from_spec(spec(side=side))

    def test_long_honest_ones_are_read(self, tmp_path: Path) -> None:
        tensor = {
            "name": "x",
            "dtype": "float32",
            "shape": ["batch", "n - 1", "height", "width"],
            "fill": "index:n + 1",
        }
        sizes = {"batch": 2, "n": 7, "height": 3, "width": 4}
        several = [{"sizes": sizes, "arguments": {}, "label": str(i)} for i in range(128)]
        whole = spec() | {"sizes": list(sizes), "inputs": [tensor] * 20, "workloads": several, "extra": several[:40]}
        made = from_spec(whole)
        assert len(made.inputs) == 20 and made.inputs[0].dims(sizes) == (2, 6, 3, 4)
        one, other = spec(), spec(2)
        assert [each.own_task for each in read_plan(plan_of(tmp_path / "p.gz", one, other))] == [
            from_spec(one),
            from_spec(other),
        ]
        assert Item("softmax", "cpp").definition("cpu") is get("softmax", "cpu")


class TestReferences:
    """A task without anything that its speedups are measured against."""

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_none(self, tmp_path: Path, jobs: int) -> None:
        table = table_of(tmp_path / "t.parquet", spec(references={}))
        with pytest.raises(BadTable, match="at least one reference"):
            data.read(table)
        result = run("replay", table, "--seeds", "1", "--jobs", jobs, "--forecaster", "roofline", "--measurements", "3")
        assert result.exit_code == 2 and "at least one reference" in " ".join(result.output.split())

    def test_an_end_of_an_iteration_in_a_worker_is_not_the_end_of_all_jobs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Stage:
            def job(self, *_: int) -> None:
                raise StopIteration

        monkeypatch.setattr(replayed, "_stage", Stage(), raising=False)
        with pytest.raises(RuntimeError, match="a search ended"):
            replayed._job((0, 0))


def space(rows: int, **parameters: tuple[Any, ...]) -> Space:
    rng = np.random.default_rng(0)
    whole = np.stack([rng.integers(0, len(values), 4 * rows) for values in parameters.values()], axis=1)
    codes = np.unique(whole, axis=0)[:rows]
    times = 1.0 + np.arange(len(codes)) / len(codes)
    return Space("s", "k", "d", parameters, (), codes, times, (Status.OK,) * len(codes))


class TestSpaces:
    """Small tables whose configurations took gigabytes as rows of numbers."""

    def test_texts_take_no_column_each(self) -> None:
        words = {name: tuple(f"{name}{i}" for i in range(1000)) for name in "ab"}
        made = space(8192, **words)
        with at_most(32):  # a column for each text would be 8192 x 2000 numbers, several times
            tuner = Tuner(made.parameters, made.codes, 0)
            for _ in range(8):
                row = tuner.ask()
                tuner.tell(row, float(made.time_ms[row]))
        assert tuner.best is not None

    def test_whole_numbers_take_a_few_columns(self) -> None:
        made = space(8192, a=tuple(range(1, 401)), b=tuple(range(1, 401)))
        with at_most(64):
            assert Tuner(made.parameters, made.codes, 0).ask() >= 0

    def test_too_many_values_or_parameters_are_refused(self) -> None:
        words = {name: tuple(range(1000)) for name in "ab"}
        with pytest.raises(BadSpace, match="too large"):
            space(spaces.MOST_CELLS // 2000 + 1, **words)
        with pytest.raises(BadSpace, match="65 parameters"):
            space(16, **{f"p{i}": (1, 2) for i in range(spaces.MOST_PARAMETERS + 1)})
        assert len(space(5000, **{f"p{i}": (1, 2, 4) for i in range(20)})) == 5000


CLICK = {"kind": "click", "point": {"x": 1, "y": 2}}
ODD_ACTIONS: tuple[Any, ...] = (
    {}, {"point": None}, {"kind": "click", "point": 5}, {"kind": "click", "point": {"x": "a", "y": 1}},
    {"kind": "click", "point": {"x": 1}}, {"kind": "scroll", "dx": "far"}, {"kind": "key", "keys": [1, 2]},
    {"kind": "key", "keys": "ab"}, {"kind": "type", "text": 5}, {"kind": "wait", "seconds": "long"}, "click", 5, None,
    {"kind": ["click"]}, {"kind": "click", "other": 1}, {"kind": "terminate", "success": 1}, [CLICK],
)  # fmt: skip


def trace_of(folder: Path, *events: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "trace.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder


class TestTraces:
    """Lines of a guard's trace that were looked at only once the page was drawn."""

    @pytest.mark.parametrize("action", ODD_ACTIONS)
    def test_odd_actions(self, tmp_path: Path, action: Any) -> None:
        executed = {"event": "executed", "t": 2.0, "step": 0, "actions": [action], "images": {}}
        proposed = EVENT | {"proposal": {"actions": [action]}}
        before = EVENT | {"history": {"steps": [{"action": action, "screen": "", "changed": True}]}}
        for number, events in enumerate(((EVENT, executed), (proposed,), (before,))):
            folder = trace_of(tmp_path / str(number), *events)
            with pytest.raises(TraceError, match=rf"line {len(events)} "):
                read_trace(folder)
            result = run("gui", "replay", folder)
            assert result.exit_code == 2 and "trace.jsonl, line" in result.output

    @pytest.mark.parametrize(
        "change",
        [
            {"verdict": {"threshold": "x"}}, {"verdict": {"threshold": []}},
            {"proposal": {"actions": [], "intent": 5}}, {"proposal": {"actions": [], "fault": []}},
            {"proposal": {"actions": [], "raw": None}}, {"proposal": {"actions": 5}}, {"proposal": []},
            {"history": {"achieved": "abc"}}, {"history": {"achieved": [1]}}, {"history": {"effect": 1}},
            {"history": {"steps": [{"action": CLICK, "screen": 5, "changed": True}]}}, {"history": 5},
        ],
    )  # fmt: skip
    def test_odd_words_and_numbers(self, tmp_path: Path, change: dict[str, Any]) -> None:
        folder = trace_of(tmp_path / "t", EVENT | change)
        with pytest.raises(TraceError, match="line 1 "):
            read_trace(folder)
        for verb in ("replay", "rescore"):
            assert run("gui", verb, folder, *(("--critic", "rules") if verb == "rescore" else ())).exit_code == 2

    def test_odd_rows_of_a_data_set(self) -> None:
        for part in ({"proposal": []}, {"history": 5}, {"proposal": {"actions": [{}]}}):
            row = {"id": "a", "task": "t", "seed": 1, "step": 0, "split": "train", "goal": "g", "image": "a.png",
                   "history": {}, "proposal": {"actions": []}, "label": "good", **part}  # fmt: skip
            with pytest.raises(DatasetError):
                dataset.Row.from_dict(row)

    def test_honest_actions_are_shown(self, tmp_path: Path) -> None:
        keys = {"kind": "key", "keys": ["ctrl", "a"], "seconds": 1, "success": None}
        executed = {"event": "executed", "t": 2.0, "step": 0, "actions": [CLICK, keys], "images": {}}
        folder = trace_of(tmp_path / "t", EVENT | {"proposal": {"actions": [CLICK]}}, executed)
        assert run("gui", "replay", folder).exit_code == 0
        assert "click at (1, 2), then key ctrl + a" in (folder / "replay.html").read_text()


class TestPictures:
    """A small file with a picture that took minutes and gigabytes to look at."""

    def test_only_so_many_lines_are_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(elements, "_MOST_LINES", 1000)
        rng = np.random.default_rng(0)
        picture = np.full((1400, 1400, 3), 255, dtype=np.uint8)
        for y in range(20, 1380, 14):
            for x in range(20, 1380, 40):
                picture[y : y + 8, x : x + int(rng.integers(6, 12))] = 0
        screen = look(picture)
        assert len(screen.lines) == 1000
        with at_most(64):  # all lines compared with all others at once would be more
            found = places(picture, screen, [], "press it", frozenset(screen.lines))
        assert len(found.all) >= 1000

    def test_a_screen_full_of_a_small_table_is_seen_whole(self) -> None:
        picture = np.full((1600, 2560, 3), 255, dtype=np.uint8)
        for y in range(4, 1600, 20):
            for x in range(4, 2560, 64):
                picture[y : y + 9, x : x + 30] = 0
        assert len(look(picture).lines) == 80 * 40

    def test_pictures_larger_than_any_screen_are_not_decoded(self, tmp_path: Path) -> None:
        from tests.gui.test_trace_received import blank_png

        (tmp_path / "a.png").write_bytes(blank_png(8192, 4097))
        with pytest.raises(DatasetError, match="pixels are more than"):
            load_image(tmp_path / "a.png")
        folder = trace_of(tmp_path / "t", EVENT | {"images": {"before": "a.png"}})
        (folder / "a.png").write_bytes(blank_png(8192, 4097))
        with pytest.raises(TraceError):
            rescore(folder, RULES)
        assert run("gui", "rescore", folder, "--critic", "rules").exit_code == 2


class _Rules:
    name = "rules"

    def judge(self, *_: object) -> Any:
        raise AssertionError("there is no picture to judge by")


RULES: Any = _Rules()


class TestDiffs:
    """Sources of a received run, set beside each other in its report."""

    def test_only_so_many_lines_are_compared_and_shown(self) -> None:
        with at_most(64):
            told = compare("\n".join(map(str, range(60_000))), "\n".join(str(-k - 1) for k in range(60_000)), "x")
        assert len(told.rows) == diff.MOST_LINES and told.left_out == 2 * (60_000 - diff.MOST_LINES)
        assert sum(len(row.left) for row in compare("x" * (2 << 20), "y", "x").rows) == diff.MOST_CHARACTERS

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            ("x\n" * 60_000 + "w\n", "y\n" + "x\n" * 59_999 + "z\n"),
            ("a\n" * 2000 + "b\n", "c\n" + "a\n" * 1999 + "c\n"),
            ("".join(f"{k % 50}\nu{k}\n" for k in range(2000)), "".join(f"{k % 50}\nv{k}\n" for k in range(2000))),
        ],
        ids=["60000 equal lines", "2000 equal lines", "40 of each"],
    )
    def test_very_many_equal_lines_are_not_matched(
        self, left: str, right: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        matcher = difflib.SequenceMatcher

        def pairs(is_junk: Callable[[str], bool], a: list[str], b: list[str], **named: Any) -> Any:
            assert sum(b.count(line) for line in a if not is_junk(line)) <= diff.MOST_PAIRS
            return matcher(is_junk, a, b, **named)

        monkeypatch.setattr(diff.difflib, "SequenceMatcher", pairs)
        told = compare(left, right, "x")
        assert told.added and told.removed and len(told.rows) <= 2 * diff.MOST_LINES

    def test_long_honest_sources_are_aligned(self) -> None:
        lines = [f"    x[{k}] = {k};\n\n    }}\n" for k in range(700)]
        changed = [*lines[:100], "    y = 1;\n", *lines[101:600], "    z = 1;\n", *lines[600:]]
        told = compare("".join(lines), "".join(changed), "x")
        assert (told.added, told.removed, told.left_out) == (2, 3, 0)

    def test_a_report_says_what_it_leaves_out(self, tmp_path: Path) -> None:
        state = state_of(events_of_a_run())
        assert state.started is not None
        long = replace(state.reference, source=state.reference.source + "// x\n" * 100_000)
        state.started = replace(state.started, reference=long)
        page = write_report(state, tmp_path / "report.html").read_text()
        assert "more lines are not shown" in page and len(page) < 4_000_000


def _cache(path: Path, rng: random.Random) -> None:
    cache(path, 1.0)
    path.write_text(json.dumps(mutate(json.loads(path.read_text()), rng)))


def _specs(path: Path, rng: random.Random) -> None:
    table_of(path, mutate(spec(3, 2), rng), mutate(spec(2, 1), rng))


def _trace(path: Path, rng: random.Random) -> None:
    step = {"action": CLICK, "screen": "a", "changed": True, "intent": "click it"}
    proposed = EVENT | {
        "proposal": {"actions": [CLICK], "intent": "click", "raw": "", "fault": None},
        "history": {"achieved": ["a"], "effect": "e", "steps": [step], "count": 1},
        "verdict": {"intervene": False, "reason": "doubted", "mode": "enforce", "threshold": 0.5},
    }
    executed = {"event": "executed", "t": 2.0, "step": 0, "actions": [CLICK], "images": {}}
    effect = {"event": "effect", "t": 2.0, "step": 0, "effect": "e", "achieved": ["a"], "images": {}}
    fault = {"event": "fault", "t": 2.0, "step": 0, "where": "x", "message": "y", "images": {}}
    end = {"event": "end", "t": 3.0, "outcome": {"outcome": {"solved": True}}, "images": {}}
    trace_of(
        path, *(mutate(each, rng) if rng.random() < 0.5 else each for each in (proposed, executed, effect, fault, end))
    )


QUICK = ("--seeds", "1", "--jobs", "1", "--measurements", "3")
MUTANTS: dict[str, tuple[str, Callable[[Path, random.Random], None], tuple[tuple[str, ...], ...]]] = {
    "tuning space": ("c.json", _cache, (("replay", "{}", "--policy", "tuner", *QUICK),)),
    "specs": (
        "t.parquet",
        _specs,
        (
            ("eval", "{}", "--forecaster", "roofline", "--resamples", "5"),
            ("replay", "{}", "--forecaster", "roofline", *QUICK),
        ),
    ),
    "trace": ("t", _trace, (("gui", "replay", "{}"), ("gui", "rescore", "{}", "--critic", "rules"))),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", MUTANTS)
def test_no_odd_value_ends_in_an_internal_error(kind: str, seed: int, tmp_path: Path) -> None:
    """As tests/test_fuzz.py does for journals, catalogues and the corpus."""
    name, write, verbs = MUTANTS[kind]
    for number in range(3):
        path = tmp_path / f"{number}-{name}"
        write(path, random.Random(f"{kind} {seed} {number}"))
        for words in verbs:
            result = run(*(word.format(path) for word in words))
            assert result.exit_code in (0, 1, 2), (path.read_bytes() if path.is_file() else path, result.output)
