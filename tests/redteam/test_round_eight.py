"""Small files and answers that meant gigabytes, hours or files of the user's: refused in words; honest ones pass."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import random
import sqlite3
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.kernels import program_codec
from foretell.kernels.corpus import plan as plans
from foretell.kernels.corpus.collect import collect
from foretell.kernels.corpus.plan import Item, make_plan, read_plan, templates, write_plan
from foretell.kernels.cost import tasks as costs
from foretell.kernels.forecast.model_file import BadModel, load
from foretell.kernels.forecast.static_triton import count_triton
from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import Allocate, Buffer, LibraryCall, Role, View
from foretell.kernels.program_check import Fault, InvalidProgram, check
from foretell.kernels.program_codec import Budget, from_bytes, to_bytes
from foretell.kernels.propose.knobs.python_tree import Tree
from foretell.kernels.record import job
from foretell.kernels.record.refusal import Reason
from foretell.kernels.replay.spaces import BadSpace, read_cache
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.store.errors import CatalogueDamaged
from foretell.kernels.tasks import BadTask, flashinfer, from_spec, kernelbench
from foretell.kernels.tasks import load as load_task
from foretell.kernels.tasks.texts import constants, parsed
from foretell.received import BadFile, TooLarge
from foretell.received_arrays import read_arrays
from tests.kernels.programs import opened, random_program, sealed
from tests.kernels.search.world import FakeBench
from tests.kernels.tasks.test_flashinfer import DEFINITION, dataset, workload

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


@contextmanager
def at_most(megabytes: int) -> Iterator[None]:
    """What is done takes no more memory of Python's at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MIB
    finally:
        tracemalloc.stop()


def answer(*programs: bytes) -> bytes:
    texts = [base64.b64encode(program).decode() for program in programs]
    return json.dumps({"programs": texts, "refusal": None, "seconds": 0.0}).encode()


def with_image(part: bytes, times: int) -> bytes:
    """A Program with so many images of one binary part."""
    document, parts = opened(to_bytes(random_program(random.Random(1))))
    images = [*document["images"], *[[None, len(parts), "sm_80"]] * times]
    return sealed(document | {"images": images}, [*parts, part])


