"""Attacks by files that are read outside of the sandbox, and by answers that code in it forges.

An attack is held if it is refused in words, in time and without control characters; anything else is a breach.
"""

# ruff: noqa: E501 - one line per attack
from __future__ import annotations

import base64
import json
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LONGEST_S = 20
GPU = "def inputs(seed):\n    return [seed]\n\n\ndef reference(x):\n    return x\n"
GENERATE = "def generate_input(size):\n    return size\n\n\ndef ref_kernel(data):\n    return data\n"
CONTROL = "\x1b]0;title\x07"
_TENSOR = {"shape": ["M"], "dtype": "float32"}
_DEFINITION = {"name": "op", "axes": {"M": {"type": "var"}}, "inputs": {"A": _TENSOR}, "outputs": {"B": _TENSOR},
               "reference": "def run(A):\n    return A\n"}  # fmt: skip
_CPU = '''import numpy as np
workloads = [{"n": 64}]
cpp = """
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t n) {}
"""
def forge(kind, body):
    import os, stat, struct
    for fd in range(3, 99):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, struct.pack("!cQ", kind, len(body)) + body)
                os._exit(0)
        except OSError:
            pass
def inputs(seed, n):
    ATTACK
    return np.ones(n, "float32")
def reference(x):
    DOUBLE
    return x
'''


class Late(BaseException):
    """The attack took longer than it may."""


@contextmanager
def _in_time() -> Iterator[None]:
    def late(*_: object) -> None:
        raise Late

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)


def _breached(attack: Callable[[], object]) -> bool:
    """Whether it was neither refused in words nor harmless; an attack returns what it got hold of."""
    from foretell.kernels.replay.spaces import BadSpace
    from foretell.kernels.tasks import BadTask

    try:
        with _in_time():
            return bool(attack())
    except (BadTask, BadSpace) as refusal:
        return not str(refusal).replace("\n", "").isprintable()
    except BaseException:
        return True


def file_attacks() -> list[tuple[str, str, bool]]:
    """[class, attack, breached]."""
    with tempfile.TemporaryDirectory(prefix="attacks-") as folder:
        return [(group, name, _breached(attack)) for group, name, attack in _attacks(Path(folder))]


