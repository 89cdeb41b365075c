"""The examples that people copy run: on fake devices, and with a language-model server on loopback."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import FakeBench
from tests.lm.endpoint_server import Say, completion, serving

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / name))


def test_own_problem_on_the_cpu(bench: FakeBench, capsys: pytest.CaptureFixture[str]) -> None:
    run = example("own_problem.py")["on_cpu"](measurements=4)
    assert run.best is not None and run.state.measured == 4
    assert "by the roofline" in capsys.readouterr().out


def test_own_problem_for_a_gpu(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("triton")
    from foretell.kernels.bench.gpu import bench as gpu
    from foretell.kernels.bench.gpu.device import NoGpu
    from foretell.kernels.cost import recordings
    from foretell.kernels.record import record

    def no_gpu() -> None:
        raise NoGpu("there is no GPU here")

    monkeypatch.setattr(gpu, "GpuBench", no_gpu)
    monkeypatch.setattr(recordings, "record_apart", record)  # in this process: importing torch anew takes long
    assert example("own_problem.py")["on_gpu"]() is None
    out = capsys.readouterr().out
    assert "chance of more than 1.2x" in out and "not measured: there is no GPU here" in out


def test_own_server(bench: FakeBench) -> None:
    def answer(number: int, body: dict[str, Any]) -> Say:
        assert "softmax" in body["messages"][0]["content"]
        return Say(body=completion(f"```cpp\nint kernel{number};\n```"))

    with serving(answer) as server:
        run = example("own_server.py")["search"](server.url, "mine", measurements=3)
    assert run.best is not None and run.best.source.startswith("int kernel")
    assert server.bodies[0]["model"] == "mine"


def test_notebook(bench: FakeBench) -> None:
    space: dict[str, Any] = {}
    shown = []
    for cell in json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            *lines, last = "".join(cell["source"]).splitlines()
            exec("\n".join(lines), space)
            value = None
            try:
                value = eval(last, space)
            except SyntaxError:
                exec(last, space)
            shown += [value._repr_html_()] if value is not None else []
    assert len(shown) == 4 and all(text.startswith("<p") for text in shown)


def test_ci_gate(bench: FakeBench, own_place: Path) -> None:
    gate = example("ci_gate.py")["gate"]
    kernel, wrong, mark = own_place / "kernel.cpp", own_place / "wrong.cpp", own_place / "speed.json"
    kernel.write_text("int kernel;")
    wrong.write_text("WRONG")
    assert gate("softmax", kernel, mark) == 2, "there is no mark yet"
    assert gate("softmax", kernel, mark, accept=True) == 0 and gate("softmax", kernel, mark) == 0
    assert gate("softmax", wrong, mark) == 1
    [(name, kept)] = json.loads(mark.read_text()).items()
    mark.write_text(json.dumps({name: {**kept, "speedup": 1.2 * kept["speedup"]}}))
    assert gate("softmax", kernel, mark) == 1, "slower than last week"