class TestAnswers:
    def test_images_that_share_a_part_count_each_time(self) -> None:
        data = with_image(b"a" * MIB, 250)
        with at_most(3 * PROGRAM.image_bytes // MIB), pytest.raises(InvalidProgram, match="images") as caught:
            from_bytes(data)
        assert caught.value.fault is Fault.TOO_LARGE
        shared = with_image(b"a" * MIB, 5)
        assert job.decoded(answer(shared), Budget(6 * MIB)).ok
        refusal = job.decoded(answer(shared, shared), Budget(9 * MIB)).refusal
        assert refusal is not None and "images" in refusal.sentence

    def test_long_parts_are_measured_before_they_are_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(program_codec, "PROGRAM", replace(PROGRAM, image_bytes=2 * MIB))
        for text, words in (("a" * 3 * MIB, "images"), ("a" * MIB + "\U0001f600", "ASCII")):
            data = with_image(text.encode(), 1)
            with pytest.raises(InvalidProgram, match=words):
                from_bytes(data)

    def test_an_answer_that_takes_all_memory_is_a_refusal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> None:
            raise MemoryError

        monkeypatch.setattr(job, "from_bytes", full)
        refusal = job.decoded(answer(b"x")).refusal
        assert refusal is not None and refusal.reason is Reason.FORGED and "memory" in refusal.sentence

    def test_checking_takes_no_square_of_the_size(self) -> None:
        count = 100_000
        program = random_program(random.Random(1))
        calls = [LibraryCall("aten::mm.default", (), (), (), ())] * 20_000
        view = View(0, 0, "float32", (1,), (1,))
        program = replace(
            program, buffers=(Buffer(4, Role.INPUT), *[Buffer(4, Role.TEMPORARY)] * count), inputs=(view,), weights=(),
            setup=(), run=(*map(Allocate, range(1, count + 1)), *calls),
            outputs=(view,), images=(),
        )  # fmt: skip
        began = time.process_time()
        assert check(program) is program
        assert time.process_time() - began < 10.0  # 50 s when each call looked at all buffers

    def test_all_lines_of_an_answer_share_one_budget(self) -> None:
        document, blobs = opened(to_bytes(random_program(random.Random(1))))
        values = PROGRAM.facts_characters // 4  # "0, " each, within what facts may take
        count = PROGRAM.values // values + 1
        line = answer(sealed(document | {"facts": {"a": [0] * values}}, blobs))
        *earlier, last = job.decoded_all(b"\n".join([line] * count), count)
        assert len(earlier) == count - 1 and all(one.ok for one in earlier)
        assert last.refusal is not None and "values" in last.refusal.sentence

    def test_honest_answers(self) -> None:
        programs = [random_program(random.Random(seed)) for seed in range(5)]
        lines = [answer(*map(to_bytes, programs[:3])), answer(*map(to_bytes, programs[3:]))]
        found = job.decoded_all(b"\n".join(lines), 2)
        assert [each.program for each in found] == [programs[0], programs[3]]
        assert found[0].alternatives == tuple(programs[1:3])
        ones = programs[0].images[0]
        twins = replace(programs[0], images=(ones, replace(ones, arch="sm_80")))
        assert from_bytes(to_bytes(twins)) == twins, "images may share their PTX"


class TestDataSets:
    @pytest.mark.parametrize("name", ["workloads", "workloads/scaling"])
    def test_a_linked_folder_of_workloads_is_not_read(self, name: str, tmp_path: Path) -> None:
        path = dataset(tmp_path / "set", [workload(16)])
        private, linked = tmp_path / "home", tmp_path / "set" / name
        linked.rename(private)
        linked.symlink_to(private)
        with pytest.raises(BadTask) as caught:
            load_task(path)
        assert ("symbolic link" if name == "workloads" else "no workloads") in str(caught.value)

    def test_a_folder_without_end_and_axes_without_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = dataset(tmp_path, [workload(16), workload(2)])
        assert [each.name for each in load_task(path).workloads] == ["batch=2", "batch=16"]
        with monkeypatch.context() as patched, pytest.raises(BadTask, match="files and folders"):
            patched.setattr(flashinfer, "MOST_ENTRIES", 1)
            load_task(path)
        axes = DEFINITION["axes"] | {f"a{i}": {"type": "const", "value": 1} for i in range(flashinfer.MOST_AXES)}
        with pytest.raises(BadTask, match="66 axes"):
            load_task(dataset(tmp_path, [workload(16)], axes=axes))

    def test_files_of_a_problem_are_read_once_and_bounded(self, tmp_path: Path) -> None:
        for name in ("reference.py", "task.yml"):
            (tmp_path / name).write_bytes((ROOT / "examples/gpumode" / name).read_bytes())
        assert load_task(ROOT / "examples/gpumode").workloads == load_task(tmp_path).workloads
        (tmp_path / "big.py").write_text("#" + "a" * MIB + "\U0001f600\n")
        for count, words in ((10, ""), (17, "bytes"), (65, "lists 65 files")):
            files = "".join(f"- {{name: a{i}.py, source: big.py}}\n" for i in range(count))
            (tmp_path / "task.yml").write_text(f"files:\n{files}benchmarks:\n- {{size: 4, seed: 1}}\n")
            if not words:
                texts = load_task(tmp_path).files
                assert len({id(texts[f"a{i}.py"]) for i in range(count)}) == 1
                continue
            with pytest.raises(BadTask, match=words):
                load_task(tmp_path)


class TestModules:
    def test_a_list_as_key_is_not_written_out(self) -> None:
        names = ",".join(["x"] * 500)
        text = f"x = {1 << 61}\nb = [{names}]\na = [{','.join(['b'] * 500)}]\nn = {{'k': {{1: [2]}}}}\n"
        text += "".join(f"d{i} = {{a: 0}}\ne{i} = [a, a, a]\n" for i in range(75))
        with at_most(64):
            found = constants(parsed(text, "m"))
        assert found["n"] == {"k": {"1": [2]}} and not any(name[0] == "d" for name in found)
        assert sum(name[0] == "e" for name in found) <= 4

    @pytest.mark.parametrize("text", ["a\n" * 150_000, "a;" * 150_000, "(" + "0," * 400_000 + ")", "#" * (MIB + 1)])
    def test_trees_of_very_many_statements_are_not_made(self, text: str) -> None:
        whole = f"class Model: pass\n{text}"
        with at_most(64), pytest.raises(BadTask, match="at most"):
            kernelbench.from_text(whole, "p")
        with at_most(64):
            assert not any(count_triton(whole).values())
            with pytest.raises(SyntaxError, match="at most"):
                Tree(whole)

    def test_long_honest_modules(self) -> None:
        text = Path(kernelbench.__file__).read_text() + "def f(x):\n    y = [x, 1, x * 2]\n    return y[0] + 1\n" * 3000
        assert len(parsed(text, "long").body) > 3000


class TestPlans:
    def test_knobs_are_values_of_the_template(self, tmp_path: Path) -> None:
        knobs = {name: values[0] for name, values in templates("cpp")["attention"].knobs.items()}
        odd: list[Any] = [20_000_000, "{0.__class__}", None, [], {"a": 1}, 1e308]
        items = [Item("attention", "cpp", knobs | {name: value}) for name in knobs for value in odd]
        items += [Item("attention", "cpp", knobs), Item("no_such_task", "cpp", knobs)]
        told: list[str] = []
        tally = collect(items, "cpu", FakeBench(), Catalogue(tmp_path / "c"), passed_over=told.append)
        assert (tally.missing, tally.measured) == (len(odd) * len(knobs) + 1, 1)
        assert len(told) == tally.missing and "has no such knobs" in told[0] and "no_such_task" in told[-1]

    def test_plans_of_ours_are_whole(self, tmp_path: Path) -> None:
        items = make_plan("cpu", 1, wanted=["attention", "row_sum", "softmax"])
        write_plan(tmp_path / "p.gz", items)
        read = list(read_plan(tmp_path / "p.gz"))
        assert [each.candidate().id for each in read] == [each.candidate().id for each in items] and items

    def test_a_tensor_of_very_many_sides(self) -> None:
        spec: dict[str, Any] = json.loads(json.dumps(load_task(ROOT / "examples/tasks/correlate.py").spec))
        assert from_spec(spec).spec == from_spec(spec).spec
        tensor = {"name": "x", "dtype": "float32", "shape": [1], "fill": "normal"}
        assert from_spec(spec | {"inputs": [tensor] * 3}).inputs[2].shape == (1,)
        for inputs, words in (([tensor | {"shape": [1] * 600_000}], "600000 sides"), ([tensor] * 10_000, "inputs")):
            with at_most(64), pytest.raises(BadTask, match=words):
                Item("t", "cpp", source="x", spec=spec | {"inputs": inputs}).definition("cpu")

    def test_what_a_plan_inflates_to_is_bounded_by_its_size(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plans, "FEW_PLAN_BYTES", 4 * MIB)
        line = json.dumps({"task": "softmax", "language": "cpp", "source": "a" * (MIB - 99)}) + "\n"
        long = json.dumps({"task": "softmax", "language": "cpp", "source": "a" * (MIB + 1)})
        for text, words in ((line * 20, "in all"), (long, "a source has more")):
            (tmp_path / "p.gz").write_bytes(gzip.compress(text.encode()))
            with pytest.raises(ValueError, match=words):
                for _ in read_plan(tmp_path / "p.gz"):
                    pass


class TestTables:
    def test_one_text_in_very_many_rows(self, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        from foretell.received_table import BadParquet, read_rows

        path = tmp_path / "t.parquet"
        few = {"a": ["b" * 1000] * 500 + ["c", None], "n": range(502)}
        pq.write_table(pa.table({name: list(values) for name, values in few.items()}), path)
        rows = read_rows(path)
        assert [list(row.values()) for row in rows] == [list(each) for each in zip(*few.values(), strict=True)]
        assert rows[0]["a"] is rows[499]["a"]
        pq.write_table(pa.table({"a": ["a" * 100_000] * 800}), path)
        with pytest.raises(BadParquet, match="in a file of this size"):
            read_rows(path)

    def test_references_have_a_time_for_all(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ticks, told = itertools.count(), list[str]()
        monkeypatch.setattr(costs, "can_record", lambda: True)
        monkeypatch.setattr(costs, "_reference", lambda task: task)
        monkeypatch.setattr(costs, "note", told.append)
        monkeypatch.setattr(costs.time, "monotonic", lambda: float(next(ticks)))
        text = "class Model: pass\ndef get_inputs(): pass\n# "
        tasks = [kernelbench.from_text(f"{text}{i}", "p") for i in range(50)]
        found = costs.references_of(tasks, seconds=10.0)
        assert 0 < sum(each is not None for each in found) <= 10
        assert len(told) == 1 and "references not recorded" in told[0] and "of 50" in told[0]
        assert None not in costs.references_of(tasks, seconds=1000.0) and len(told) == 1


class TestStores:
    def _catalogue(self, path: Path, *records: str) -> None:
        path.unlink(missing_ok=True)
        path.touch()
        own = Catalogue(path)
        assert len(own) == 0
        own.close()
        names = "key, definition, task, device, candidate, measured_at, status, source, record, samples, crc"
        with closing(sqlite3.connect(path)) as connection:
            for record in records:
                row = ("key", "definition", "task", "device", "candidate", 1.0, "ok", "source", record, b"", 0)
                connection.execute(f"INSERT INTO measurements ({names}) VALUES ({', '.join('?' * len(row))})", row)
            connection.commit()
            connection.execute("PRAGMA journal_mode = DELETE")

    def test_rows_that_share_their_pages(self, tmp_path: Path) -> None:
        path, long = tmp_path / "c.sqlite", 2_000_000
        for _ in range(2):  # the second time as long as leaves least of the row in its leaf
            self._catalogue(path, "x" * long)
            with closing(sqlite3.connect(path)) as connection:
                [root] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'measurements'").fetchone()
                [page] = connection.execute("PRAGMA page_size").fetchone()
            data = bytearray(path.read_bytes())
            at = (root - 1) * page
            cell = at + int.from_bytes(data[at + 8 : at + 10], "big")
            size, end = 0, cell
            while data[end] & 128:
                size, end = (size << 7) | (data[end] & 127), end + 1
            size, end = (size << 7) | data[end], end + 1
            least = (page - 12) * 32 // 255 - 23
            beyond = (size - least) % (page - 4)
            long -= beyond
        body = bytes(data[end + 1 : end + 1 + least + 4])  # after the row's number; the last four name its first page
        head, place = bytes(data[cell:end]), page
        count = (page - 8) // (len(head) + 1 + len(body) + 2)
        leaf = bytearray(page)
        leaf[0] = 13
        for number in range(count):
            whole = head + bytes([number + 1]) + body
            place -= len(whole)
            leaf[place : place + len(whole)] = whole
            leaf[8 + 2 * number : 10 + 2 * number] = place.to_bytes(2, "big")
        leaf[3:7] = count.to_bytes(2, "big") + place.to_bytes(2, "big")
        data[at : at + page] = leaf
        path.write_bytes(data)
        with closing(sqlite3.connect(path)) as connection:
            lengths = [length for (length,) in connection.execute("SELECT length(record) FROM measurements")]
        assert lengths == [long] * count and count >= 6, "SQLite itself reads them all"
        with pytest.raises(CatalogueDamaged, match="more bytes than the file"):
            list(Catalogue(path, received=True).rows())

    def test_honest_catalogues(self, tmp_path: Path) -> None:
        path = tmp_path / "c.sqlite"
        self._catalogue(path, *["x" * 5000] * 1000)
        found = Catalogue(path, received=True)
        for _ in range(2):
            assert list(found.rows()) == [] and found.skipped % 1000 == 0 and found.skipped

    def _member(self, path: Path, name: str, size: int, kind: int) -> Path:
        said = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},)}}".ljust(117) + "\n"
        with zipfile.ZipFile(path, "w", kind) as packed:
            packed.writestr(name, b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said.encode() + bytes(size))
        return path

    def test_models_that_unpack_to_far_more(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "m.npz"
        with at_most(16), pytest.raises(BadFile, match="as NumPy writes them"):
            read_arrays(self._member(path, "a.npy", MIB, zipfile.ZIP_BZIP2))
        self._member(path, "a.npy", 70 * MIB, zipfile.ZIP_DEFLATED)
        with at_most(8), pytest.raises(TooLarge):
            read_arrays(path)
        self._member(path, "head.npy", 2 * MIB, zipfile.ZIP_DEFLATED)
        with at_most(8), pytest.raises(BadModel, match=r"head\.npy"):
            load(path, "", 1, lambda head, arrays: head)
        np.savez(path, head=np.frombuffer(b'{"format": 1}', np.uint8))

        def full(*_: object) -> None:
            raise MemoryError

        with pytest.raises(BadModel, match="memory"):
            load(path, "", 1, full)
        assert load(path, "", 1, lambda head, arrays: head) == {"format": 1}

    def test_shipped_models(self) -> None:
        shipped = sorted((ROOT / "src/foretell").rglob("*.npz"))
        assert all(read_arrays(path) for path in shipped) and shipped

    def test_a_tuning_space_of_very_many_cells(self, tmp_path: Path) -> None:
        for values, count, is_read in ((10, 100, True), (1000, 70_000, False)):
            parameters = {"a": list(range(values)), "b": list(range(values))}
            rows = {str(i): {"a": i % values, "b": i // values, "time": 1.0} for i in range(count)}
            cache = {"device_name": "d", "kernel_name": "k", "tune_params_keys": ["a", "b"], "tune_params": parameters}
            path = tmp_path / "c.json"
            path.write_text(json.dumps(cache | {"cache": rows}))
            if is_read:
                assert len(read_cache(path)) == count
                continue
            with pytest.raises(BadSpace, match="too large"):
                read_cache(path)
