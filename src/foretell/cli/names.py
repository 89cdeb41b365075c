"""The names that options accept, without importing what they name: for help texts and shell completion.

Completion runs on every press of the Tab key, so nothing here may import numpy. A test compares these names with the
registries that they repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

POLICIES = ("selective", "value", "top", "random", "all")
REPLAY_POLICIES = (*POLICIES, "tuner")
STRATEGIES = ("puct", "greedy", "beam", "islands", "random")
FORECASTERS = ("online", "features", "program", "calibrated", "roofline", "cascade")
EVAL_FORECASTERS = ("constant", "random", *FORECASTERS)
REPLAY_FORECASTERS = (*FORECASTERS, "none", "online:none")
PROPOSERS = ("template", "crossover", "knobs")
LANGUAGES = ("cpp", "triton", "cuda", "torch")
PROFILES = ("quick", "standard", "thorough")
KINDS = ("cpu", "gpu")
SPLITS = ("held_operation", "held_family", "held_written", "near", "train", "all")
TIERS = ("source", "build")
AUTHORS = ("person", "language-model")
CRITICS = ("embedded", "rules")
MODES = ("enforce", "advise", "shadow")
STAGES = ("sft", "grpo")
CPU_TASKS_ONLY = ("conv2d",)  # the other CPU tasks have a GPU namesake, whose modules import nothing heavy


def one_of(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    """A completion of fixed names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def tasks(incomplete: str) -> list[str]:
    """Complete the name of a task of the library."""
    from foretell.kernels import library

    return [name for name in sorted({*library.tasks("gpu"), *CPU_TASKS_ONLY}) if name.startswith(incomplete)]


def devices(incomplete: str) -> list[str]:
    """Complete the name of a described GPU."""
    from foretell.kernels.devices import gpus

    return [name for name in gpus() if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Complete the directory of a run below `runs/`."""
    found = [str(path.parent) for path in sorted(Path("runs").glob("*/journal.jsonl"))]
    return [name for name in found if name.startswith(incomplete)]


def listed(names: tuple[str, ...]) -> str:
    """Names for a help text: `a, b or c`."""
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
