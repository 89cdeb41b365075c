"""Recorders of the tenth round: what a candidate says in its recorder's place, and honest ones that were refused."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.cli import record as shown
from foretell.cli.output import shown as printable
from foretell.kernels.bench.gpu import builders
from foretell.kernels.cost import apart as analysis
from foretell.kernels.cost.apart import NotAnalysed, times_apart, work_apart
from foretell.kernels.forecast.recorded import Finding, verdict
from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import MOST_LOG_CHARACTERS, plain
from foretell.kernels.library import get
from foretell.kernels.limits import ANALYSIS_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.program import Program
from foretell.kernels.record.apart import SENTENCE_CHARACTERS, record_all_apart, record_apart
from foretell.kernels.record.job import decoded
from foretell.kernels.record.refusal import Reason, Recording, is_own_fault
from foretell.kernels.sandbox import Ending, JobFailed, available
from foretell.kernels.sandbox.jobs import Result
from foretell.kernels.tasks import worker
from foretell.kernels.tasks.refusal import BadTask
from foretell.kernels.walls.serve import TEXT_BYTES
from tests.kernels.record.sources import H200, recorded
from tests.redteam.test_round_eight import at_most

walled = pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")
TASK = get("softmax", "gpu")
VIEW = [0, 0, "float32", [8192, 4096], [4096, 1]]
OUTPUT = [1, *VIEW[1:]]

# What a candidate needs to answer in its recorder's place, on the socket that it finds among its descriptors.
FORGE = """
import json, os, stat, struct, sys, time
import torch

def send(kind, body):
    for number in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                break
        except OSError:
            pass
    left = memoryview(struct.pack("!cQ", kind, len(body)) + body)
    while left:
        left = left[os.write(number, left[: 1 << 20]):]
    os._exit(0)

def refuse(words, reason="host code failed"):
    send(b"A", json.dumps({"programs": [], "refusal": [reason, words], "seconds": 1.0, "cpu_seconds": 1.0}).encode())

"""


def program(**changes: Any) -> dict[str, Any]:
    """The document of a small Program, to be changed at will."""
    return {
        "workload": "w", "toolchain": {}, "buffers": [[1 << 27, "input"], [1 << 27, "temporary"]], "inputs": [VIEW],
        "weights": [], "setup": [], "run": [["allocate", 1]], "outputs": [OUTPUT], "images": [], "facts": {},
    } | changes  # fmt: skip


def packed(document: dict[str, Any] | bytes, blobs: tuple[bytes, ...] = ()) -> bytes:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    parts = b"".join(struct.pack("<QQ", len(blob), 0) + blob for blob in blobs)
    payload = zlib.compress(struct.pack("<QQ", len(text), len(blobs)) + text + parts, 1)
    return struct.pack("<8sI32sQ", b"FORETELL", 1, hashlib.sha256(payload).digest(), len(payload)) + payload


def answer(*programs: bytes, **more: Any) -> bytes:
    texts = [base64.b64encode(each).decode() for each in programs]
    return json.dumps({"programs": texts, "refusal": None, "seconds": 1.0, "cpu_seconds": 1.0} | more).encode()


def accepted(document: dict[str, Any], blobs: tuple[bytes, ...] = ()) -> Program:
    recording = decoded(answer(packed(document, blobs)))
    assert recording.program is not None, recording.refusal
    return recording.program


def call(operator: str, *arguments: Any) -> list[Any]:
    return ["call", operator, list(arguments), [], [OUTPUT], [], [], 0]


def recording_of(body: str) -> Recording:
    return record_apart(TASK, TASK.workloads[0], f"{FORGE}{body}\n\n\ndef kernel(x):\n    return x\n", "torch", H200)


@walled
class TestWords:
    """What a recorder's last words, or a refusal in its place, may take and show."""

    @pytest.mark.parametrize("size", [TEXT_BYTES + 1, 3 << 20])
    def test_long_last_words_are_not_read(self, size: int) -> None:
        with at_most(4):
            refusal = recording_of(f'send(b"E", b"\\xff" * {size})').refusal
        assert refusal is not None and refusal.reason is Reason.FORGED and f"{size} bytes" in refusal.sentence

    def test_another_kind_of_answer_is_none(self) -> None:
        refusal = recording_of('send(b"X", b"x")').refusal
        assert refusal is not None and refusal.reason is Reason.FORGED

    def test_a_long_refusal_is_cut_before_it_is_looked_at(self) -> None:
        with at_most(40):  # 4 MB of JSON; a list of its characters would be some 200 MB
            refusal = recording_of('refuse("\\u0101" * (2 << 20))').refusal
        assert refusal is not None and refusal.reason is Reason.FAILED
        assert len(refusal.sentence) <= SENTENCE_CHARACTERS

    def test_words_of_a_build_that_never_was(self) -> None:
        words = "kernel.cu(1): error: \\x1b[2J\\x1b]8;;http://x\\x07 \\u202e [bold red]x[/] </pre><script> "
        refusal = recording_of(f'refuse("{words}" + "/home/user/secret: error: " * 2000, "does not build")').refusal
        assert refusal is not None and refusal.reason is Reason.BUILD and len(refusal.sentence) <= SENTENCE_CHARACTERS
        assert printable(refusal.sentence) == refusal.sentence and "secret" not in refusal.sentence

    def test_honest_last_words_are_whole(self) -> None:
        refusal = recording_of(f"raise SystemError('\\U0001f600' * {TEXT_BYTES})").refusal
        assert refusal is not None and refusal.reason is Reason.FAILED and "SystemError" in refusal.sentence


