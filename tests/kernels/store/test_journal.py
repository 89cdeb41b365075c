"""The journal: what is written stays, what was torn is cut off, what was changed is refused; one process at a time."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.store import (
    Journal,
    JournalDamaged,
    NoRun,
    RunBusy,
    StorageFailed,
    StorageFull,
    read_journal,
)
from foretell.kernels.store import lines as store_lines
from foretell.kernels.store.journal import Content, Entry

FORK = multiprocessing.get_context("fork")


def write(run_dir: Path, count: int) -> bytes:
    with Journal.open(run_dir, clock=lambda: 1.5) as journal:
        for i in range(count):
            journal.append("tick", {"i": i, "text": "größer\n"})
    return (run_dir / "journal.jsonl").read_bytes()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(record=st.dictionaries(st.text(min_size=1).filter(lambda key: key != "crc"), json_values, max_size=5))
def test_lines_come_back_as_they_were(record: dict[str, Any]) -> None:
    line = store_lines.encode({"first": 0, **record})
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert store_lines.is_whole(line[:-1])
    assert store_lines.decode(line[:-1]) == {"first": 0, **record}
    assert json.loads(line)["crc"]


@given(
    payload=st.dictionaries(st.sampled_from(["details", "a"]) | st.text(), json_values, max_size=4),
    details=st.none() | st.dictionaries(st.text(), json_values, max_size=4),
)
def test_details_come_back_apart(payload: dict[str, Any], details: dict[str, Any] | None) -> None:
    with TemporaryDirectory() as folder, Journal.open(Path(folder), fsync=False) as journal:
        journal.append("tick", payload, details)
        [entry] = read_journal(Path(folder)).entries
    assert entry.payload == payload
    assert (entry.details.read(dict) if entry.details else None) == details


def test_details_are_parsed_when_read(tmp_path: Path) -> None:
    body = b'{"n":0,"t":1,"event":"tick","payload":{},"details":{"open":[}'
    (tmp_path / "journal.jsonl").write_bytes(b'%b,"crc":"%08x"}\n' % (body, zlib.crc32(body)))
    [entry] = read_journal(tmp_path).entries
    assert entry.details is not None
    for _ in range(2):
        with pytest.raises(JournalDamaged, match=r"line 1 of .*journal.jsonl is damaged"):
            entry.details.read(dict)


@given(data=st.data(), text=st.text(max_size=20))
def test_a_changed_or_shortened_line_is_not_whole(data: st.DataObject, text: str) -> None:
    line = store_lines.encode({"n": 1, "text": text})[:-1]
    cut = data.draw(st.integers(0, len(line) - 1))
    assert not store_lines.is_whole(line[:cut])
    flipped = bytearray(line)
    flipped[cut] ^= 1 << data.draw(st.integers(0, 7))
    assert not store_lines.is_whole(bytes(flipped))


def test_numbers_that_json_cannot_say_are_refused() -> None:
    with pytest.raises(ValueError, match="'measured' holds a number that is not finite"):
        store_lines.encode({"event": "measured", "payload": {"x": float("nan")}})


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    write(tmp_path, 3)
    with Journal.open(tmp_path) as journal:
        assert [entry.n for entry in journal.entries] == [0, 1, 2]
        assert journal.entries[2] == Entry(2, 1.5, "tick", {"i": 2, "text": "größer\n"})
        assert journal.torn is None
        assert journal.append("tock", {"t": (1, 2)}).payload == {"t": [1, 2]}
    assert len(read_journal(tmp_path).entries) == 4


def test_an_empty_directory_is_a_new_run(tmp_path: Path) -> None:
    with pytest.raises(NoRun, match="holds no run"):
        read_journal(tmp_path / "new")
    with Journal.open(tmp_path / "new") as journal:
        assert journal.entries == []
    with pytest.raises(NoRun):
        read_journal(tmp_path / "new")


def test_a_line_torn_at_any_byte_is_cut_off_and_told(tmp_path: Path) -> None:
    data = write(tmp_path, 3)
    path = tmp_path / "journal.jsonl"
    start = data[:-1].rindex(b"\n") + 1
    for size in range(start + 1, len(data) - 1):
        path.write_bytes(data[:size])
        assert read_journal(tmp_path).torn is not None
        assert path.read_bytes() == data[:size], "reading must change nothing"
        with Journal.open(tmp_path, clock=lambda: 1.5, fsync=False) as journal:
            assert journal.torn is not None
            assert (journal.torn.line, journal.torn.lost_bytes) == (3, size - start)
            assert "cut short by a crash" in str(journal.torn)
            journal.append("tick", {"i": 2, "text": "größer\n"})
        assert path.read_bytes() == data


def test_a_last_line_that_lacks_only_its_newline_is_kept(tmp_path: Path) -> None:
    data = write(tmp_path, 3)
    (tmp_path / "journal.jsonl").write_bytes(data[:-1])
    with Journal.open(tmp_path) as journal:
        assert journal.torn is None
        assert len(journal.entries) == 3
    assert (tmp_path / "journal.jsonl").read_bytes() == data


def test_a_last_line_of_zeros_counts_as_torn(tmp_path: Path) -> None:
    """What a power cut can leave: the size was written, the text was not."""
    data = write(tmp_path, 2)
    (tmp_path / "journal.jsonl").write_bytes(data + b"\0" * 500)
    with Journal.open(tmp_path) as journal:
        assert journal.torn is not None
        assert len(journal.entries) == 2


def test_a_bad_line_in_the_middle_is_refused_with_its_number(tmp_path: Path) -> None:
    lines = write(tmp_path, 4).splitlines(keepends=True)
    path = tmp_path / "journal.jsonl"
    changed = b"".join([lines[0], lines[1].replace(b'"i":1', b'"i":7'), *lines[2:]])
    path.write_bytes(changed)
    for attempt in (lambda: read_journal(tmp_path), lambda: Journal.open(tmp_path)):
        with pytest.raises(JournalDamaged, match=r"line 2 of .* is damaged: its checksum.*`head -n 1`") as caught:
            attempt()
        assert caught.value.line == 2
    assert path.read_bytes() == changed, "a damaged journal is left as it is"
    path.write_bytes(b"".join([b"nonsense\n", *lines[1:]]))
    with pytest.raises(JournalDamaged, match=r"line 1 of .*start a new run in another directory"):
        Journal.open(tmp_path)


@pytest.mark.parametrize("order", [[0, 2, 3], [0, 2, 1, 3], [0, 1, 1, 2], [1, 2, 3]])
def test_a_wrong_sequence_is_refused_even_at_the_end(order: list[int], tmp_path: Path) -> None:
    lines = write(tmp_path, 4).splitlines(keepends=True)
    (tmp_path / "journal.jsonl").write_bytes(b"".join(lines[i] for i in order))
    wrong = next(i for i, n in enumerate(order) if i != n)
    with pytest.raises(JournalDamaged, match=f"sequence number {order[wrong]} where {wrong} was") as caught:
        Journal.open(tmp_path)
    assert caught.value.line == wrong + 1


def test_another_kind_of_line_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with (tmp_path / "journal.jsonl").open("ab") as file:
        file.write(store_lines.encode({"n": 1, "what": "a letter"}))
    with pytest.raises(JournalDamaged, match=r"line 2 .*not those of a journal"):
        Journal.open(tmp_path)


def test_a_run_that_was_refused_is_not_left_locked(tmp_path: Path) -> None:
    good = write(tmp_path, 3)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x\n" + good)
    with pytest.raises(JournalDamaged):
        Journal.open(tmp_path)
    path.write_bytes(good)
    Journal.open(tmp_path).close()


class SmallDisk:
    """A file on a disk with `room` bytes left; what does not fit is written in part, as the system does it."""

    def __init__(self, room: int, code: int, can_truncate: bool = True) -> None:
        self.data = b""
        self._room = room
        self._code = code
        self._can_truncate = can_truncate

    def write(self, data: bytes) -> int:
        fits = data[: self._room - len(self.data)]
        if not fits:
            raise OSError(self._code, os.strerror(self._code))
        self.data += fits
        return len(fits)

    def truncate(self, size: int) -> int:
        if not self._can_truncate:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.data = self.data[:size]
        return size

    def fileno(self) -> int:
        raise AssertionError("not a real file")

    def close(self) -> None:
        pass


def open_on(disk: SmallDisk) -> Journal:
    return Journal(disk, Path("somewhere/journal.jsonl"), Content([], 0), lambda: 0.0, fsync=False)


@pytest.mark.parametrize("room", [0, 1, 30, 70, 100, 150])
def test_a_full_disk_loses_nothing_that_was_written(room: int) -> None:
    disk = SmallDisk(room, errno.ENOSPC)
    journal = open_on(disk)
    written = 0
    with pytest.raises(StorageFull, match=r"No space left on device.*everything written so far is safe.*then resume"):
        while True:
            journal.append("tick", {"i": written})
            written += 1
    assert disk.data.count(b"\n") == written
    assert disk.data == b"" or disk.data.endswith(b"\n")
    with pytest.raises(StorageFull):
        journal.append("tick", {"i": written})


def test_other_refusals_are_told_apart_and_a_torn_line_that_stays_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="Input/output error"):
        open_on(SmallDisk(20, errno.EIO)).append("tick", {})
    disk = SmallDisk(20, errno.ENOSPC, can_truncate=False)
    journal = open_on(disk)
    with pytest.raises(StorageFull, match="cutting the torn line off again also failed"):
        journal.append("tick", {})
    with pytest.raises(StorageFull):
        journal.append("tick", {})
    assert len(disk.data) == 20, "nothing may be written behind a torn line"


def test_two_processes_cannot_have_one_run(tmp_path: Path) -> None:
    ready, done = FORK.Event(), FORK.Event()

    def hold() -> None:
        with Journal.open(tmp_path) as journal:
            journal.append("tick", {})
            ready.set()
            done.wait(30)

    child = FORK.Process(target=hold)
    child.start()
    assert ready.wait(30)
    with pytest.raises(RunBusy, match=f"process {child.pid}.*wait for it"):
        Journal.open(tmp_path)
    assert len(read_journal(tmp_path).entries) == 1
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    with Journal.open(tmp_path) as journal:
        assert len(journal.entries) == 1
        with pytest.raises(RunBusy):
            Journal.open(tmp_path)


def test_ctrl_c_waits_until_the_line_is_written() -> None:
    disk = SmallDisk(10**6, errno.ENOSPC)
    write_once = disk.write

    def interrupted_write(data: bytes) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        return write_once(data)

    disk.write = interrupted_write  # type: ignore[method-assign]
    journal = open_on(disk)
    with pytest.raises(KeyboardInterrupt):
        journal.append("tick", {})
    assert disk.data.count(b"\n") == 1
    disk.write = write_once  # type: ignore[method-assign]
    assert journal.append("tick", {}).n == 1
