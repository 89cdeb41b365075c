"""Runs that came from someone else: no file outside is touched, no key is sent, nothing enters the catalogue."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from foretell import received_limits
from foretell.kernels.store.lines import decode, encode
from foretell.kernels.store.seal import SECRET_NAME
from tests.cli.conftest import FakeBench, Invoke

SEARCH = ("search", "softmax", "--forecaster", "roofline", "--measurements", "12", "--candidates", "40")
PRIVATE = ("journal.jsonl", "lock", "report.html", "best.cpp")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    (path / "precious").write_text("precious\n")
    return path


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """An address, and the authorization headers of whatever was sent to it."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(str(self.headers.get("Authorization")))
            self.send_error(400)

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1", seen
    server.shutdown()


def run_with(invoke: Invoke, bench: FakeBench, folder: str = "run") -> Path:
    """A run of this user's that was interrupted, so that it can be resumed."""
    bench.interrupt_at = 2
    assert invoke(*SEARCH, "--run", folder).exit_code == 130
    bench.interrupt_at = None
    return Path(folder)


def rewritten(run: Path, **config: str) -> None:
    """The journal with other settings, as whoever sends a run could write it."""
    lines = (run / "journal.jsonl").read_bytes().splitlines()
    record = decode(lines[0])
    record["payload"]["config"].update(config)
    (run / "journal.jsonl").write_bytes(b"\n".join([encode(record).rstrip(b"\n"), *lines[1:]]) + b"\n")


@pytest.mark.parametrize("name", PRIVATE)
def test_links_in_a_run_are_not_followed(
    name: str, bench: FakeBench, invoke: Invoke, home: Path, own_place: Path
) -> None:
    run = run_with(invoke, bench)
    target = home / "precious"
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(target)
    for arguments in (("report", run), ("search", "softmax", "--resume", run), ("ask", run), ("tell", run, "--finish")):
        result = invoke(*arguments)
        assert "precious\n" not in result.output
    assert target.read_text() == "precious\n"
    assert [path.name for path in home.iterdir()] == ["precious"]


def test_a_link_to_a_file_that_is_not_there_makes_none(bench: FakeBench, invoke: Invoke, home: Path) -> None:
    run = Path("run")
    run.mkdir()
    for name in PRIVATE:
        (run / name).symlink_to(home / name)
    for arguments in ((*SEARCH, "--run", "run"), ("ask", "run", "--task", "softmax"), ("report", "run")):
        assert invoke(*arguments).exit_code == 2
    assert [path.name for path in home.iterdir()] == ["precious"]


def test_candidate_files_that_are_links_are_refused(bench: FakeBench, invoke: Invoke, home: Path) -> None:
    Path("kernel.cpp").symlink_to(home / "precious")
    result = invoke("measure", "softmax", "kernel.cpp")
    assert result.exit_code == 2 and "symbolic link" in result.output


@pytest.mark.parametrize("part", ["forecaster", "proposer"])
@pytest.mark.parametrize(
    "form", ["openai:m@{url}", "openai:m@{url}?key_variable=PRIVATE_KEY", "cascade:online,openai:m@{url}"]
)
def test_a_key_goes_to_no_host_that_the_user_did_not_name(
    part: str,
    form: str,
    listener: tuple[str, list[str]],
    bench: FakeBench,
    invoke: Invoke,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if part == "proposer" and form.startswith("cascade"):
        pytest.skip("there are no such proposers")
    url, seen = listener
    monkeypatch.setenv("FORETELL_LM_KEY", "sk-secret")
    monkeypatch.setenv("PRIVATE_KEY", "sk-secret")
    run = run_with(invoke, bench)
    rewritten(run, **{part: form.format(url=url)})
    for arguments in (("search", "softmax", "--resume", run), ("tell", run, "--finish"), ("ask", run), ("report", run)):
        result = invoke(*arguments)
        assert "sk-secret" not in result.output
        if arguments[0] == "search":
            assert result.exit_code == 2 and "was not started here" in result.output
    assert seen == []


def test_a_received_run_is_resumed_with_models_that_the_user_names(
    listener: tuple[str, list[str]], bench: FakeBench, invoke: Invoke
) -> None:
    url, seen = listener
    run = run_with(invoke, bench)
    name = f"openai:m@{url}?timeout_s=1&requests_per_minute=1000000"
    rewritten(run, forecaster=name)
    result = invoke("search", "softmax", "--resume", run, "--forecaster", name)
    assert "was not started here" not in result.output
    assert seen, result.output


def test_ones_own_run_is_resumed_without_asking(bench: FakeBench, invoke: Invoke) -> None:
    run = run_with(invoke, bench)
    assert invoke("search", "softmax", "--resume", run).exit_code == 0


def _catalogued(invoke: Invoke) -> int:
    document = json.loads(invoke("catalogue", "list", "--json").output)
    return sum(group["rows"] for group in document["groups"])


def test_results_of_a_foreign_journal_never_enter_the_catalogue(
    bench: FakeBench, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.interrupt_at = 3
    invoke(*SEARCH, "--run", "run")
    assert _catalogued(invoke) > 0
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path / "another user"))
    bench.interrupt_at = 0
    invoke("search", "softmax", "--resume", "run")
    assert _catalogued(invoke) == 0


