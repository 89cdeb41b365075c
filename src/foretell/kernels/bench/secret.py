"""Numbers that no candidate can foresee, whatever of them it has met: each from a keyed hash of its own name."""

from __future__ import annotations

import hashlib
import itertools

_KEY_BYTES, _NUMBER_BYTES = 32, 16


class Secret:
    """Numbers by name, from the entropy that a bench takes from the operating system. None tells of another."""

    def __init__(self, entropy: int) -> None:
        size = max(1, -(-entropy.bit_length() // 8))
        self._key = hashlib.blake2b(entropy.to_bytes(size, "big"), digest_size=_KEY_BYTES).digest()
        self._turns = itertools.count()

    def number(self, *name: object) -> int:
        """128 bits, the same for the same name."""
        text = repr(name).encode()
        return int.from_bytes(hashlib.blake2b(text, key=self._key, digest_size=_NUMBER_BYTES).digest(), "big")

    def next(self) -> int:
        """128 bits that were not drawn before."""
        return self.number("next", next(self._turns))
