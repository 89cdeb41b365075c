"""Reservations: exclusive among processes, renewed, released, and void once expired or abandoned."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

from foretell.kernels.bench.fake import FAKE_DEVICE
from foretell.kernels.store import Catalogue
from tests.kernels.store.test_catalogue import BUILD, TASK, candidate, outcome

FORK = multiprocessing.get_context("fork")
ALL = [candidate(i) for i in range(4)]


def test_what_one_has_reserved_another_does_not_get(tmp_path: Path) -> None:
    first, second = (Catalogue(tmp_path / "c.sqlite", fsync=False) for _ in range(2))
    assert first.reserve(TASK, ALL[:2], FAKE_DEVICE, 60) == ALL[:2]
    assert second.reserve(TASK, ALL, FAKE_DEVICE, 60) == ALL[2:]
    assert first.reserve(TASK, ALL, FAKE_DEVICE, 60) == ALL[:2], "its own are renewed"
    first.release(TASK, ALL, FAKE_DEVICE)
    assert second.reserve(TASK, ALL, FAKE_DEVICE, 60) == ALL


def test_a_result_ends_the_reservation(tmp_path: Path) -> None:
    first, second = (Catalogue(tmp_path / "c.sqlite", fsync=False) for _ in range(2))
    assert first.reserve(TASK, ALL[:1], FAKE_DEVICE, 60)
    first.put(TASK, ALL[0], BUILD, FAKE_DEVICE, outcome(2.0))
    assert second.reserve(TASK, ALL[:1], FAKE_DEVICE, 60) == ALL[:1]


def test_a_reservation_expires(tmp_path: Path) -> None:
    now = 0.0
    first, second = (Catalogue(tmp_path / "c.sqlite", clock=lambda: now, fsync=False) for _ in range(2))
    assert first.reserve(TASK, ALL[:1], FAKE_DEVICE, 60)
    now = 59.0
    assert second.reserve(TASK, ALL[:1], FAKE_DEVICE, 60) == []
    now = 61.0
    assert second.reserve(TASK, ALL[:1], FAKE_DEVICE, 60) == ALL[:1]


def test_a_process_that_died_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"

    def reserve_and_die() -> None:
        assert Catalogue(path, fsync=False).reserve(TASK, ALL, FAKE_DEVICE, 3600)
        os._exit(9)

    child = FORK.Process(target=reserve_and_die)
    child.start()
    child.join()
    assert child.exitcode == 9
    assert Catalogue(path, fsync=False).reserve(TASK, ALL, FAKE_DEVICE, 60) == ALL
