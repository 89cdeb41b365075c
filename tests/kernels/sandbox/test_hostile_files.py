"""Hostile files in the sandbox: nothing is read, written, sent or left behind outside by looking at them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp, nvrtc
from foretell.kernels.library import get
from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.sandbox import ForkServer, JobFailed, Kind, available
from foretell.kernels.sandbox.kinds import KIND_VARIABLE, works
from foretell.kernels.sandbox.probes.decoys import Decoys
from foretell.kernels.walls.probes.probe import Target
from tests.kernels.sandbox import hostile, ordinary
from tests.kernels.sandbox.test_forkserver import RUN

KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]
HERE = "tests.kernels.sandbox.test_hostile_files"
FIRST = "in kernel"


def looked_at(build: Callable[[Target], str], home: Path | None = None) -> str:
    """What came of building something that is aimed at decoys; AssertionError if that did anything to them."""
    with Decoys(home) as decoys:
        message = build(decoys.target)
        time.sleep(0.3)  # whatever stayed has time to do something
        assert decoys.target.secret not in message
        assert "LEAK" not in message
        assert decoys.damage() == []
    return message


def compiled(name: str) -> Callable[[Target], str]:
    def build(target: Target) -> str:
        source = hostile.aimed(hostile.COMPILED[name], target) + f"// {target.marker}\n"
        built = cpp.build(get("softmax"), Candidate("softmax", "cpp", source))
        assert not built.ok
        return built.message

    return build


@pytest.mark.parametrize("name", hostile.COMPILED)
def test_compilers_read_nothing_for_a_source(name: str, tmp_path: Path) -> None:
    message = looked_at(compiled(name), tmp_path)
    assert "root:" not in message


@pytest.mark.parametrize("kind", KINDS)
def test_so_it_is_in_every_sandbox(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KIND_VARIABLE, kind)
    for name in ("includes a file of the home", "includes the accounts", "embeds a file", "puts a file into a message"):
        looked_at(compiled(name), tmp_path)


def compile_as_ordinary(kind: str) -> str:
    """For `ordinary.call`."""
    os.environ[KIND_VARIABLE] = kind
    return json.dumps([looked_at(compiled(name)) for name in hostile.COMPILED])


@pytest.mark.skipif(os.getuid() != 0, reason="all tests run as an ordinary user already")
@pytest.mark.parametrize(
    "kind", [*KINDS[:1], *(pytest.param(*k.values, marks=[*k.marks, pytest.mark.full]) for k in KINDS[1:])]
)
def test_compilers_read_nothing_for_an_ordinary_user(kind: Kind) -> None:
    assert len(json.loads(ordinary.call(f"{HERE}:compile_as_ordinary", kind))) == len(hostile.COMPILED)


@pytest.fixture(scope="module")
def _torch() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton")


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return Kind(request.param)


class Builders:
    """A pool of builders in a sandbox of one kind; the server of the usual one is that of all tests."""

    def __init__(self, kind: Kind) -> None:
        from foretell.kernels.bench.gpu.builders import PRELOAD, BuilderPool

        self.server = None if kind is available(server=True) else ForkServer((PRELOAD,), kind=kind)
        self.pool = BuilderPool(90, 1, server=self.server)

    def build(self, source: str, language: str = "triton", task: object = None) -> str:
        from foretell.kernels.task import Task

        wanted = task if isinstance(task, Task) else get("silu", "gpu")
        built = self.pool.submit(wanted, Candidate("silu", language, source)).result(timeout=600)
        assert built.status is not Status.INFRASTRUCTURE, built.message
        return f"{built.status} {built.message} {sorted(built.features)}"

    def close(self) -> None:
        self.pool.close()
        if self.server is not None:
            self.server.close()


def _pools() -> list[object]:
    """The sandbox that is used by default in every test run; the others in the full one."""
    first = Kind.NAMESPACES if works(Kind.NAMESPACES) else next((k for k in Kind if works(k)), Kind.LANDLOCK)
    marks = {kind: [pytest.mark.skipif(not works(kind), reason=f"no {kind} here")] for kind in Kind}
    return [pytest.param(k, marks=[*marks[k], *([] if k is first else [pytest.mark.full])], id=k.value) for k in Kind]


@pytest.fixture(scope="module", params=_pools())
def builders(request: pytest.FixtureRequest, _torch: None) -> Iterator[Builders]:
    made = Builders(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("name", hostile.CANDIDATES)
def test_host_code_stays_inside(builders: Builders, name: str, tmp_path: Path) -> None:
    looked_at(lambda target: builders.build(hostile.python(hostile.CANDIDATES[name], target)), tmp_path)


@pytest.mark.skipif(nvrtc.toolchain() is None, reason="no CUDA compiler")
@pytest.mark.parametrize("name", hostile.CUDA)
def test_cuda_compilers_read_nothing_for_a_source(builders: Builders, name: str, tmp_path: Path) -> None:
    def build(target: Target) -> str:
        text = hostile.aimed(hostile.CUDA[name], target)
        source = f"from foretell.cuda import compile\nprogram = compile({text!r})\n\n\ndef kernel(x):\n    return x\n"
        return builders.build(source, "cuda")

    message = looked_at(build, tmp_path)
    assert message.startswith("compile_error")


@pytest.mark.full
@pytest.mark.timeout(
    900
)  # what the slim headers cannot compile goes to torch's own, which take minutes on a busy machine
@pytest.mark.parametrize("name", hostile.EXTENSIONS)
def test_extensions_stay_inside(builders: Builders, name: str, tmp_path: Path) -> None:
    looked_at(lambda target: builders.build(hostile.aimed(hostile.EXTENSIONS[name], target), "torch"), tmp_path)


def build_as_ordinary() -> str:
    """For `ordinary.call`."""
    made = Builders(Kind.NAMESPACES if works(Kind.NAMESPACES) else Kind.LANDLOCK)
    try:
        sources = hostile.CANDIDATES.values()
        return json.dumps([looked_at(lambda target, s=s: made.build(hostile.python(s, target))) for s in sources])
    finally:
        made.close()


@pytest.mark.full
@pytest.mark.skipif(os.getuid() != 0, reason="all tests run as an ordinary user already")
def test_host_code_stays_inside_for_an_ordinary_user(_torch: None) -> None:
    assert len(json.loads(ordinary.call(f"{HERE}:build_as_ordinary"))) == len(hostile.CANDIDATES)


@pytest.mark.parametrize("name", hostile.PROBLEMS)
def test_code_of_a_problem_stays_inside(builders: Builders, name: str, tmp_path: Path) -> None:
    from foretell.kernels.tasks import load

    def build(target: Target) -> str:
        path = tmp_path / "problem.py"
        path.write_text(hostile.python(hostile.PROBLEMS[name], target))
        return builders.build(
            hostile.aimed(hostile.CANDIDATES[FIRST].replace("attack()", "pass"), target), task=load(path)
        )

    looked_at(build, tmp_path)


@pytest.mark.parametrize("name", hostile.MODULES)
def test_code_of_a_module_stays_inside(name: str, tmp_path: Path) -> None:
    from foretell.kernels.tasks import BadTask, cpu, load

    def read(target: Target) -> str:
        path = tmp_path / "operation.py"
        path.write_text(hostile.python(hostile.MODULES[name], target))
        try:
            return str(cpu.examined(load(path)).inputs)
        except BadTask as error:
            return str(error)

    looked_at(read, tmp_path)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.full] if at else []) for at, n in enumerate(hostile.RECORDED)]
)
def test_recording_stays_inside(name: str, tmp_path: Path, _torch: None) -> None:
    from foretell.kernels.devices import described
    from foretell.kernels.record.apart import record_apart

    def record(target: Target) -> str:
        task = get("silu", "gpu")
        source = hostile.python(hostile.RECORDED[name], target)
        return str(record_apart(task, task.workloads[0], source, "torch", described("h200")).refusal)

    looked_at(record, tmp_path)


def attack_unconfined() -> str:
    """For `ordinary.call`: what the attack does where nothing holds it, but for staying."""
    with Decoys() as decoys:
        source = (
            hostile.python("", decoys.target)
            .replace("*gaining, ", "")
            .replace("persist, stay, change_files, ", "change_files, ")
        )
        names: dict[str, Callable[[], None]] = {}
        exec(compile(source, "attack.py", "exec"), names)
        try:
            names["attack"]()
        except RuntimeError as error:
            leak = str(error)
        return json.dumps([decoys.target.secret in leak, decoys.damage()])


def test_the_attack_succeeds_where_nothing_holds_it() -> None:
    leaked, damage = json.loads(ordinary.call(f"{HERE}:attack_unconfined"))
    assert leaked and len(damage) >= 4, damage


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_leaves_nothing_behind(kind: Kind, tmp_path: Path) -> None:
    with Decoys(tmp_path) as decoys:
        server = ForkServer(("foretell.kernels.walls.probes.excess",), kind=kind)
        attack = hostile.python("attack()\nanswer = 'done'", decoys.target)
        with suppress(JobFailed):
            server.call(RUN, attack.encode(), PROBE_LIMITS)
        server.close()
        assert decoys.damage() == []


def test_the_sources_are_python(tmp_path: Path) -> None:
    """An attack that does not parse would be held by any wall."""
    with Decoys(tmp_path) as decoys:
        for group in (hostile.CANDIDATES, hostile.RECORDED, hostile.EXTENSIONS, hostile.PROBLEMS, hostile.MODULES):
            for text in group.values():
                compile(hostile.python(text, decoys.target), "hostile.py", "exec")


def test_there_are_enough_of_them() -> None:
    groups = (
        hostile.CANDIDATES,
        hostile.RECORDED,
        hostile.COMPILED,
        hostile.CUDA,
        hostile.EXTENSIONS,
        hostile.PROBLEMS,
        hostile.MODULES,
    )
    assert sum(map(len, groups)) >= 50