def test_only_the_beginning_of_a_text_is_made_plain() -> None:
    with at_most(40):
        assert len(plain("\u0101" * (8 << 20))) == MOST_LOG_CHARACTERS
    assert plain("a\x1b[31mb\x00", 2) == "ab"


def test_a_long_refusal_of_a_task_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        def call(self, *_: object) -> bytes:
            told = {"reason": "does_not_run", "what": "\u0101" * (3 << 20), "expected": "", "do": ""}
            return b"!" + json.dumps(told, ensure_ascii=False).encode()

    monkeypatch.setattr(worker, "_server", Server)
    with at_most(40), pytest.raises(BadTask, match="answers in its own way"):
        worker.call("module:function", {}, "mine", 1 << 30)


class TestPrograms:
    """Forged Programs that are to keep whoever asks about them busy, or to take its memory."""

    @walled
    def test_views_of_one_hash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each stride is a multiple of 2^61 - 1, which is the modulus of Python's hashes of whole numbers."""
        monkeypatch.setattr(analysis, "ANALYSIS_LIMITS", replace(ANALYSIS_LIMITS, cpu_s=1.0))
        strides = itertools.islice(itertools.product(range(4), repeat=9), 20_000)
        same = [{"view": [0, 0, "float32", [1] * 9, [one * ((1 << 61) - 1) for one in each]]} for each in strides]
        forged = accepted(program(run=[["allocate", 1], call("aten::cat.default", same)]))
        used = time.process_time()
        for ask in (lambda: times_apart([forged], H200), lambda: work_apart(forged)):
            with pytest.raises(NotAnalysed):
                ask()
        assert time.process_time() - used < 10.0, "worked out here"

    def test_very_many_launches_of_the_last_of_many_images(self) -> None:
        blobs = (*(b".version 8.0\n.visible .entry k%d(){ret;}\n" % number for number in range(4096)), b"")
        launch = ["launch", "0" * 64, "k4095", [1, 1, 1], [32, 1, 1], 0, 4096, [], [], 0, []]
        images = [[None, number, "sm_90"] for number in range(4096)]
        refusal = decoded(answer(packed(program(images=images, run=[launch] * 60_000), blobs))).refusal
        assert refusal is not None and refusal.reason is Reason.FORGED and "values" in refusal.sentence

    def test_blanks_that_inflate(self) -> None:
        with at_most(200):
            refusal = decoded(answer(packed(b" " * (65 << 20)))).refusal
        assert refusal is not None and refusal.reason is Reason.FORGED and "too large" in refusal.sentence

    def test_names_and_facts_that_would_be_obeyed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shown, "_work", lambda program: (None, "not asked for"))
        nested: Any = 1
        for _ in range(40):
            nested = [nested]
        facts = {"assumptions": [nested, "\x1b[2Jx"] * 9, "\x1b]0;owned\x07": "\x1b[2J", "folds_weights": ["\x1b[31m"]}
        step = call("aten::abs.default", {"view": VIEW}, "\x1b[2J\u202e")
        made = accepted(program(facts=facts, toolchain={"\x1b[2Jpython": "\u202eabc"}, run=[["allocate", 1], step]))
        lines = [*shown._findings(made, Recording(made)), *shown._row(made.run[-1])]
        assert [printable(line) for line in lines] == lines

    @pytest.mark.parametrize("seconds", [1e308, -1.0, None])
    def test_times_that_nothing_takes(self, seconds: float | None) -> None:
        recording = decoded(answer(packed(program()), seconds=seconds, cpu_seconds=seconds))
        assert recording.ok if seconds == 1e308 else recording.refusal is not None

    @walled
    def test_extremes_end_in_numbers_or_a_sentence(self) -> None:
        most = (1 << 63) - 1
        far = [1, 0, "float32", [1] * 32, [most] * 32]
        wide, tall = [0, 0, "float32", [1 << 20, 1 << 18], [1 << 18, 1]], [0, 0, "float32", [1 << 18, 1 << 20], [1, 2]]
        odd = {"view": [0, 0, "complex128", [1 << 36], [1]]}
        product = ["call", "aten::mm.default", [{"view": wide}, {"view": tall}], [], [far], [], [], 0]
        convolved = [{"view": far}, odd, None, [most] * 8, [most], [0], False, [0], 0]
        folded = ["call", "aten::convolution.default", convolved, [], [None], [], [], 0]
        moved = [["fill", [1, 0, 1 << 40], 0, 0], ["copy", [1, 0, 1 << 39], [0, 0, 1 << 39], 0]]
        steps = [["allocate", 1], product, folded, *moved]
        buffers = [[1 << 40, "input"], [1 << 40, "temporary"]]
        forged = accepted(program(buffers=buffers, run=steps), (b"\0",))
        for ask in (lambda: times_apart([forged], H200), lambda: work_apart(forged)):
            try:
                ask()
            except NotAnalysed as error:
                assert str(error).startswith("its analysis ")