def test_ones_own_results_do_if_a_crash_left_them_out(bench: FakeBench, invoke: Invoke, tmp_path: Path) -> None:
    bench.interrupt_at = 3
    invoke(*SEARCH, "--run", "run")
    (tmp_path / "cache" / "catalogue.sqlite").unlink()
    bench.interrupt_at = 0
    invoke("search", "softmax", "--resume", "run")
    assert _catalogued(invoke) > 0


def test_a_changed_result_does_not(bench: FakeBench, invoke: Invoke, tmp_path: Path) -> None:
    bench.interrupt_at = 3
    invoke(*SEARCH, "--run", "run")
    (tmp_path / "cache" / "catalogue.sqlite").unlink()
    journal = Path("run/journal.jsonl")
    records = [decode(line) for line in journal.read_bytes().splitlines()]
    for record in records:
        if record["event"] == "measured":
            record["payload"]["measurement"] |= {"speedup": 99.0, "low": 98.0, "high": 100.0}
    journal.write_bytes(b"".join(encode(record) for record in records))
    bench.interrupt_at = 0
    invoke("search", "softmax", "--resume", "run")
    assert _catalogued(invoke) == 0


def test_a_candidate_under_the_id_of_another_text_is_not_resumed(bench: FakeBench, invoke: Invoke) -> None:
    run = run_with(invoke, bench)
    journal = run / "journal.jsonl"
    records = [decode(line) for line in journal.read_bytes().splitlines()]
    [first, *_] = [record for record in records if record["event"] == "round"]
    first["details"]["children"][0]["candidate"]["source"] += "\n// another"
    journal.write_bytes(b"".join(encode(record) for record in records))
    result = invoke("search", "softmax", "--resume", run)
    assert result.exit_code == 2 and "not its text's" in result.output
    assert invoke("report", run).exit_code == 0


def test_the_key_of_the_marks_is_for_its_owner_alone(bench: FakeBench, invoke: Invoke, tmp_path: Path) -> None:
    run_with(invoke, bench)
    path = tmp_path / "cache" / SECRET_NAME
    assert path.stat().st_mode & 0o777 == 0o600 and len(path.read_bytes()) == 32


@pytest.mark.parametrize(
    ("reader", "verb"),
    [
        ("load.event_from", ("search", "--resume")),
        ("load.event_from", ("ask",)),
        ("load.event_from", ("tell", "--finish")),
        ("journals.make_all", ("search", "--resume")),
        ("journals.make_all", ("tell", "--finish")),
    ],
)
def test_a_run_that_takes_far_too_long_to_read_is_not_taken_up(
    reader: str, verb: tuple[str, ...], bench: FakeBench, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a journal may hold: here reading it never ends, neither at first sight nor once it is open."""

    def endless(*_: object) -> None:
        while True:
            pass

    run = run_with(invoke, bench)
    before = (run / "journal.jsonl").read_bytes()
    monkeypatch.setattr(f"foretell.kernels.search.{reader}", endless)
    monkeypatch.setattr(received_limits, "SECONDS", 0.6)
    result = invoke(*verb, str(run))
    assert result.exit_code == 2, result.output
    assert "run takes more than 1 s" in " ".join(result.output.split())
    assert (run / "journal.jsonl").read_bytes() == before
