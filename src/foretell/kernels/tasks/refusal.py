"""Why a source is refused as a task: a closed list of reasons, each with what to do about it."""

from __future__ import annotations

from enum import StrEnum

from foretell.errors import BadInput


class Refusal(StrEnum):
    """What is wrong with a source."""

    NOT_FOUND = "not found"
    NOT_READABLE = "not readable"
    NOT_A_TASK = "not a task"
    NO_INPUTS = "no inputs"
    NO_WORKLOADS = "no workloads"
    MISSING_PACKAGE = "missing package"
    DOES_NOT_IMPORT = "does not import"
    DOES_NOT_RUN = "does not run"
    ODD_INPUTS = "odd inputs"
    ODD_OUTPUTS = "odd outputs"
    CHANGES_INPUTS = "changes its inputs"
    NONDETERMINISTIC = "nondeterministic"
    TOO_LARGE = "too large"
    NOT_RUNNABLE = "not runnable"


class BadTask(BadInput):
    """A source that cannot be a task, and why."""

    def __init__(self, reason: Refusal, what: str, expected: str = "", do: str = "") -> None:
        super().__init__(what, expected, do)
        self.reason = reason

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do about it if that is known."""
        return f"{self.what}; {self.do}" if self.do else self.what

    def __reduce__(self) -> tuple[type[BadTask], tuple[Refusal, str, str, str]]:
        return BadTask, (self.reason, self.what, self.expected, self.do)
