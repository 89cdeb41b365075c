"""The acceptance set recorded: which candidates become a whole Program, and why others do not.

    python -m benchmarks.acceptance.record SET.json OUTPUT.jsonl [--processes 2] [--seconds 3000]
    python -m benchmarks.acceptance.record SET.json OUTPUT.jsonl --gpu [--marks MARK.jsonl] [--processes 16]

Each row is recorded in a process of its own, candidate and reference, for an H200; no GPU is needed. `record_s` is the
time to record the candidate once its extension or its kernels are built (a second recording in the same process).

With `--gpu` the recording of the candidate is also replayed on the GPU, twice with other inputs, and compared with what
the candidate computes there: it is recorded completely if they agree. Candidate and recording have separate processes,
since an extension may keep addresses. With `--marks` only rows that the plain evaluator found right and left unmarked
are recorded. Rows that are already in OUTPUT are skipped.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.acceptance.page import kind_of
from benchmarks.acceptance.plain import DEVICE, NO_MEMORY, DeviceLock, Pair, error, outputs_of, run_all

TARGET = "h200"
TOGETHER = 6  # replays at a time: each holds the tensors of a problem several times
REPRODUCED = 1e-3  # relative root mean square error: libraries may choose another algorithm for another address
SEEDS = (1, 2)


def record_row(row: dict[str, Any], lock: DeviceLock) -> dict[str, Any]:
    from foretell.kernels.devices import described
    from foretell.kernels.record import record
    from foretell.kernels.tasks import kernelbench

    task = kernelbench.from_text(row["reference"], row["problem"].replace("/", "_"))
    reference = record(task, task.workloads[0], None, "torch", described(TARGET))
    answer, _ = recorded(row)
    if reference.refusal is not None:
        answer["reference_refusal"] = f"{reference.refusal.reason}: {reference.refusal.sentence}"[:300]
    return answer


def recorded(row: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What is to be said of the candidate's recording, and its Program in bytes, empty if there is none."""
    from foretell.kernels.devices import described
    from foretell.kernels.languages.python_source import language_of
    from foretell.kernels.program_codec import to_bytes
    from foretell.kernels.record import record
    from foretell.kernels.tasks import kernelbench

    task = kernelbench.from_text(row["reference"], row["problem"].replace("/", "_"))
    asked = task, task.workloads[0], row["candidate"], language_of(row["candidate"]), described(TARGET)
    started = time.perf_counter()
    recording = record(*asked)
    answer: dict[str, Any] = {"runs": True, "first_s": time.perf_counter() - started}
    refusal, program = recording.refusal, recording.program
    if refusal is not None or program is None:
        answer["refusal"] = str(refusal.reason) if refusal else "no program"
        answer["sentence"] = refusal.sentence[:400] if refusal else ""
        return answer, b""
    started = time.perf_counter()
    record(*asked)
    answer["record_s"] = time.perf_counter() - started
    answer["launches"] = len(program.launches())
    answer["library_calls"] = len(program.library_calls())
    answer["alternatives"] = len(recording.alternatives)
    return answer, to_bytes(program)


def replay_row(output: Path, row: dict[str, Any], lock: DeviceLock) -> dict[str, Any]:
    """Record in a process of its own, then compare a replay with the candidate."""
    from foretell.kernels.record import Reason

    answer, program = in_fork(recorded, row)
    if not program:
        return answer
    slot = DeviceLock(output.with_suffix(f".{zlib.crc32(row['id'].encode()) % TOGETHER}.lock"))
    pair = Pair(row)
    with slot:
        try:
            answer |= compared(pair, program)
        except Exception as failure:  # foreign code and the replay of a recording: the reason is the result
            text = f"{type(failure).__name__}: {failure}"
            if NO_MEMORY in text:
                raise
            answer |= {"refusal": str(Reason.NOT_REPRODUCED), "sentence": text[:400]}
            return answer
    if answer["replay_error"] > REPRODUCED:
        answer["refusal"] = str(Reason.NOT_REPRODUCED)
        answer["sentence"] = f"the outputs differ by {answer['replay_error']:.2g} of their size"
    return answer


def compared(pair: Pair, program: bytes) -> dict[str, Any]:
    """The largest error of a replay against the candidate's own outputs, and whether all were equal bit by bit."""
    import torch

    from foretell.kernels.program_codec import from_bytes
    from foretell.kernels.record.recorder import tensors_in
    from foretell.kernels.record.replay import Replay

    worst, equal = 0.0, True
    with torch.no_grad():
        run = pair.candidate()
        run(*copies(pair.inputs(0)))
        player = Replay(from_bytes(program), DEVICE)
        player.setup(weights_of(getattr(run, "model", pair.model)))
        for seed in SEEDS:
            inputs = pair.inputs(seed)
            expected = [each.clone() for each in outputs_of(run(*copies(inputs)))]
            torch.cuda.synchronize()
            got = player.run(tensors_in(inputs))
            worst = max(worst, error(got, expected))
            equal = equal and all(torch.equal(*both) for both in zip(got, expected, strict=True))
    return {"replay_error": worst, "equal": equal}


def copies(inputs: list[Any]) -> list[Any]:
    return [value.clone() if hasattr(value, "element_size") else value for value in inputs]


def weights_of(model: Any) -> dict[str, Any]:
    """A model's parameters, buffers and other tensors by name, as recordings name them."""
    import torch

    attributes = {
        f"{prefix}.{name}" if prefix else name: value
        for prefix, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }
    named = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    return attributes | {name: tensor.detach() for name, tensor in named}


def in_fork(function: Callable[[Any], Any], argument: Any) -> Any:
    """The function's result in a fork of this process; RuntimeError if that dies."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=lambda: theirs.send(function(argument)))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        raise RuntimeError("the recorder died") from None
    finally:
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--gpu", action="store_true", help="replay recordings on the GPU and compare")
    parser.add_argument("--marks", type=Path, help="only rows that `plain mark` found right and left unmarked")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3000.0, help="start no further candidate after that long")
    arguments = parser.parse_args()
    rows = json.loads(arguments.set.read_text())
    if arguments.marks is not None:
        marks = {row["id"]: row for row in map(json.loads, arguments.marks.read_text().splitlines())}
        rows = [row for row in rows if kind_of(marks.get(row["id"], {})) == "unmarked"]
    job = partial(replay_row, arguments.output) if arguments.gpu else record_row
    run_all(job, rows, arguments.output, arguments.processes, arguments.seconds)
    answers = [json.loads(line) for line in arguments.output.read_text().splitlines()]
    print(Counter(row.get("refusal") or row.get("failure") or "recorded" for row in answers).most_common())


if __name__ == "__main__":
    main()
