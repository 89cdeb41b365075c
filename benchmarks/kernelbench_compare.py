"""Our GPU bench against KernelBench's evaluator: the same candidates, one after the other, on the same GPU.

    python -m benchmarks.kernelbench_compare PATH_OF_A_KERNELBENCH_CHECKOUT

Problems at their published sizes; 5 checks and 100 timed runs for KernelBench (its own setting), 5 checks and at least
30 timed pairs for ours. Wall time per candidate is everything from source to verdict. Ours has its worker and builders
up before the clock starts, KernelBench's modules are imported before; both processes have used the GPU. Its code is
used where it lies; modules it imports without using them here are stood in for where they are missing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import types
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.profiles import GPU_BENCH
from foretell.kernels.tasks import load

PROBLEMS = {
    "1_Square_matrix_multiplication_": ("matmul", (("BK=16", "BK=32"),)),
    "40_LayerNorm": ("layernorm", (("num_warps=8", "num_warps=4"),)),
    "82_conv_depthwise_2D_square_input_square_kernel": ("depthwise_conv2d", (("H=8", "H=4"),)),
    "26_GELU_": ("gelu", ()),
    "23_Softmax": ("softmax", ()),
    "47_Sum_reduction_over_a_dimension": ("sum_reduction", ()),
}
CHECKS, RUNS, PAIRS = 5, 100, 30


def candidates(name: str) -> list[str]:
    """The candidate of that name as it is written, and with each of its changes."""
    stem, changes = PROBLEMS[name]
    text = (Path(__file__).parent / "kernelbench" / f"{stem}.py").read_text()
    return [text, *(text.replace(old, new) for old, new in changes)]


def ours(problems: dict[str, Path], log: Any) -> list[dict[str, Any]]:
    effort = replace(GPU_BENCH, check_sets=CHECKS, fewest_pairs=PAIRS, fewest_pairs_when_slow=PAIRS, most_pairs=60)
    bench = GpuBench(effort=replace(effort, workload_cap_s=10.0))
    bench.warm_up()
    origin = Origin("language model", {})
    read = {name: load(path) for name, path in problems.items()}
    jobs = {name: [Candidate(read[name].key, "triton", text, origin) for text in candidates(name)] for name in problems}
    rows: list[dict[str, Any]] = []
    started = time.perf_counter()
    for name, wanted in jobs.items():
        bench.expect(read[name], wanted)
    for name, wanted in jobs.items():
        for candidate, outcome in bench.measure(read[name], wanted):
            now = time.perf_counter()
            times = outcome.timings[0].candidate_us if outcome.timings else ()
            rows.append({
                "problem": name, "id": candidate.id, "number": wanted.index(candidate), "status": outcome.status.value,
                "message": outcome.message[:200], "wall_s": now - started, "pairs": len(times),
                "runtime_us": statistics.median(times) if times else None, "speedup": outcome.speedup,
            })  # fmt: skip
            started = now
            log(f"ours {name}: {rows[-1]}")
    bench.close()
    return rows


def theirs(problems: dict[str, Path], checkout: Path, limit_s: float, log: Any) -> list[dict[str, Any]]:
    _stand_in()
    sys.path.insert(0, str(checkout / "src"))
    import torch
    from kernelbench.eval import eval_kernel_against_ref  # type: ignore[import-not-found]

    torch.zeros(1, device="cuda")
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    for name, path in problems.items():
        for number, text in enumerate(candidates(name)):
            if time.perf_counter() - began > limit_s:
                return rows
            started = time.perf_counter()
            result = eval_kernel_against_ref(
                path.read_text(), text, num_correct_trials=CHECKS, num_perf_trials=RUNS, measure_performance=True,
                backend="triton", device=torch.device("cuda:0"),
            )  # fmt: skip
            wall_s = time.perf_counter() - started
            rows.append({
                "problem": name, "number": number, "wall_s": wall_s, "correct": bool(result.correctness),
                "runtime_us": result.runtime * 1e3, "reference_us": result.ref_runtime * 1e3,
                "message": str(result.metadata)[:200],
            })  # fmt: skip
            log(f"theirs {name}: {rows[-1]}")
    return rows


def _stand_in() -> None:
    """Empty modules for those that its package imports but its evaluator does not use, where they are missing."""

    class BaseModel:
        def __init__(self, **values: Any) -> None:
            for name, value in values.items():
                setattr(self, name, value)

    given: dict[str, dict[str, Any]] = {
        "pydantic": {"BaseModel": BaseModel},
        "dotenv": {"load_dotenv": lambda *_: None},
        "openai": {"OpenAI": None},
        "litellm": {"completion": None},
        "tqdm": {"tqdm": None},
        "requests": {},
    }
    for name, values in given.items():
        if find_spec(name) is None:
            module = types.ModuleType(name)
            vars(module).update(values)
            sys.modules[name] = module


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/gpu_kernelbench.json"))
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which KernelBench begins no candidate")
    arguments = parser.parse_args(argv)
    problems = {name: arguments.checkout / "KernelBench" / "level1" / f"{name}.py" for name in PROBLEMS}

    def log(text: str) -> None:
        print(text, flush=True)

    mine = ours(problems, log)
    result: dict[str, Any] = {"checks": CHECKS, "their_runs": RUNS, "our_pairs": PAIRS, "ours": mine, "theirs": []}
    arguments.output.write_text(json.dumps(result))
    result["theirs"] = theirs(problems, arguments.checkout, arguments.limit, log)
    result |= summary(result)
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    log(str({key: value for key, value in result.items() if key not in ("ours", "theirs")}))


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Wall time and runtimes of the candidates that both judged right."""
    left = {(r["problem"], r["number"]): r for r in result["ours"] if r["status"] == "ok"}
    right = {(r["problem"], r["number"]): r for r in result["theirs"] if r["correct"]}
    both = sorted(set(left) & set(right))
    if not both:
        return {"both": 0}
    apart = [left[k]["runtime_us"] / right[k]["runtime_us"] - 1 for k in both]
    return {
        "both": len(both),
        "our_s": sum(left[k]["wall_s"] for k in both),
        "their_s": sum(right[k]["wall_s"] for k in both),
        "times_less": sum(right[k]["wall_s"] for k in both) / sum(left[k]["wall_s"] for k in both),
        "runtime_apart": apart,
        "runtime_apart_median": statistics.median(abs(a) for a in apart),
    }


if __name__ == "__main__":
    main()
