"""Why a proposal could not be read: a typed error whose sentence never quotes what was to be typed."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """The ways in which a call can be unreadable. `UNSUPPORTED` alone is no fault of the agent's."""

    UNREADABLE = "unreadable"  # no call, or one that is not well formed
    UNKNOWN_KIND = "unknown kind"
    MISSING = "missing"  # a field that the kind needs
    WRONG_TYPE = "wrong type"
    SEVERAL = "several"  # more calls than the caller allows
    AMBIGUOUS = "ambiguous"  # coordinates whose scale cannot be told
    UNSUPPORTED = "unsupported"  # sound, but there is no action value for it


class BadProposal(ValueError):
    """Says what was wrong and what was expected; `reason` is for programs, the sentence for people."""

    def __init__(self, reason: Reason, found: str, expected: str = "") -> None:
        self.reason = reason
        self.found = found
        self.expected = expected
        super().__init__(f"{reason}: {found}" + (f"; expected {expected}" if expected else ""))
