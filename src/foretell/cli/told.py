"""What `foretell ask` and `foretell tell` share: the run, its bench, the program to start from and what is left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.cli.errors import BadInput
from foretell.cli.output import command_line
from foretell.received import read_plain, write_plain

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.search import RunState, StopReason
    from foretell.kernels.task import Task

ASKED_NAME = "asked.json"
_ASKED_BYTES = 4096


def task_of(state: RunState) -> Task:
    """The task of a run, at the sizes of its device."""
    from foretell.kernels.tasks import of_run

    return of_run(state.config, state.device.kind)


def check_device(wanted: str | None, device: Device) -> None:
    """BadInput where the user names another device than the one that would measure."""
    if wanted is None or wanted.lower() == device.kind:
        return
    from foretell.kernels.devices import UnknownDevice, described

    try:
        name = described(wanted).name
    except UnknownDevice:
        name = wanted
    if name.lower() not in device.name.lower():
        raise BadInput(
            f"this run measures on {device.name}, not on {wanted}",
            "the device at hand: cpu, gpu or its name",
            "leave --device out; for a device that is not here: "
            + command_line("forecast", "TASK", "FILE", "--device", wanted),
        )


def check_open(state: RunState, run_dir: Path) -> None:
    """BadInput where a run takes no more candidates: it is finished, or a budget is spent."""
    if is_over(state):
        task, language = state.config["task"], state.config["language"]
        raise BadInput(
            f"the run in {run_dir} is finished",
            "a run that is still open",
            f"foretell ask ANOTHER_RUN --task {task} --language {language}, or {command_line('report', run_dir)}",
        )
    reason = spent(state)
    if reason is not None:
        raise BadInput(
            f"{reason.sentence} ({left(state)})",
            "a run with some budget left",
            f"{command_line('tell', run_dir, '--finish')} measures the winners again and ends the run",
        )


def is_over(state: RunState) -> bool:
    from foretell.kernels.search import StopReason

    return state.finished is not None and state.finished.reason is not StopReason.INTERRUPTED


def spent(state: RunState) -> StopReason | None:
    """Which budget of a run is used up, if any is."""
    from foretell.kernels.search import StopReason

    for reason in (StopReason.MEASUREMENTS, StopReason.SECONDS, StopReason.CANDIDATES):
        one = budget(state)[reason.value]
        if one["spent"] >= one["limit"]:
            return reason
    return None


def budget(state: RunState) -> dict[str, dict[str, float]]:
    """What was spent of each budget, and its limit."""
    used = {"measurements": state.measured, "seconds": state.device_s, "candidates": state.considered}
    limits = state.config["budgets"]
    return {name: {"spent": used[name], "limit": limits[name]} for name in used}


def left(state: RunState) -> str:
    """What was spent, in words."""
    from foretell.report.numbers import seconds

    limits = state.config["budgets"]
    return (
        f"{state.measured} of {limits['measurements']} measurements, {seconds(state.device_s)} of "
        f"{seconds(limits['seconds'])} of device time, {state.considered} of {limits['candidates']} candidates"
    )


def candidate_of(state: RunState, node_id: str) -> Candidate:
    """A program of the run by its id, the reference among them."""
    return state.reference if node_id == state.reference.id else state.nodes[node_id].candidate


def parent_named(state: RunState, given: str) -> str:
    """The id that begins as given, or that of the reference; BadInput where none or several do."""
    if given == "reference":
        return state.reference.id
    found = [known for known in (state.reference.id, *state.nodes) if given and known.startswith(given)]
    if len(found) == 1:
        return found[0]
    near = ", ".join(node.id for node in state.ranking()[:3]) or "reference"
    what = f"{len(found)} candidates begin with {given!r}" if found else f"the run has no candidate {given!r}"
    raise BadInput(what, "the id of a candidate of the run, or its beginning, or reference", f"for example {near}")


def next_parent(state: RunState) -> str:
    """The program that the run's strategy would expand next; the same until something is told."""
    import numpy as np

    from foretell.kernels.search import SearchConfig, make_strategy

    config = SearchConfig.from_resolved(state.config)
    rng = np.random.default_rng([config.seed, state.rounds])
    try:
        strategy = make_strategy(str(state.config["strategy"]), config.profile)
    except ValueError as error:
        raise BadInput(f"the run's configuration is odd: {error}", "a strategy that this version knows") from error
    return strategy.select(state.archive, 1, rng)[0]


def remember_asked(run_dir: Path, parent: str) -> None:
    """Keep what was asked for last; losing it costs nothing but the parent's name."""
    write_plain(run_dir / ASKED_NAME, json.dumps({"parent": parent}).encode() + b"\n")


def asked_parent(run_dir: Path, state: RunState) -> str:
    """What was asked for last, where that is known; else what would be asked for next."""
    try:
        kept: Any = json.loads(read_plain(run_dir / ASKED_NAME, _ASKED_BYTES))
        parent = kept["parent"]
    except (OSError, ValueError, LookupError, TypeError):
        parent = None
    return parent if isinstance(parent, str) and parent in state.known else next_parent(state)
