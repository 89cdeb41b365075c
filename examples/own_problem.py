"""Your own problem from Python, on the CPU or a GPU: explain, forecast, measure, tune.

python examples/own_problem.py cpu      # needs a C++ compiler
python examples/own_problem.py gpu      # explains and forecasts for an H200; measures where there is a GPU
"""

from __future__ import annotations

import sys
from pathlib import Path

import foretell as ft

TASKS = Path(__file__).parent / "tasks"


def on_cpu(measurements: int = 8) -> ft.Run:
    """Tune a C++ candidate of correlate.py, and return the run."""
    task, candidate = ft.task(TASKS / "correlate.py"), TASKS / "correlate_fast.cpp"
    print(ft.explain(task, candidate))
    print(ft.measure(task, candidate))
    run = ft.search(task, start=candidate, measurements=measurements, keep=False)
    print(run)
    return run


def on_gpu(measurements: int = 16) -> ft.Run | None:
    """Forecast a Triton candidate of softmax_bias.py for an H200; tune it if there is a GPU here."""
    task, candidate = ft.task(TASKS / "softmax_bias.py"), TASKS / "softmax_bias_triton.py"
    print(ft.explain(task, candidate, device="h200"))
    prediction = ft.forecast(task, candidate, device="h200")
    print(f"{prediction}; {prediction.prob_above(1.2):.0%} chance of more than 1.2x")
    try:
        print(ft.measure(task, candidate))
    except ft.BadInput as error:
        print(f"not measured: {error.what}")
        return None
    run = ft.search(task, language="triton", start=candidate, measurements=measurements, keep=False)
    print(run)
    return run


if __name__ == "__main__":
    {"cpu": on_cpu, "gpu": on_gpu}[sys.argv[1] if len(sys.argv) > 1 else "cpu"]()
