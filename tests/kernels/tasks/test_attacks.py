"""Task files that were written to read, hang or mislead whoever reads them, and answers that their code forges."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from foretell.kernels.candidate import normalise
from foretell.kernels.sandbox import available
from foretell.kernels.tasks import BadTask, Refusal, load, of_run
from foretell.kernels.tasks.arrays import Forged, packed, read_shapes, unpacked
from foretell.kernels.tasks.cpu import DTYPES, draw
from tests.kernels.tasks.test_module import CPU, GPU
from tests.kernels.tasks.test_sources import refusal, write

REFERENCE = "def generate_input(size):\n    return size\n\n\ndef ref_kernel(data):\n    return data\n"
BENCHMARKS = "benchmarks:\n  - {size: 64}\n"
FORGE = """
    import os, stat, struct
    for fd in range(3, 99):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, struct.pack("!cQ", KIND, len(BODY)) + BODY)
                os._exit(0)
        except OSError:
            pass
"""


def folder(tmp_path: Path, about: str) -> Path:
    write(tmp_path / "set" / "problem" / "reference.py", REFERENCE)
    write(tmp_path / "set" / "problem" / "task.yml", about + BENCHMARKS)
    return tmp_path / "set" / "problem"


class TestReading:
    def test_names_for_lists_of_names_for_lists_do_not_grow(self, tmp_path: Path) -> None:
        doubled = "a0 = ['x']\n" + "".join(f"a{n + 1} = [a{n}, a{n}]\n" for n in range(60))
        error = refusal(write(tmp_path / "op.py", f"{doubled}workloads = [{{'n': a60}}]\n{GPU}"))
        assert error.reason is Refusal.NOT_READABLE and "workloads" in error.what

    @pytest.mark.parametrize(
        "name", ["+".join("1" * 4000), "*".join(["10"] * 30), "1000 * 200000", "[/red]", "", "for", "x" * 65, "\u00b5"]
    )
    @pytest.mark.parametrize("text", [GPU, CPU], ids=["gpu", "cpu"])
    def test_a_size_is_called_like_a_parameter(self, tmp_path: Path, name: str, text: str) -> None:
        text = text.replace('workloads = [{"n": 3000}]\nextra = [{"n": 7}]\n', "")
        error = refusal(write(tmp_path / "op.py", f"workloads = [{{{name!r}: 64}}]\n{text}"))
        assert error.reason is Refusal.NO_WORKLOADS and "name" in error.what and len(error.what) < 200

    @pytest.mark.parametrize("count", [15, 1000, 20_000])
    def test_many_sizes_are_refused_before_anything_runs(self, tmp_path: Path, count: int) -> None:
        sizes = {f"n{i}": 1000 + 3 * i for i in range(count)}
        text = CPU.replace('{"n": 3000}', repr(sizes)).replace('extra = [{"n": 7}]\n', "")
        started = time.process_time()
        error = refusal(write(tmp_path / "op.py", text))
        assert "17 arguments" in error.what if count == 15 else "names" in error.what
        assert time.process_time() - started < 5

    def test_many_workloads_are_refused(self, tmp_path: Path) -> None:
        many = [{"n": n} for n in range(1, 50_000)]
        error = refusal(write(tmp_path / "op.py", f"workloads = {many}\n{GPU}"))
        assert error.reason is Refusal.NO_WORKLOADS and "49999 entries" in error.what

    @pytest.mark.parametrize(
        "link",
        ["a{n}: &a{n} [*a{m}, *a{m}, *a{m}, *a{m}]\n", "a{n}: &a{n} {{<<: [*a{m}, *a{m}, *a{m}, *a{m}]}}\n"],
        ids=["lists", "merged mappings"],
    )
    def test_aliases_do_not_grow(self, tmp_path: Path, link: str) -> None:
        many = "a0: &a0 {k: v}\n" + "".join(link.format(n=n + 1, m=n) for n in range(40))
        error = refusal(folder(tmp_path, f"{many}description: *a40\n"))
        assert error.reason is Refusal.NOT_READABLE and "aliases" in error.what

    def test_an_alias_of_itself_and_endless_numbers_are_refused(self, tmp_path: Path) -> None:
        assert "part of" in refusal(folder(tmp_path, "a: &a [*a]\n")).what
        assert "characters" in refusal(folder(tmp_path, f"a: 1{':1' * 200_000}\n")).what

    def test_few_aliases_are_fine(self, tmp_path: Path) -> None:
        task = load(folder(tmp_path, "sizes: &s {rows: 8}\ndescription: A sum.\ntests:\n  - {<<: *s, size: 4}\n"))
        assert task.extra[0].sizes == {"rows": 8, "size": 4} and task.summary == "A sum."

    @pytest.mark.parametrize("place", ["../../secret.py", "{root}/secret.py", "link/secret.py"])
    def test_a_folder_lists_no_file_from_elsewhere(self, tmp_path: Path, place: str) -> None:
        write(tmp_path / "secret.py", "PASSWORD = 'precious'\n")
        place = place.format(root=tmp_path)
        given = folder(tmp_path, f"files:\n  - {{name: utils.py, source: {place}}}\n")
        (given / "link").symlink_to(tmp_path)
        error = refusal(given)
        assert error.reason is Refusal.NOT_FOUND and "elsewhere" in error.what

    def test_what_problems_of_a_set_share_lies_beside_them(self, tmp_path: Path) -> None:
        write(tmp_path / "set" / "utils.py", "SHARED = 1\n")
        task = load(folder(tmp_path, "files:\n  - {name: utils.py, source: ../utils.py}\n"))
        assert task.files["utils.py"] == "SHARED = 1\n"

    @pytest.mark.parametrize("place", ["{root}/secret", "../secret", "link/secret", "/proc/self/pagemap"])
    def test_workloads_name_no_data_from_elsewhere(self, tmp_path: Path, place: str) -> None:
        write(tmp_path / "secret", "precious")
        axes, tensor = {"M": {"type": "var"}}, {"shape": ["M"], "dtype": "float32"}
        code = "def run(A):\n    return A\n"
        about = {"name": "op", "axes": axes, "inputs": {"A": tensor}, "outputs": {"B": tensor}, "reference": code}
        stored = {"type": "safetensors", "path": place.format(root=tmp_path), "tensor_key": "x"}
        write(tmp_path / "set" / "op.jsonl", json.dumps({"axes": {"M": 8}, "inputs": {"A": stored}}))
        (tmp_path / "set" / "link").symlink_to(tmp_path)
        error = refusal(write(tmp_path / "set" / "op.json", json.dumps(about)))
        assert error.reason is Refusal.NOT_FOUND and "outside" in error.what

    def test_numbers_with_many_points_are_read_once(self) -> None:
        started = time.process_time()
        text = "int a = " + "1." * 200_000 + ";"
        assert normalise(text, "cpp") == text
        assert normalise("x = .5'0; // c\ny = 1'0.0'1", "cpp") == "x = .5'0;\ny = 1'0.0'1"
        assert time.process_time() - started < 60  # it would take minutes


class TestReceivedRuns:
    """The task of a received run is in its journal, which anybody can write."""

    SPEC: ClassVar[dict[str, Any]] = {
        "kind": "module", "name": "op", "family": "module", "summary": "", "sizes": ["n"], "extra": [],
        "inputs": [{"name": "x", "dtype": "float32", "shape": ["n"], "fill": "normal"}],
        "outputs": [{"name": "out", "dtype": "float32", "shape": ["n - 1"], "fill": "normal"}],
        "workloads": [{"sizes": {"n": 64}, "arguments": {}, "label": ""}],
        "tolerance": {"relative": 1e-3, "absolute": 0.0, "reason": ""},
        "files": {"module.py": GPU, "reference.cpp": ""}, "references": {"cpp": "reference.cpp"},
    }  # fmt: skip

    def test_what_was_written_here_is_read(self) -> None:
        assert of_run({"task": "op", "task_spec": self.SPEC}, "cpu").outputs[0].dims({"n": 64}) == (63,)

    @pytest.mark.parametrize(
        ("part", "value"),
        [
            ("inputs", [{"name": "x", "dtype": "object", "shape": ["n"], "fill": "normal"}]),
            ("inputs", [{"name": "x", "dtype": "float32", "shape": ["n +"], "fill": "normal"}]),
            ("inputs", [{"name": "x", "dtype": "float32", "shape": ["m"], "fill": "normal"}]),
            ("inputs", [{"name": "x", "dtype": "float32", "shape": ["n // 0"], "fill": "normal"}]),
            ("inputs", [{"name": "x", "dtype": "float32", "shape": ["n" + " + n" * 5000], "fill": "normal"}]),
            ("inputs", [{"name": "x", "dtype": "float32", "shape": [-1], "fill": "normal"}]),
            ("workloads", [{"sizes": {"n": "64"}, "arguments": {}, "label": ""}]),
            ("tolerance", {"relative": "1", "absolute": 0.0, "reason": ""}),
            ("files", {"module.py": 5, "reference.cpp": ""}),
            ("name", None),
        ],
    )
    def test_what_is_not_a_task_is_refused(self, part: str, value: object) -> None:
        with pytest.raises(BadTask) as caught:
            of_run({"task": "op", "task_spec": {**self.SPEC, part: value}}, "cpu")
        assert caught.value.reason is Refusal.NOT_READABLE


class TestForgedAnswers:
    @pytest.mark.parametrize(
        "answer",
        [b"not JSON", b"\xff\xfe\0", b"[" * 100_000, b"{}", b"[1]", b"[]", b'[{"inputs": 1, "outputs": []}]'],
        ids=["text", "other bytes", "nested", "object", "number", "nothing", "no list"],
    )
    def test_answers_that_are_not_shapes(self, answer: bytes) -> None:
        with pytest.raises(Forged):
            read_shapes(answer, 1, DTYPES)

    @pytest.mark.parametrize(
        ("dtype", "side"),
        [("object", 4), ("float32\x1b[31m", 4), ("float32", "f()"), ("float32", -4), ("float32", 1 << 50),
         ("float32", float("inf"))],
    )  # fmt: skip
    def test_shapes_that_no_array_has(self, dtype: str, side: object) -> None:
        plain = [{"inputs": [[dtype, [side]]], "outputs": []}]
        with pytest.raises(Forged):
            read_shapes(json.dumps(plain).encode(), 1, DTYPES)

    @pytest.mark.parametrize("shape", [[64, *[1] * 99], [0, 10**30]], ids=["rank", "beside zero"])
    def test_shapes_that_numpy_cannot_make(self, shape: list[int]) -> None:
        plain = [{"inputs": [["float32", shape]], "outputs": [["float32", shape]]}]
        with pytest.raises(Forged):
            read_shapes(json.dumps(plain).encode(), 1, DTYPES)

    def test_arrays_are_as_many_bytes_as_were_asked_for(self) -> None:
        import numpy as np

        forms = [("x", "float32", (2, 3)), ("y", "int64", (1,))]
        arrays: list[Any] = [np.arange(6, dtype="float32").reshape(2, 3), np.array([7])]
        assert all(np.array_equal(a, b) for a, b in zip(unpacked(packed(arrays), forms), arrays, strict=True))
        for wrong in (b"", packed(arrays)[1:], packed(arrays) + b"x"):
            with pytest.raises(Forged):
                unpacked(wrong, forms)

    @pytest.mark.skipif(sys.platform != "linux" or available(server=True) is None, reason="no sandbox here")
    @pytest.mark.parametrize(
        ("where", "kind", "body"),
        [
            ("inputs", b"A", b"=[1]"),
            ("inputs", b"E", b"\x1b]0;title\x07\x1b[31mred"),
            ("double", b"A", b"=PK\x03\x04 an archive"),
        ],
        ids=["shapes", "control characters", "arrays"],
    )
    def test_a_task_whose_code_answers_itself_is_refused(
        self, tmp_path: Path, where: str, kind: bytes, body: bytes
    ) -> None:
        forge = FORGE.replace("KIND", repr(kind)).replace("BODY", repr(body))
        text = CPU.replace("    return np.random", f"{forge}    return np.random")
        if where == "double":
            indented = forge.replace("\n", "\n    ")
            text = CPU.replace("    return 2 * x", f"    if x.dtype == 'float64':{indented}\n    return 2 * x")
        with pytest.raises(BadTask) as caught:
            task = load(write(tmp_path / "op.py", text))
            draw(task, task.workloads[0], [1])
        assert caught.value.reason is Refusal.DOES_NOT_RUN and caught.value.what.isprintable()
