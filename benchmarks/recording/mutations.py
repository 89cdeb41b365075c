"""Recordings damaged in seeded ways and read as a stranger's file."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

DEVICE = "h200"
MUTATIONS, CHUNK, SEED = 10_000, 250, 21
MANY_STEPS = 1_000_000


def truncated(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def flipped(data: bytes, rng: random.Random) -> bytes:
    raw = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def forged(data: bytes, rng: random.Random) -> bytes:
    """Any value of the document changed, with a right checksum."""
    from tests.kernels.programs import mutated_document, opened, sealed

    document, blobs = opened(data)
    return sealed(mutated_document(document, rng), blobs)


def unknown_operator(data: bytes, rng: random.Random) -> bytes:
    names = ("aten::from_file.default", "aten::_print.default", "prim::print.default", "foreign::run.default", "mm", "")
    return _with_step(data, rng, "call", lambda step: step.__setitem__(1, rng.choice(names)))


def out_of_bounds(data: bytes, rng: random.Random) -> bytes:
    """A buffer number or an offset that is too large or negative, anywhere in a step."""

    def change(step: list[Any]) -> None:
        places = [(node, key) for node, key in _numbers(step)]
        node, key = rng.choice(places)
        node[key] = rng.choice((-1, 10**6, 2**31, 2**40, 2**63, node[key] + 10**9))

    return _with_step(data, rng, None, change)


def many_steps(data: bytes, rng: random.Random) -> bytes:
    from tests.kernels.programs import opened, sealed

    document, blobs = opened(data)
    document["run"] = [["allocate", len(document["buffers"]) - 1]] * MANY_STEPS
    return sealed(document, blobs)


def absurd_grid(data: bytes, rng: random.Random) -> bytes:
    sides = (0, -1, 2**31, 2**40, 65536, 1 << 30)

    def change(step: list[Any]) -> None:
        triples = [node for node in step if isinstance(node, list) and len(node) == 3 and all(map(_is_int, node))]
        rng.choice(triples or [step])[rng.randrange(3) if triples else 3] = rng.choice(sides)

    return _with_step(data, rng, "launch", change)


def _with_step(data: bytes, rng: random.Random, kind: str | None, change: Callable[[list[Any]], None]) -> bytes:
    """The Program with one of its steps (of that kind, if it has one) changed."""
    from tests.kernels.programs import opened, sealed

    document, blobs = opened(data)
    steps = [step for step in document["run"] if isinstance(step, list)]
    chosen = [step for step in steps if kind in (None, step[0]) and list(_numbers(step))]
    change(rng.choice(chosen or steps))
    return sealed(document, blobs)


def _numbers(node: Any) -> list[tuple[Any, Any]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = []
    for key, value in items:
        found += [(node, key)] if _is_int(value) else _numbers(value)
    return found


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


KINDS: dict[str, tuple[Callable[[bytes, random.Random], bytes], int]] = {  # how many of 1,000
    "truncated": (truncated, 150),
    "bytes changed": (flipped, 150),
    "forged document": (forged, 349),
    "unknown operator": (unknown_operator, 100),
    "out of bounds": (out_of_bounds, 150),
    "absurd grid": (absurd_grid, 100),
    "a million steps": (many_steps, 1),
}


def recordings() -> list[bytes]:
    """Real recordings to damage: library references that are recorded here."""
    from foretell.kernels.devices import described
    from foretell.kernels.library import get
    from foretell.kernels.program_codec import to_bytes
    from foretell.kernels.record import record

    found = []
    for name in ("softmax", "layernorm", "matmul", "attention_causal", "conv2d_3x3", "adamw_step"):
        task = get(name, "gpu")
        program = record(task, task.workloads[0], None, "torch", described(DEVICE)).program
        if program is not None:
            found.append(to_bytes(program))
    return found


def attacked(kind: str, seed: int, real: list[bytes]) -> str:
    """The fault that a damaged Program is refused for, or `valid`."""
    from foretell.kernels.program_check import InvalidProgram, check
    from foretell.kernels.program_codec import from_bytes, to_bytes
    from tests.kernels.programs import random_program

    rng = random.Random(seed)
    data = rng.choice(real) if real and rng.random() < 0.3 else to_bytes(random_program(rng))
    if kind in ("absurd grid", "out of bounds"):
        data = to_bytes(random_program(rng))  # which has launches, copies and fills
    damaged = KINDS[kind][0](data, rng)
    try:
        check(from_bytes(damaged))
    except InvalidProgram as refused:
        return str(refused.fault)
    return "valid"


def mutations() -> dict[str, Any]:
    real = recordings()
    plan = [kind for kind, (_, share) in KINDS.items() for _ in range(share * MUTATIONS // 1000)]
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    crashes: list[str] = []
    started = time.perf_counter()
    for start in range(0, len(plan), CHUNK):
        for kind, outcome in _forked(list(enumerate(plan[start : start + CHUNK], start)), real):
            outcomes[kind][outcome] += 1
            crashes += [f"{kind}: {outcome}"] if outcome.startswith("CRASH") else []
    return {
        "mutations": len(plan),
        "seed": SEED,
        "real_recordings": len(real),
        "crashes": len(crashes),
        "crash_examples": crashes[:10],
        "outcomes": {kind: dict(counts.most_common()) for kind, counts in outcomes.items()},
        "seconds": time.perf_counter() - started,
    }


def _forked(jobs: list[tuple[int, str]], real: list[bytes]) -> list[tuple[str, str]]:
    """What becomes of each, in a fork; if that dies, the job it was at has crashed it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writing, "w") as out:
            for number, kind in jobs:
                try:
                    outcome = attacked(kind, SEED * 1_000_003 + number, real)
                except BaseException as error:  # anything but a refusal is what is looked for
                    outcome = f"CRASH {type(error).__name__}: {error}"[:200].replace("\n", " ")
                out.write(json.dumps([kind, outcome]) + "\n")
                out.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        found = [(kind, outcome) for kind, outcome in map(json.loads, answers)]
    os.waitpid(child, 0)
    if len(found) < len(jobs):
        found.append((jobs[len(found)][1], "CRASH the process died"))
        return found + (_forked(jobs[len(found) :], real) if len(found) < len(jobs) else [])
    return found
