from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.pools import BadTable, corpus_pools, device_of
from foretell.kernels.measurement import Status
from tests.kernels.evaluate.world import corpus_row, corpus_rows, foreign_row, write_corpus, write_foreign


def test_a_pool_for_each_operation_and_device() -> None:
    rows = [*corpus_rows(10), corpus_row("mish", 0, 1.0, "held_operation", device="NVIDIA B200")]
    pools = corpus_pools(rows, "build")
    assert [pool.name for pool in pools] == [
        "lerp_rows on NVIDIA H200",
        "max_pool2d on NVIDIA H200",
        "mish on NVIDIA B200",
        "mish on NVIDIA H200",
        "softmax on NVIDIA H200",
    ]
    assert {pool.group for pool in pools} == {"lerp_rows", "max_pool2d", "mish", "softmax"}
    mish = pools[3]
    assert len(mish) == 10 and mish.task.name == "mish" and mish.device.cores == 132
    assert mish.device.toolchain == "sm_90"


def test_outcomes_and_builds() -> None:
    pool = corpus_pools(corpus_rows(10), "build")[2]
    assert pool.measured[0].status is Status.COMPILE_ERROR and pool.rank_log2[0] == -math.inf
    broken, fine = pool.subjects[0].build, pool.subjects[1].build
    assert broken is not None and not broken.ok and not broken.features
    assert fine is not None and fine.ok and fine.features == {"registers": 33.0}
    wrong = pool.subjects[5].build
    assert pool.measured[5].status is Status.WRONG and wrong is not None and wrong.ok
    assert pool.rank_log2[1] == pytest.approx(pool.measured[1].log2_speedup)
    assert all(subject.build is None for subject in corpus_pools(corpus_rows(10), "source")[0].subjects)


def test_a_forecaster_sees_no_knob_and_no_remark() -> None:
    row = corpus_row("mish", 1, 1.0, "train", source="# the slow one\nx = 1\n", stripped="x = 1")
    candidate = corpus_pools([row], "build")[0].subjects[0].candidate
    assert candidate.source == "x = 1"
    assert candidate.origin.kind == "template" and not candidate.origin.detail


def test_the_order_of_rows_does_not_matter() -> None:
    rows = corpus_rows(12)
    mixed = rows.copy()
    random.Random(0).shuffle(mixed)
    assert corpus_pools(mixed, "build") == corpus_pools(rows, "build")
    one, other = corpus_pools(rows, "build")[0], corpus_pools(mixed, "build")[0]
    assert one.drawn(4, 0) == other.drawn(4, 0) and len(one.drawn(4, 0)) == 4
    assert one.drawn(4, 0) != one.drawn(4, 1)
    assert one.take([3, 1]).ids == (one.ids[1], one.ids[3])


def test_faults_of_the_machine_are_no_outcome(tmp_path: Path) -> None:
    rows = [corpus_row("mish", i, 1.0 if i else None, "train") for i in range(3)]
    rows[0]["status"] = "infrastructure"
    assert [len(pool) for pool in corpus_pools(rows, "build")] == [2]
    assert corpus_pools(rows[:1], "build") == []
    assert read(write_corpus(tmp_path, rows)).past().history("gpu").p_fail == 1 / 4


def test_devices() -> None:
    assert device_of("gpu", "NVIDIA H200").name == "NVIDIA H200"
    cpu = device_of("cpu", "Some Processor x4", "g++")
    assert cpu.cores == 4 and cpu.kind == "cpu" and cpu.toolchain == "g++"
    with pytest.raises(BadTable, match="no description"):
        device_of("gpu", "NVIDIA Z1")
    with pytest.raises(BadTable, match="is not a cpu"):
        device_of("cpu", "NVIDIA H200")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "sofmax"}, "no task 'sofmax'"),
        ({"kind": "tpu"}, "no kind of device 'tpu'"),
        ({"workloads": [{"name": "x"}]}, "workloads are not as in the corpus"),
        ({"status": "odd"}, "no status 'odd'"),
        ({"speedup": None}, "has the speedup None"),
        ({"speedup": -1.0}, "has the speedup -1.0"),
        ({"device": "NVIDIA Z1"}, "no description"),
    ],
)
def test_rows_that_make_no_sense(changes: dict[str, object], says: str) -> None:
    with pytest.raises(BadTable, match=says):
        corpus_pools([corpus_row("mish", 1, 1.0, "train", **changes)], "build")


