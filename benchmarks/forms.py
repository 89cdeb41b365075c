"""Every form of task on a GPU: measure its candidate, then search its variants with eight measurements.

    python -m benchmarks.forms --out benchmarks/results/forms.json      # H200, about two minutes
    python -m benchmarks.forms --out benchmarks/results/forms.json --page docs/results/forms.md

The forms are the examples. The proposer is a script: block sizes and warps of the example's own kernel, so that the
figures say that every verb works for every form, and nothing of how good a language model is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
FORMS: dict[str, tuple[str | Path, Path]] = {
    "library": ("softmax", EXAMPLES / "tasks/softmax_triton.py"),
    "kernelbench": (EXAMPLES / "kernelbench/gelu_problem.py", EXAMPLES / "kernelbench/gelu_triton.py"),
    "gpumode": (EXAMPLES / "gpumode", EXAMPLES / "gpumode/submission.py"),
    "flashinfer": (EXAMPLES / "flashinfer/silu_mul.json", EXAMPLES / "flashinfer/silu_mul_triton.py"),
    "module": (EXAMPLES / "tasks/softmax_bias.py", EXAMPLES / "tasks/softmax_bias_triton.py"),
    "cpu": (EXAMPLES / "tasks/correlate.py", EXAMPLES / "tasks/correlate_fast.cpp"),
}
MEASUREMENTS = 8
BLOCKS, WARPS = (256, 512, 2048, 4096, 8192), (4, 8, 16)
UNROLLS = (2, 4, 16, 32, 3, 5, 6, 12)


def variants(candidate: Path) -> Iterator[str]:
    """The example's candidate with other constants: block size and warps of Triton, outputs at a time of C++."""
    text = candidate.read_text()
    if candidate.suffix == ".cpp":
        for count in UNROLLS:
            yield text.replace("UNROLL = 8", f"UNROLL = {count}")
        return
    for block, warps in itertools.product(BLOCKS, WARPS):
        other = text.replace("1024", str(block))
        yield other.replace(f"BLOCK={block})", f"BLOCK={block}, num_warps={warps})")


def scripted(candidate: Path) -> Callable[[str], str]:
    """A language model that writes one variant after the other, whatever it is asked."""
    texts = itertools.cycle(variants(candidate))
    return lambda prompt: f"```\n{next(texts)}\n```"


def one_form(task: str | Path, candidate: Path) -> dict[str, Any]:
    """Measure the candidate and search its variants; what came out of both."""
    import foretell as ft

    started = time.monotonic()
    outcome = ft.measure(task, candidate, keep=False)
    found: dict[str, Any] = {"task": ft.task(task).name, "status": outcome.status.value, "speedup": outcome.speedup}
    found |= {"low": outcome.low, "high": outcome.high, "measure_s": round(time.monotonic() - started, 2)}
    started = time.monotonic()
    language = "cpp" if candidate.suffix == ".cpp" else "triton"
    run = ft.search(
        task, language=language, proposer=scripted(candidate), keep=False, use_catalogue=False,
        measurements=MEASUREMENTS, candidates=4 * MEASUREMENTS,
    )  # fmt: skip
    best = run.best
    found["search"] = {
        "considered": run.state.considered,
        "measured": run.state.measured,
        "best": None if best is None else best.speedup,
        "low": None if best is None else best.low,
        "high": None if best is None else best.high,
        "verified": best is not None and best.verified,
        "reason": run.state.finished.reason.value if run.state.finished else None,
        "seconds": round(time.monotonic() - started, 2),
    }
    return found


def page(results: dict[str, Any]) -> str:
    """The results as a page of the docs."""
    lines = [
        "# Every form of task on a GPU", "",
        "Made by `python -m benchmarks.forms`; figures in `benchmarks/results/forms.json`. The examples of each form:",
        "its candidate measured, and its block sizes and warps searched by a scripted proposer with",
        f"{MEASUREMENTS} measurements. Speedups over the reference with 95 % intervals; that of a search is of",
        "the winner measured again; the candidate itself is not among its variants. The first seconds of all hold",
        "the start of the bench.", "",
        f"Device: {results['device']}", "",
        "| form | task | candidate | seconds | best of the search | measured | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for form, found in results["forms"].items():
        if "error" in found:
            lines.append(f"| {form} | | {found['error'].splitlines()[0]} | | | | |")
            continue
        search = found["search"]
        lines.append(
            f"| {form} | `{found['task']}` | {_speedup(found, 'speedup')} | {found['measure_s']} "
            f"| {_speedup(search, 'best')} | {search['measured']} | {search['seconds']} |"
        )
    return "\n".join(lines) + "\n"


def _speedup(found: dict[str, Any], name: str) -> str:
    if found[name] is None:
        return str(found.get("status", "nothing works"))
    return f"{found[name]:.2f} [{found['low']:.2f}, {found['high']:.2f}]"


def main() -> None:
    from foretell.parts import bench_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--forms", nargs="*", choices=FORMS, default=[form for form in FORMS if form != "cpu"])
    parser.add_argument("--page", type=Path, help="write the page from the results that there are, and measure nothing")
    arguments = parser.parse_args()
    if arguments.page is not None:
        arguments.page.write_text(page(json.loads(arguments.out.read_text())))
        return
    results: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"forms": {}}
    with bench_of("cpu" if arguments.forms == ["cpu"] else "gpu") as bench:
        results["device"] = bench.device.id
    for form in arguments.forms:
        if form in results["forms"]:
            continue
        try:
            results["forms"][form] = one_form(*FORMS[form])
        except Exception as error:  # the others are still to be measured; a failure is a result
            results["forms"][form] = {"error": f"{type(error).__name__}: {error}"}
        print(form, json.dumps(results["forms"][form]), flush=True)
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
