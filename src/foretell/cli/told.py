"""What `foretell ask` and `foretell tell` share: the run's task, its device, and what is left of its budgets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foretell.cli.errors import BadInput
from foretell.cli.output import command_line

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.search import RunState
    from foretell.kernels.task import Task


def named_task(run_dir: Path, named: str) -> Task:
    """The task of a run, if the user's word for it is right; BadInput if it is another one's."""
    from foretell.inputs import load_task
    from foretell.kernels.search import load_run
    from foretell.kernels.tasks import is_path, of_run

    state = load_run(run_dir)
    task, kind = of_run(state.config, state.device.kind), state.device.kind
    same = load_task(named, kind).identity == task.identity if is_path(named) else named == state.config["task"]
    if same:
        return task
    raise BadInput(
        f"the run in {run_dir} is of the task {state.config['task']}, not {named}",
        f"a run of {named}",
        f"{command_line('ask', run_dir)}, or start another run",
    )


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


def budget(state: RunState) -> dict[str, dict[str, float]]:
    """What was spent of each budget, and its limit."""
    used = {"measurements": state.charged, "seconds": state.device_s, "candidates": state.considered}
    limits = state.config["budgets"]
    return {name: {"spent": used[name], "limit": limits[name]} for name in used}