def test_reading_a_corpus(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "data", corpus_rows(10))
    data = read(folder)
    assert data.splits() == ("train", "held_family", "held_operation", "all")
    assert data.default_splits() == ("held_operation", "held_family") and data.default_tier == "build"
    assert [len(data.pools(name, "build")) for name in data.splits()] == [1, 1, 2, 4]
    assert read(folder / "corpus_gpu.parquet").pools("all", "build") == data.pools("all", "build")
    history = data.past().history("gpu")
    assert len(history.log2) == 8 and history.p_fail == 3 / 12
    with pytest.raises(BadTable, match="no split 'tset'"):
        data.pools("tset", "build")


def test_a_table_of_ones_own_needs_few_columns(tmp_path: Path) -> None:
    names = ("task", "kind", "language", "source", "device", "status", "speedup")
    rows = [{name: row[name] for name in names} for row in corpus_rows(6)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "own.parquet")
    data = read(tmp_path / "own.parquet")
    assert data.default_splits() == ("all",)
    assert sum(len(pool) for pool in data.pools("all", "build")) == 24
    assert not data.past().by_kind


def test_tables_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match="there is no"):
        read(tmp_path / "none.parquet")
    with pytest.raises(BadTable, match="there is no corpus in"):
        read(tmp_path)
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(BadTable, match="not a Parquet file"):
        read(tmp_path / "text.parquet")
    (tmp_path / "nothing.parquet").write_text("")
    with pytest.raises(BadTable, match="not a Parquet file"):
        read(tmp_path / "nothing.parquet")
    pq.write_table(pa.table({"task": ["a"], "speedup": [1.0]}), tmp_path / "other.parquet")
    with pytest.raises(BadTable, match="another schema: it lacks kind, language"):
        read(tmp_path / "other.parquet")
    for name, value in (("task", 3), ("status", None), ("speedup", "fast")):
        path = tmp_path / f"{name}.parquet"
        own = corpus_row("mish", 1, 1.0, "train") | {name: value}
        kept = ("task", "kind", "language", "source", "device", "status", "speedup")
        pq.write_table(pa.Table.from_pylist([{key: own[key] for key in kept}]), path)
        with pytest.raises(BadTable, match=f"the column {name}"):
            read(path)
    write_corpus(tmp_path / "empty", [])
    with pytest.raises(BadTable, match="there is no row"):
        read(tmp_path / "empty")