@walled
class TestProcesses:
    """What a recorder's process leaves behind, ends, reads or keeps."""

    def test_what_it_starts_ends_with_it(self) -> None:
        mark = f"orphan-of-{hashlib.sha256(str(time.time()).encode()).hexdigest()[:16]}"
        refusal = recording_of(
            "for _ in range(5):\n    if os.fork() == 0:\n        if os.fork():\n            os._exit(0)\n"
            "        os.closerange(3, 100)\n"
            f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(100)', '{mark}'])\n"
            "refuse('early')"
        ).refusal
        assert refusal is not None and refusal.sentence == "early"
        lines = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if _is_readable(each)]
        assert lines and not any(mark.encode() in line for line in lines)

    def test_signals_to_its_supervisor(self) -> None:
        refusal = recording_of(
            "import signal\nfor number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1):\n"
            "    for process in (1, os.getppid()):\n        try:\n            os.kill(process, number)\n"
            "        except OSError:\n            pass\ntime.sleep(0.2)\nrefuse('still here')"
        ).refusal
        assert refusal is not None and refusal.sentence == "still here"

    def test_traps_in_the_folders_that_are_kept(self) -> None:
        traps = (
            "home = os.environ['FORETELL_CACHE']\n"
            "for top in ('triton', 'cuda', 'extensions'):\n    os.makedirs(f'{home}/{top}', exist_ok=True)\n"
            "os.mkfifo(f'{home}/triton/pipe')\nos.symlink('/etc/passwd', f'{home}/triton/link')\n"
            "os.symlink('/', f'{home}/cuda/root')\nopen(home.encode() + b'/triton/\\xff', 'w').write('x')\n"
            "open(f'{home}/triton/a\\n\\x1b[2J', 'w').write('x')\n"
            "open(f'{home}/triton/__grp__k', 'w').write(json.dumps({'child_paths': {'x': '/etc/passwd'}}))\n"
            "deep = f'{home}/extensions/' + '/'.join(['d' * 50] * 40)\nos.makedirs(deep)\n"
            "open(f'{deep}/f', 'w').write('x')\nopen(f'{home}/triton/holes', 'wb').truncate(60 << 20)\n"
        )
        assert recording_of(traps).ok
        files = built.files_of(f"{FORGE}{traps}\n\n\ndef kernel(x):\n    return x\n")
        assert set(files) == {"triton/__grp__k"} and b"/etc" not in files["triton/__grp__k"]

    def test_what_it_can_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "precious").write_text("precious words")
        monkeypatch.setenv("PRECIOUS", "precious words")
        places = [tmp_path / "precious", "/etc/shadow", "/proc/1/environ", f"/proc/1/root{tmp_path}/precious"]
        refusal = recording_of(
            f"told = []\nfor place in {list(map(str, places))!r}:\n    try:\n        told.append(open(place).read())\n"
            "    except OSError:\n        pass\nrefuse(repr([told, dict(os.environ)])[:400])"
        ).refusal
        assert refusal is not None and "precious" not in refusal.sentence and "root:" not in refusal.sentence


