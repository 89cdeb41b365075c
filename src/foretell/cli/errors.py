"""What can go wrong on the command line, in one place: what was wrong, what was expected, what to do.

Exit codes: 0 all is well, 1 the thing ran but did not succeed, 2 bad input or surroundings, 70 an error of Foretell's
own, 130 interrupted.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ParamSpec

import typer

from foretell import errors
from foretell.errors import BadInput

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERNAL",
    "INTERRUPTED",
    "BadInput",
    "Problem",
    "explain",
    "plainly",
    "show_problem",
]

FAILED, BAD_INPUT, INTERNAL, INTERRUPTED = 1, 2, 70, 130
TRACEBACK = "FORETELL_TRACEBACK"  # set: an error that nobody foresaw is raised instead of being summarised
_MESSAGE_CHARACTERS = 300
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

P = ParamSpec("P")


@dataclass(frozen=True)
class Problem:
    """One sentence each: what was wrong, what was expected instead, what to do about it."""

    what: str
    expected: str = ""
    do: str = ""
    code: int = BAD_INPUT

    def __str__(self) -> str:
        from foretell.cli.output import line

        lines = [f"error: {line(self.what)}"]
        if self.expected:
            lines.append(f"  expected: {line(self.expected)}")
        if self.do:
            lines.append(f"  do:       {line(self.do)}")
        return "\n".join(lines)


def explain(error: BaseException) -> Problem | None:
    """The problem behind a known exception; None for one that is a fault of ours."""
    if isinstance(error, BadInput):
        return Problem(error.what, error.expected, error.do)
    if isinstance(error, ModuleNotFoundError):
        from foretell.extras import missing

        absent = missing(error)
        return None if absent is None else Problem(absent.what, absent.expected, absent.do)
    from foretell.kernels.languages.cpp import NoCompiler
    from foretell.kernels.propose.lm import NoAnswer
    from foretell.kernels.sandbox import NoSandbox
    from foretell.kernels.search import BenchBroken
    from foretell.kernels.store import StoreError
    from foretell.lm.adapter import WrongBase
    from foretell.lm.local import CannotLoad
    from foretell.received import BadFile, NotPlain

    match error:
        case NoSandbox():
            return Problem(error.what, error.expected, error.do)
        case NotPlain():
            return Problem(
                str(error), "a plain file", "look at what it is; copy the file itself there if you want it used"
            )
        case BadFile():
            return Problem(str(error), "a file as Foretell writes it", "ask whoever sent it for a whole one")
        case NoCompiler():
            return Problem(str(error), "a C++ compiler on the PATH", "install one, then foretell doctor")
        case WrongBase():
            return Problem(
                str(error), "the weights that the adapter was trained on", "name them: local:ADAPTER?base=PATH"
            )
        case CannotLoad():
            return Problem(str(error), "weights that transformers can read", "name another model, or mend its files")
        case StoreError():
            return _stored(error)
        case BenchBroken():
            return Problem(str(error), "a bench that judges what it is given", "foretell doctor", FAILED)
        case NoAnswer():
            return Problem(str(error), "a model that answers", "see to it, then resume; nothing is lost", FAILED)
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return Problem(
                "this takes more memory than there is",
                "data that fits beside what else is running",
                "use smaller sizes (--size), or close other programs",
            )
        case OSError() if error.errno in _NO_ROOM:
            return Problem(
                f"no room left on the disk{_where(error)}",
                "some free space for built objects, the journal and the report",
                "free some space and run the same command again; everything written before is kept",
            )
        case OSError() if _is_of_cache(error):
            return Problem(
                f"the cache folder cannot be used: {error.strerror}{_where(error)}",
                "a folder in which this user may keep built objects and measurements",
                "set FORETELL_CACHE to such a folder",
            )
        case PermissionError():
            return Problem(
                f"permission denied{_where(error)}",
                "a place this user may read and write",
                "choose another path, or change its permissions",
            )
        case OSError():
            return Problem(f"{error.strerror or error}{_where(error)}")
        case _:
            return None


def _is_of_cache(error: OSError) -> bool:
    """Whether the cache folder, something in it or a folder above it could not be read or written."""
    from foretell.kernels.store.locations import cache_path

    if not isinstance(error.filename, str):
        return False
    place, cache = Path(error.filename).absolute(), cache_path().absolute()
    return place.is_relative_to(cache) or cache.is_relative_to(place)


def _where(error: OSError) -> str:
    return f": {error.filename}" if error.filename else ""


def _stored(error: Exception) -> Problem:
    """A store's message ends in what to do, after its last colon or first full stop: a line of its own for that."""
    from foretell.kernels import store

    expected = {
        store.RunBusy: "a run that no other process is working on",
        store.JournalDamaged: "a journal as Foretell wrote it",
        store.CatalogueDamaged: "a catalogue as this version of Foretell writes it",
        store.CatalogueBusy: "a catalogue that no other process keeps locked",
        store.StorageFull: "room for the next line",
        store.StorageFailed: "a disk that takes what is written",
        store.NoRun: "the directory of a run",
        store.RunExists: "a directory without a run",
        store.OtherRun: "the run's own task, device and settings",
    }.get(type(error), "")
    text = str(error)
    if isinstance(error, store.JournalDamaged):
        what, do = re.split(r"\. (?=The \d|Nothing )", text, maxsplit=1)
        return Problem(what, expected, do)
    what, colon, do = text.rpartition(": ")
    return Problem(what, expected, do) if colon else Problem(text, expected)


def plainly(verb: Callable[P, None]) -> Callable[P, None]:
    """Run a verb so that errors end in a message and an exit code rather than in a traceback.

    One that nobody foresaw does too, unless FORETELL_TRACEBACK is set: then it is raised. With `--json` the problem
    is also the one document on standard output.
    """

    @functools.wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        errors.on_note = _note
        try:
            verb(*args, **kwargs)
        except KeyboardInterrupt:
            show_problem(Problem("interrupted"), as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, BrokenPipeError, *errors.CONTROL):
            raise
        except BaseException as error:  # a panic of a library is no Exception
            problem = explain(error)
            if problem is None and os.environ.get(TRACEBACK):
                raise
            problem = problem or _unforeseen(error)
            show_problem(problem, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(problem.code) from None

    return run


def _unforeseen(error: BaseException) -> Problem:
    """An error of Foretell's own, on one line of bounded length, whatever a file put into its message."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # a message may be as broken as what it tells of
        message = ""
    summary = ": ".join(filter(None, (type(error).__name__, message[:_MESSAGE_CHARACTERS])))
    return Problem(
        f"internal error: {summary}",
        "none, whatever was given; nothing that was written before is lost",
        f"run it again with {TRACEBACK}=1 and report what that shows",
        INTERNAL,
    )


def _note(text: str) -> None:
    from foretell.cli.output import line, progress_console

    progress_console().print(f"note: {line(text)}", soft_wrap=True)


def show_problem(problem: Problem, as_json: bool) -> None:
    """Print a problem on standard error and, if `as_json`, as the one document on standard output."""
    from foretell.cli.output import shown

    if as_json:
        document: dict[str, Any] = {"error": asdict(problem)}
        print(json.dumps(document))
    print(shown(str(problem)), file=sys.stderr)