def _attacks(folder: Path) -> Iterator[tuple[str, str, Callable[[], object]]]:
    from foretell.kernels import tasks
    from foretell.kernels.candidate import normalise
    from foretell.kernels.languages import built
    from foretell.kernels.record.job import decoded
    from foretell.kernels.record.refusal import Reason
    from foretell.kernels.replay import spaces
    from foretell.kernels.tasks.cpu import draw

    (folder / "secret").write_text("precious")
    (folder / "secret.py").write_text("PASSWORD = 'precious'\n")
    numbers = iter(range(1000))

    def place(files: dict[str, str], first: str) -> Path:
        home = folder / f"set{next(numbers)}" / "problem"
        home.mkdir(parents=True)
        for name, text in files.items():
            (home / name).write_text(text)
        return home / first if first else home

    def load(
        files: dict[str, str], first: str = "", leak: Callable[[Any], object] = lambda task: False
    ) -> Callable[[], object]:
        return lambda: leak(tasks.load(place(files, first), "gpu"))

    def problem(about: str, leak: Callable[[Any], object] = lambda task: False) -> Callable[[], object]:
        return load({"reference.py": GENERATE, "task.yml": f"{about}\nbenchmarks:\n  - {{size: 64}}\n"}, "", leak)

    def workload(stored: str) -> Callable[[], object]:
        line = {"axes": {"M": 8}, "inputs": {"A": {"type": "safetensors", "path": stored, "tensor_key": "x"}}}
        files = {"op.json": json.dumps(_DEFINITION), "op.jsonl": json.dumps(line)}
        return load(files, "op.json", lambda task: True)

    def forged(attack: str = "pass", double: str = "pass") -> Callable[[], object]:
        def run() -> object:
            text = _CPU.replace("ATTACK", attack).replace("DOUBLE", double)
            task = tasks.load(place({"op.py": text}, "op.py"), "cpu")
            draw(task, task.workloads[0], [1])
            return True

        return run

    def answer(**parts: Any) -> Callable[[], object]:
        plain = {"programs": [], "refusal": [Reason.FAILED, "words"], "seconds": 1.0} | parts
        return lambda: decoded(json.dumps(plain).encode()).ok

    chain = "".join(f"a{n + 1} = [a{n}, a{n}]\n" for n in range(60))
    aliases = "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(60))
    merged = "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(60))
    listed = "files:\n  - {{name: utils.py, source: {}}}"
    yield (
        "hang",
        "module: lists of lists by name",
        load({"op.py": f"a0 = ['x']\n{chain}workloads = [{{'n': a60}}]\n{GPU}"}, "op.py", lambda t: t.identity),
    )
    yield "hang", "GPU MODE: aliases", problem(f"a0: &a0 [x]\n{aliases}description: *a60")
    yield "hang", "GPU MODE: merged aliases", problem(f"a0: &a0 {{k: v}}\n{merged}")
    yield "hang", "GPU MODE: a number of a million parts", problem("a: 1" + ":1" * 1_000_000)
    yield "hang", "FlashInfer: data from /proc/self/pagemap", workload("/proc/self/pagemap")
    yield "hang", "C++: a number of many points", lambda: not normalise("1." * 200_000, "cpp")
    yield (
        "hang",
        "recording: 60,000 configurations",
        answer(refusal=None, programs=[base64.b64encode(b"x" * 99).decode()] * 60_000),
    )
    yield (
        "read",
        "GPU MODE: a listed file two folders up",
        problem(listed.format("../../secret.py"), lambda t: "precious" in str(t.files)),
    )
    yield (
        "read",
        "GPU MODE: a listed file by its whole path",
        problem(listed.format(folder / "secret.py"), lambda t: "precious" in str(t.files)),
    )
    yield "read", "FlashInfer: data from the home", workload(str(folder / "secret"))
    yield "read", "FlashInfer: data above the folder", workload("../../secret")
    control = {**_DEFINITION, "inputs": {"A": {"shape": ["M"], "dtype": CONTROL}}}
    yield "terminal", "module: control characters in how its process ends", forged(f"raise SystemExit({CONTROL!r})")
    yield "terminal", "module: forged exception with control characters", forged(f"forge(b'E', {CONTROL.encode()!r})")
    yield (
        "terminal",
        "FlashInfer: control characters in a type",
        lambda: _printed(place({"op.json": json.dumps(control)}, "op.json")),
    )
    for name, body in {"no JSON": b"=x", "numbers": b"=[1]", "nested": b"=" + b"[" * 99_999, "no array's type": b'=[{"inputs": [["object", [64]]], "outputs": [["float32", [64]]]}]',
                       "2^50 elements": b'=[{"inputs": [["float32", [1125899906842624]]], "outputs": [["float32", [64]]]}]'}.items():  # fmt: skip
        yield "forged answer", f"shapes: {name}", forged(f"forge(b'A', {body!r})")
    for name, body in {"an archive": b"=PK\x03\x04", "nothing": b"=", "other bytes": b"=x" * 99}.items():
        yield "forged answer", f"arrays: {name}", forged(double=f"if x.dtype == 'float64': forge(b'A', {body!r})")
    yield "forged answer", "recording: a number of 400 digits", answer(seconds=10**400)
    yield "forged answer", "recording: nested", lambda: decoded(b"[" * 99_999).ok
    yield (
        "forged answer",
        "build: nested list of files",
        lambda: built.keep("source", {"triton/__grp__x.json": b'{"child_paths":' + b"[" * 99_999}),
    )
    yield (
        "forged answer",
        "build: a path that is too long",
        lambda: built.keep("source", {"triton/" + "/".join(["d" * 200] * 20): b"x"}),
    )
    yield (
        "received file",
        "cache of Kernel Tuner: nested",
        lambda: spaces.read_cache(place({"c.json": "[" * 99_999}, "c.json")),
    )
    yield "received file", "run: a task with a type that is none", lambda: _task_of_run("object")


def _printed(path: Path) -> bool:
    """Whether a verb's words about a file hold control characters."""
    from typer.testing import CliRunner

    from foretell.cli.app import app

    return "\x1b" in CliRunner().invoke(app, ["explain", str(path)]).output


def _task_of_run(dtype: str) -> bool:
    from foretell.kernels.tasks import of_run

    spec = {
        "kind": "module", "name": "op", "family": "module", "summary": "", "sizes": ["n"], "extra": [],
        "inputs": [{"name": "x", "dtype": dtype, "shape": ["n"], "fill": "normal"}], "outputs": [],
        "workloads": [{"sizes": {"n": 64}, "arguments": {}, "label": ""}], "files": {"module.py": GPU},
        "tolerance": {"relative": 1e-3, "absolute": 0.0, "reason": ""}, "references": {"torch": "module.py"},
    }  # fmt: skip
    task = of_run({"task": "op", "task_spec": spec}, "cpu")
    return bool(task.least_bytes(task.workloads[0].sizes)) or True
