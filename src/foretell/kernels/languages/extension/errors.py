"""Why an extension could not be built or loaded."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Exhaustive."""

    NO_COMPILER = "no_compiler"  # nvcc, a C++ compiler or Python's headers are missing here
    DOES_NOT_COMPILE = "does_not_compile"  # against the headers of this package; torch's own may have more
    TOO_SLOW = "too_slow"  # the compiler used up its time
    INVALID = "invalid"  # torch's own builder refuses it as well
    UNSUPPORTED = "unsupported"  # it asks for something that this package does not offer
    NO_ENTRY = "no_entry"  # bare CUDA source without a host function that returns a tensor
    DOES_NOT_LOAD = "does_not_load"  # it was built, and Python cannot import it


class NotRecordable(RuntimeError):
    """The extension does something that no recording can hold."""


class ExtensionError(RuntimeError):
    """An extension cannot be had; `reason` says why, `log` is what the compiler wrote."""

    def __init__(self, reason: Reason, message: str, log: str = "") -> None:
        super().__init__(f"{message}\n{log}" if log else message)
        self.reason, self.log = reason, log
