"""A claim: candidates reserved in the catalogue for as long as one process measures them."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from types import TracebackType

from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.store.catalogue import Catalogue
from foretell.kernels.task import Task

RESERVATION_S = 300.0  # renewed while the claim is worked on; a process that is gone loses its reservations at once


class Claim:
    """Those of some candidates that no other process has reserved, given up when the block ends.

    Without a catalogue nothing is shared, and the claim is all of them.
    """

    def __init__(
        self, catalogue: Catalogue | None, task: Task, candidates: Sequence[Candidate], device: Device
    ) -> None:
        self._catalogue, self._task, self._device = catalogue, task, device
        self.candidates = self._reserve(candidates)
        self._reserved_at_s = time.monotonic()

    @property
    def ids(self) -> set[str]:
        return {candidate.id for candidate in self.candidates}

    def renew(self, ids: Collection[str]) -> None:
        """Keep the candidates with these ids reserved; cheap enough to call after every measurement."""
        if time.monotonic() - self._reserved_at_s > RESERVATION_S / 2:
            self._reserve([candidate for candidate in self.candidates if candidate.id in ids])
            self._reserved_at_s = time.monotonic()

    def _reserve(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        if self._catalogue is None or not candidates:
            return list(candidates)
        return self._catalogue.reserve(self._task, candidates, self._device, RESERVATION_S)

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._catalogue is not None:
            self._catalogue.release(self._task, self.candidates, self._device)
