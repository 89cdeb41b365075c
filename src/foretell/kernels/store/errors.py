"""What can go wrong with what is kept on disk, each with a sentence that says what to do."""

from __future__ import annotations

from pathlib import Path


class StoreError(Exception):
    """Something on disk cannot be read or written as it should; the message says what to do about it."""


class RunBusy(StoreError):
    """Another process is working on this run."""

    def __init__(self, run_dir: Path, holder: str) -> None:
        by = f" (process {holder})" if holder else ""
        super().__init__(f"another process{by} is working on the run in {run_dir}: wait for it, or stop it with Ctrl-C")


class JournalDamaged(StoreError):
    """A line in the middle of a journal is not what was written there; nothing was changed."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        self.line = line
        keep = (
            f"The {line - 1} lines before it are whole: to go on from there, keep a copy and cut the file back with "
            f"`head -n {line - 1}`. Otherwise start a new run in another directory."
            if line > 1
            else "Nothing before it can be saved: start a new run in another directory."
        )
        super().__init__(f"line {line} of {path} is damaged: {what}. {keep}")


class StorageFull(StoreError):
    """There is no room for the next line; everything written before it is safe."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"no room left to write to {path} ({reason}): everything written so far is safe; "
            "free some space, then resume"
        )


class StorageFailed(StoreError):
    """The system refused to read or write for another reason than lack of room."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot write to {path} ({reason}): what was written so far is kept; check the disk, then resume"
        )


class CatalogueDamaged(StoreError):
    """The catalogue's file is not a database that this version can read; nothing in it was changed."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"the catalogue {path} cannot be read ({reason}): move it away, or choose another; runs keep their own "
            "results in their journals, and `foretell search TASK --resume RUN` puts them into a new catalogue"
        )


class CatalogueBusy(StoreError):
    """Another process has held the catalogue for too long."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(
            f"the catalogue {path} was in use by another process for more than {seconds:.0f} s: "
            "wait for that process or stop it, then run the same command again"
        )


class NoRun(StoreError):
    """The directory holds no run."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir} holds no run (no journal.jsonl with at least one whole line): check the path")


class RunExists(StoreError):
    """The directory already holds a run."""

    def __init__(self, run_dir: Path) -> None:
        super().__init__(f"{run_dir} already holds a run: resume it, or choose another directory")


class OtherRun(StoreError):
    """The directory holds a run with another task, device or configuration."""

    def __init__(self, run_dir: Path, differences: list[str]) -> None:
        super().__init__(
            f"the run in {run_dir} is another one ({'; '.join(differences)}): "
            "resume it with its own settings, or choose another directory"
        )