def _is_readable(place: Path) -> bool:
    try:
        return place.read_bytes() is not None
    except OSError:
        return False


THREADS = """
import torch
from concurrent.futures import ThreadPoolExecutor


def part(x):
    return torch.softmax(x, -1)


def kernel(x):
    with ThreadPoolExecutor(2) as pool:
        return torch.cat(list(pool.map(part, x.chunk(2))))
"""
OWN_FOLDER = """
import os
import torch

own = f"{os.environ['FORETELL_CACHE']}/extensions/own"
os.makedirs(os.path.dirname(own), exist_ok=True)
os.mkdir(own)
open(f"{own}/built", "w").write("x")


def kernel(x):
    return torch.softmax(x, -1)
"""


class TestHonest:
    """Honest candidates that were called unable to run."""

    @pytest.mark.parametrize("swallowed", [False, True])
    def test_torch_in_threads_is_not_recorded_and_nobodys_fault(self, swallowed: bool) -> None:
        handled = "    try:\n        return torch.softmax(x, -1)\n    except Exception:\n        return x"
        source = THREADS.replace("    return torch.softmax(x, -1)", handled) if swallowed else THREADS
        shapes = [((8, 16), "float32")]
        reference = recorded("import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, -1)\n", shapes)
        for _ in range(5):
            recording = recorded(source, shapes)
            assert recording.refusal is not None and recording.refusal.reason is Reason.OPERATOR
            assert not is_own_fault(recording.refusal) and "thread" in recording.refusal.sentence
            assert verdict(reference, recording).finding is Finding.UNKNOWN

    @walled
    def test_a_folder_of_its_own_in_the_kept_cache(self) -> None:
        for _ in range(3):
            recording = record_apart(TASK, TASK.workloads[0], OWN_FOLDER, "torch", H200)
            assert recording.ok, recording.refusal
        assert set(built.files_of(OWN_FOLDER)) == {"extensions/own/built"}


class _Stumbling:
    """A server whose jobs fail whenever their cache has something in it, or always."""

    def __init__(self, answer: bytes, always: bool = False) -> None:
        self.seeds: list[Path | None] = []
        self._answer, self._always = answer, always

    def submit(self, _: str, __: bytes, ___: object, ____: object, seed: Path | None) -> _Stumbling:
        self.seeds.append(seed)
        return self

    def result(self) -> Result:
        if self._always or self.seeds[-1] is not None:
            raise JobFailed(Ending.RAISED, "FileExistsError: own")
        return Result(self._answer, {})


def _built(server: Any) -> str:
    job = {"spec": TASK.spec, "source": OWN_FOLDER, "language": "torch"}
    return builders.BuilderPool(90, 1, server=server)._build(job).status


def _recorded(server: Any) -> str:
    [recording] = record_all_apart(TASK, TASK.workloads[:1], OWN_FOLDER, "torch", H200, server)
    return Status.OK if recording.ok else Status.COMPILE_ERROR


@pytest.mark.parametrize(
    ("made", "reply"),
    [(_built, b'{"status": "ok", "message": "", "features": {}}'), (_recorded, answer(packed(program())))],
    ids=["build", "record"],
)
def test_what_fails_from_what_was_kept_is_tried_without(
    made: Callable[[Any], str], reply: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    for kept, always, status, count in (
        (False, False, Status.OK, 1),
        (False, True, Status.COMPILE_ERROR, 1),
        (True, False, Status.OK, 2),
        (True, True, Status.COMPILE_ERROR, 2),
    ):
        if kept:
            built.keep(OWN_FOLDER, {"extensions/own/built": b"x"})
        server = _Stumbling(reply, always)
        assert (made(server), len(server.seeds)) == (status, count)
        assert server.seeds[-1] is None