class TestForeign:
    def _rows(self) -> list[dict[str, object]]:
        return [foreign_row(cell, i) for cell in range(3) for i in range(8)]

    def test_rows_of_unknown_gpus_are_left_out_with_a_warning(self, tmp_path: Path) -> None:
        rows = [*self._rows(), foreign_row(0, 9, gpu="Z9000", cell_id="z")]
        data = read(write_foreign(tmp_path / "f.parquet", rows))
        assert len(data.pools("all", "source")) == 3
        assert ["Z9000" in warning for warning in data.warnings()] == [True]

    def test_shapes_may_be_a_list(self, tmp_path: Path) -> None:
        row = foreign_row(0, 0, shapes_json="[[16, 1024], [1024]]")
        (pool,) = read(write_foreign(tmp_path / "f.parquet", [row])).pools("all", "source")
        assert len(pool) == 1

    def test_cells_are_pools(self, tmp_path: Path) -> None:
        data = read(write_foreign(tmp_path / "f.parquet", self._rows()))
        assert data.foreign and data.default_tier == "source" and data.default_splits() == ("all",)
        assert data.splits() == ("one", "two", "all")
        pools = data.pools("all", "source")
        assert [pool.group for pool in pools] == ["gemm/2048", "level1/1", "level1/2"]
        assert [pool.device.name for pool in pools] == [
            "NVIDIA H100 80GB HBM3",
            "NVIDIA A100-SXM4-80GB",
            "NVIDIA GeForce RTX 4090",
        ]
        assert [pool.subjects[0].candidate.language for pool in pools] == ["torch", "cuda", "cuda"]
        assert len(data.pools("two", "source")) == 2
        assert not data.past().by_kind

    def test_statuses_and_times(self, tmp_path: Path) -> None:
        pools = read(write_foreign(tmp_path / "f.parquet", self._rows())).pools("all", "build")
        known, timed = pools[1], pools[2]
        assert [m.status for m in known.measured[3::4]] == [Status.COMPILE_ERROR, Status.WRONG]
        assert known.rank_log2[:3] == pytest.approx([-1.0, -0.75, -0.5]) and known.rank_log2[3] == -math.inf
        broken = known.subjects[3].build
        assert broken is not None and not broken.ok
        assert all(m.speedup is None for m in timed.measured)
        assert timed.rank_log2[:3] == pytest.approx([0.0, -1.0, -math.log2(3)])

    def test_a_cell_with_some_speedups_is_ranked_by_time(self, tmp_path: Path) -> None:
        rows = [foreign_row(1, i) for i in range(3)]
        rows[0]["speedup"] = 2.0
        rows.append(foreign_row(1, 4, candidate_ms=None, speedup=3.0))  # no time: it cannot be ranked with the others
        (pool,) = read(write_foreign(tmp_path / "f.parquet", rows)).pools("all", "source")
        assert pool.ids == ("r1000", "r1001", "r1002")
        assert pool.measured[0].speedup == 2.0
        assert pool.rank_log2[1] == pytest.approx(-1.0)

    def test_rows_that_are_not_clean_are_left_out(self, tmp_path: Path) -> None:
        rows = [foreign_row(0, i, clean=i != 2) for i in range(6)]
        (pool,) = read(write_foreign(tmp_path / "f.parquet", rows)).pools("all", "source")
        assert pool.ids == ("r0000", "r0001", "r0003", "r0004", "r0005")

    def test_tasks_say_what_is_known(self, tmp_path: Path) -> None:
        gemm, plain, _ = read(write_foreign(tmp_path / "f.parquet", self._rows())).pools("all", "source")
        sizes = gemm.task.workloads[0].sizes
        assert sizes == {"m": 2048, "n": 2048, "k": 2048} and gemm.task.flops(sizes) == 2.0 * 2048**3
        assert "torch.matmul(a, b)" in gemm.task.references["torch"]
        assert "torch.randn(2048, 2048, dtype=torch.float32)" in gemm.task.references["torch"]
        assert plain.task.references["torch"] == "import torch\n"
        assert plain.task.flops({}) == 0.0 and plain.task.least_bytes({}) == 4.0

    @pytest.mark.parametrize("changes", [{"gpu": "Z1"}, {"status": "odd"}, {"speedup": -1.0}, {"shapes_json": "{"}])
    def test_bad_rows(self, tmp_path: Path, changes: dict[str, object]) -> None:
        data = read(write_foreign(tmp_path / "f.parquet", [foreign_row(0, 0, **changes)]))
        with pytest.raises(BadTable):
            data.pools("all", "source")


@pytest.mark.parametrize(
    ("column", "value"),
    [("row_id", 5), ("candidate_ms", "soon"), ("reference_code", 7), ("split_group", ["a"]), ("clean", "yes")],
)
def test_optional_columns_of_another_type_are_refused(tmp_path: Path, column: str, value: Any) -> None:
    rows = [{**foreign_row(0, i), column: value} for i in range(2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "f.parquet")
    with pytest.raises(BadTable, match=f"the column {column}"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("shapes", ["[" * 100_000 + "]" * 100_000, '{"m": ' + "9" * 5000 + "}"])
def test_shapes_that_json_gives_up_on_are_refused(tmp_path: Path, shapes: str) -> None:
    data = read(write_foreign(tmp_path / "f.parquet", [foreign_row(0, 0, shapes_json=shapes)]))
    with pytest.raises(BadTable, match="is not JSON"):
        data.pools("all", "source")


@pytest.mark.parametrize("shapes", ['{"m": 4, "n": 4, "k": 3, "dtype": ["x"]}', '{"m": 0, "n": -5, "k": 3}'])
def test_odd_shapes_say_nothing(tmp_path: Path, shapes: str) -> None:
    [pool] = read(write_foreign(tmp_path / "f.parquet", [foreign_row(0, 0, shapes_json=shapes)])).pools("all", "source")
    assert len(pool) == 1


def test_a_small_file_with_very_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foretell.received_table.MOST_ROWS", 100)
    rows = [foreign_row(0, i) for i in range(200)]
    with pytest.raises(BadTable, match="too large"):
        read(write_foreign(tmp_path / "f.parquet", rows))
