"""`foretell calibrate`: measure this machine's GPU, and write a description of it that forecasts can be made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretell.cli.errors import BadInput, plainly
from foretell.cli.output import AsJson, command_line, document, marked, people, progress_console

if TYPE_CHECKING:
    from foretell.kernels.cost.calibration import Calibration
    from foretell.kernels.device import Device
    from foretell.kernels.program import LibraryCall

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the description here.")]
MOST_SECONDS = 86_400.0
Seconds = Annotated[
    float, typer.Option(metavar="S", min=1.0, max=MOST_SECONDS, help="Measure no further call after that time.")
]


@plainly
def calibrate(output: Output = Path("gpu.json"), seconds: Seconds = 300.0, as_json: AsJson = False) -> None:
    """Time about 100 library calls on this machine's GPU, and write its own rates instead of its data sheet's.

    Forecasts for it are then made with --device FILE.json, here or on a machine without a GPU.
    """
    from foretell import extras
    from foretell.kernels.bench.gpu.device import NoGpu
    from foretell.kernels.cost.calibration import calibrated

    extras.check("gpu", "torch")
    try:
        device = _device_at_hand()
    except NoGpu as error:
        raise BadInput(str(error), "a machine with a CUDA GPU", "run it there; the file holds anywhere") from error
    measured = _measured(seconds)
    found = calibrated(device, measured)
    output.write_text(json.dumps(found.device.to_dict(), indent=2) + "\n")
    if as_json:
        document(_document(found, output) | {"times_us": [[call.operator, us] for call, us in measured]})
    else:
        _show(found, output)


def _device_at_hand() -> Device:
    """The data sheet's description of this machine's GPU; what torch tells of one without."""
    import torch

    from foretell.kernels.bench.gpu.device import NoGpu, detect_gpu
    from foretell.kernels.devices import UnknownDevice, described

    if not torch.cuda.is_available():
        raise NoGpu("torch sees no CUDA GPU on this machine")
    try:
        return described(torch.cuda.get_device_name())
    except UnknownDevice:
        return detect_gpu()


def _measured(seconds: float) -> list[tuple[LibraryCall, float]]:
    """Calls with their device times; one that this GPU or torch cannot do is left out."""
    import time

    from foretell.kernels.bench.gpu.stopwatch import Stopwatch
    from foretell.kernels.cost.calibration import calibration_calls
    from foretell.kernels.cost.plain_calls import as_call

    watch, deadline = Stopwatch(), time.monotonic() + seconds
    found, todo = [], list(calibration_calls())
    with progress_console().status("measuring") as status:
        for number, (operator, arguments) in enumerate(todo):
            if time.monotonic() > deadline:
                break
            status.update(f"measuring call {number + 1} of {len(todo)}: {operator}")
            try:
                us, _ = watch.device_us(operator, arguments)
            except (RuntimeError, NotImplementedError) as error:
                progress_console().print(f"left out: {operator}: {error}")
                continue
            found.append((as_call(operator, arguments), us))
    return found


def _document(found: Calibration, output: Path) -> dict[str, object]:
    return {
        "file": str(output),
        "device": found.device.to_dict(),
        "calls": found.calls,
        "factors": found.factors,
        "median_error_before": found.error_before,
        "median_error_after": found.error_after,
    }


def _show(found: Calibration, output: Path) -> None:
    from rich.table import Table

    console = people()
    console.print(marked("[bold]{}[/], {} calls", found.device.name, found.calls))
    table = Table.grid(padding=(0, 2))
    for name, factor in found.factors.items():
        table.add_row(name, f"{factor:.2f} of the data sheet's")
    console.print(table)
    console.print(f"median error of their times: {found.error_before:.0%} before, {found.error_after:.0%} now")
    console.print(f"Next: {command_line('forecast', 'PROBLEM', 'FILE', '--device', str(output))}")
