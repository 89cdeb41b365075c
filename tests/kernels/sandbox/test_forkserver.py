"""The fork server: jobs in processes of their own, their answers, ends and files."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.sandbox import Conversation, Ending, ForkServer, JobFailed, Kind, Limits, forkserver
from foretell.kernels.sandbox.kinds import works

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")
KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]
RUN = "foretell.kernels.walls.probes.excess:run"  # executes the payload as Python and answers with `answer`


@pytest.fixture(scope="module", params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[ForkServer]:
    made = ForkServer(("json", "foretell.kernels.walls.probes.excess"), kind=request.param)
    yield made
    made.close()


def call(server: ForkServer, program: str, limits: Limits = PROBE_LIMITS) -> str:
    return server.call(RUN, program.encode(), limits).decode()


def ending(server: ForkServer, program: str, limits: Limits = PROBE_LIMITS) -> Ending:
    with pytest.raises(JobFailed) as caught:
        call(server, program, limits)
    return caught.value.ending


def test_a_job_answers(server: ForkServer) -> None:
    assert call(server, "answer = str(6 * 7)") == "42"
    assert call(server, "answer = 'é' * 3_000_000") == "é" * 3_000_000
    payload = "answer = str(len('''" + "x" * 5_000_000 + "'''))"
    assert call(server, payload) == "5000000"


def test_jobs_are_strangers_to_each_other(server: ForkServer) -> None:
    leave = "import builtins, os, pathlib\nbuiltins.left = 1\nos.environ['LEFT'] = '1'\npathlib.Path('left').touch()\n"
    look = "import builtins, os\nanswer = str([hasattr(builtins, 'left'), 'LEFT' in os.environ, sorted(os.listdir())])"
    assert call(server, leave + "answer = 'done'") == "done"
    assert call(server, look) == "[False, False, ['cache', 'tmp']]"


def test_a_job_cannot_reach_one_beside_it(server: ForkServer) -> None:
    """It ends every process it can; the one beside it goes on."""
    with ThreadPoolExecutor(2) as pool:
        quiet = pool.submit(call, server, "import time\ntime.sleep(1.5)\nanswer = 'alive'")
        time.sleep(0.4)
        kill = (
            "import os, signal\nfor pid in range(1, 3000):\n    if pid != os.getpid():\n        try:\n"
            "            os.kill(pid, signal.SIGKILL)\n        except OSError:\n            pass\nanswer = 'tried'"
        )
        assert pool.submit(call, server, kill).result() == "tried"
        assert quiet.result() == "alive"


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ("raise ValueError('words')", Ending.RAISED),
        ("import os\nos._exit(0)", Ending.DIED),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", Ending.DIED),
        ("import ctypes\nctypes.string_at(0)", Ending.DIED),
        ("answer = None", Ending.RAISED),
        ("import os\nfor fd in range(3, 99):\n    try:\n        os.write(fd, b'A' + b'\\x7f' * 40)\n    except OSError: pass", Ending.FORGED),
    ],
    ids=["raises", "exits", "is killed", "crashes", "answers nothing", "forges"],
)  # fmt: skip
def test_how_a_job_ends_is_told(server: ForkServer, program: str, how: Ending) -> None:
    assert ending(server, program) is how
    assert call(server, "answer = 'still here'") == "still here"


def test_the_words_of_an_exception_come_back(server: ForkServer) -> None:
    with pytest.raises(JobFailed, match="ValueError: words"):
        call(server, "raise ValueError('words')")


def test_a_job_can_be_cancelled(server: ForkServer) -> None:
    job = server.submit(RUN, b"import time\ntime.sleep(60)", PROBE_LIMITS)
    threading.Timer(0.3, job.cancel).start()
    started = time.monotonic()
    with pytest.raises(JobFailed) as caught:
        job.result()
    assert caught.value.ending is Ending.CANCELLED and time.monotonic() - started < 30


def test_files_come_back_and_links_do_not(server: ForkServer, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("precious")
    program = (
        "import os, pathlib\nfolder = pathlib.Path(os.environ['FORETELL_CACHE']) / 'kept'\n(folder / 'a').mkdir(parents=True)\n"
        "(folder / 'a' / 'x').write_bytes(b'\\0one')\n(folder / 'link').symlink_to('/etc/passwd')\n"
        f"(folder / 'out').symlink_to({str(tmp_path)!r})\nos.mkfifo(folder / 'pipe')\n"
        "(folder.parent / 'other').write_text('not asked for')\nanswer = 'done'"
    )
    result = server.submit(RUN, program.encode(), PROBE_LIMITS, keep=["kept"]).result()
    assert result.answer == b"done" and result.files == {"kept/a/x": b"\0one"} and result.cpu_s >= 0


def test_many_jobs_at_a_time(server: ForkServer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: call(server, f"answer = str({n} ** 2)"), range(24)))
    assert answers == [str(n**2) for n in range(24)]


def test_a_job_may_start_tools(server: ForkServer) -> None:
    program = (
        "import subprocess\nanswer = subprocess.run(['sh', '-c', 'echo hi'], capture_output=True, text=True).stdout"
    )
    assert call(server, program) == "hi\n"
    nested = (
        "from foretell.kernels.sandbox import run\nfrom pathlib import Path\n"
        "done = run(['sh', '-c', 'echo inside'], writable=Path('tmp'))\nanswer = done.stdout + done.stderr"
    )
    assert call(server, nested) == "inside\n"


def test_a_job_may_make_and_copy_files(server: ForkServer) -> None:
    program = (
        "import pathlib, shutil\npathlib.Path('x').touch()\npathlib.Path('x').touch()\npathlib.Path('x').chmod(0o600)\n"
        "shutil.copy('x', 'y')\nanswer = str(pathlib.Path('x').exists() and pathlib.Path('y').exists())"
    )
    assert call(server, program) == "True"


def test_a_seed_is_there_when_the_job_starts(tmp_path: Path) -> None:
    kind = Kind.NAMESPACES if works(Kind.NAMESPACES) else Kind.LANDLOCK
    (tmp_path / "seeds" / "one").mkdir(parents=True)
    (tmp_path / "seeds" / "one" / "x").write_text("seed")
    server = ForkServer(("foretell.kernels.walls.probes.excess",), readable=(tmp_path / "seeds",), kind=kind)
    look = "import os\nanswer = open(os.environ['FORETELL_CACHE'] + '/x').read()"
    peek = f"import os\nanswer = str(os.listdir({str(tmp_path / 'seeds')!r}))"
    try:
        result = server.submit(RUN, look.encode(), PROBE_LIMITS, seed=tmp_path / "seeds" / "one").result()
        assert result.answer == b"seed"
        assert ending(server, peek) is Ending.RAISED
    finally:
        server.close()


def test_a_server_that_cannot_import_says_so() -> None:
    with pytest.raises(JobFailed, match="no_such_module") as caught:
        ForkServer(("no_such_module",)).call(RUN, b"")
    assert caught.value.ending is Ending.NO_SERVER


def test_a_server_that_is_gone_is_started_again(server: ForkServer) -> None:
    assert call(server, "answer = 'one'") == "one"
    server.close()
    assert call(server, "answer = 'two'") == "two"


def converse(server: ForkServer, program: str) -> Conversation:
    talk = server.converse("foretell.kernels.walls.probes.excess:converse", PROBE_LIMITS)
    talk.connection.send_bytes(program.encode())
    return talk


def test_a_job_can_be_talked_with(server: ForkServer) -> None:
    talk = converse(server, "while True: connection.send_bytes(connection.recv_bytes()[::-1])")
    for text in (b"abc", b"x" * 5_000_000):
        talk.connection.send_bytes(text)
        assert talk.connection.recv_bytes() == text[::-1]
    before = (talk.alive, talk.ended)
    talk.hang_up()
    hung_up = talk.alive
    assert talk.ending()[0] in (Ending.CANCELLED, Ending.DIED)
    assert (before, hung_up, talk.ended) == ((True, False), False, True)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os._exit(7)", "exit code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("raise ValueError", "exit code 1"),
        ("connection.close(); import time; time.sleep(3600)", "cancelled"),
        ("kept = [b'x' * (16 << 20) for _ in range(1000)]", ""),
    ],
)
def test_how_a_conversation_ends_is_told(server: ForkServer, program: str, words: str) -> None:
    talk = converse(server, program)
    with pytest.raises((EOFError, ConnectionError)):
        talk.connection.recv_bytes()
    ending, how = talk.ending(by_itself=True)
    assert words in how and ending in (Ending.DIED, Ending.CANCELLED, Ending.MEMORY), how
    assert not talk.alive


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_with_gpus_may_name_its_own_threads(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA's driver gives up otherwise. Nothing else of /proc can be written."""
    monkeypatch.setattr(forkserver, "gpu_devices", lambda: ("/dev/null",))  # its walls are those for a GPU
    server = ForkServer(("json", "foretell.kernels.walls.probes.excess"), kind=kind, gpu=True)
    try:
        names = (
            "import os, threading\n"
            "def named(path, text):\n"
            "    try:\n"
            "        with open(path, 'w') as file:\n"
            "            file.write(text)\n"
            "        return 'yes'\n"
            "    except OSError as error:\n"
            "        return type(error).__name__\n"
            "done = threading.Event()\n"
            "thread = threading.Thread(target=done.wait)\n"
            "thread.start()\n"
            "own = named(f'/proc/self/task/{thread.native_id}/comm', 'cuda-worker')\n"
            "parent = named(f'/proc/{os.getppid()}/comm', 'nobody')\n"
            "setting = named('/proc/sys/kernel/core_pattern', open('/proc/self/comm').read())\n"
            "done.set()\n"
            'answer = f\'{own} {parent == "yes"} {setting == "yes"}\''
        )
        assert call(server, names) == "yes False False"
    finally:
        server.close()
