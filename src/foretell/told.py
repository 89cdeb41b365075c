"""Candidates that are told to a run in files: programs, or patches of the program that they were made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foretell.errors import BadInput, command_line
from foretell.received import name_as_text

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.search import RunState
    from foretell.kernels.task import Task

_ENDINGS = {"cpp": (".cpp", ".cc", ".cxx")}
_PATCHES = (".diff", ".patch")


def file_candidate(path: Path, task: Task, language: str, parent: Candidate, author: str) -> Candidate:
    """The candidate in a file, a program or a patch of the parent. Raises BadInput if it cannot be one of the run."""
    from foretell.inputs import read_text
    from foretell.kernels.candidate import Candidate, Origin
    from foretell.kernels.languages.python_source import language_in_run

    more = () if language == "cpp" else ("--kind", "gpu")
    hint = "" if task.files else command_line("tasks", task.name, *more, "--reference")
    text = read_text(path, f"a program in {language}", hint)
    if path.suffix.lower() in _PATCHES:
        text = _patched(path, text, parent, language_in_run(parent.source, language, task))
    else:
        _check_language(path, text, language, language_in_run(text, language, task))
    person = author == "person"
    by = {} if person else {"by": "language model"}
    origin = Origin("person" if person else "model", by | {"file": name_as_text(path.name)})
    return Candidate(task.key, language_in_run(text, language, task), text, origin, (parent.id,))


def _patched(path: Path, patch: str, parent: Candidate, language: str) -> str:
    from foretell.kernels.propose.patch import Unapplied, apply_patch

    start = f"the program it was made from ({parent.id})"
    if parent.language != language:
        raise BadInput(f"{path} is a patch of {start}, which is {parent.language}", f"a whole program in {language}")
    text = apply_patch(parent.source, patch)
    if isinstance(text, Unapplied):
        what = f"{path} cannot be applied to {start}: {text.message}"
        raise BadInput(what, "a unified diff that fits exactly", "tell the whole program, or give --parent")
    return text


def _check_language(path: Path, text: str, language: str, accepted: str) -> None:
    from foretell.kernels.languages.python_source import language_of

    endings = _ENDINGS.get(language, (".py",))
    expected = f"a {language} program in a file ending in {' '.join(endings)} (or a patch in {' '.join(_PATCHES)})"
    if path.suffix.lower() not in endings:
        raise BadInput(f"{path} is not {language} by its ending, and the run is of {language}", expected)
    if language != "cpp" and language_of(text) != accepted:
        raise BadInput(f"{path} is {language_of(text)} by its text, and the run is of {language}", expected)


def spent_words(state: RunState) -> str:
    """What was spent of each budget, in words."""
    from foretell.report.numbers import seconds

    limits = state.config["budgets"]
    beside = state.charged < state.measured
    reused = f" ({state.reused} {'more ' if beside else ''}reused from earlier runs)" if state.reused else ""
    return (
        f"{state.charged} of {limits['measurements']} measurements{reused}, {seconds(state.device_s)} of "
        f"{seconds(limits['seconds'])} of device time, {state.considered} of {limits['candidates']} candidates"
    )
