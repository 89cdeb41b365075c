"""The configuration of a search: what the user chose, and the resolved form that is written into the run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from foretell.kernels.candidate import LANGUAGES, Candidate
from foretell.kernels.profiles import Profile
from foretell.kernels.task import Task
from foretell.kernels.typed import typed


@dataclass(frozen=True)
class SearchConfig:
    """What a search is told besides its parts. Everything it decides follows from these, the parts and the journal.

    `start` is the kernel to start from, which is measured before anything is proposed.
    """

    language: str
    seed: int
    profile: Profile
    start: Candidate | None = None

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError(f"a seed must not be negative, got {self.seed}")

    def resolved(self, task: Task, policy: str, strategy: str, forecaster: str, proposer: str) -> dict[str, Any]:
        """The whole configuration as plain JSON, with the names of the task and the parts.

        A task that is not of the library goes in whole: its file may be gone when the run is resumed.
        """
        config = {
            "task": task.name,
            **({"task_spec": task.spec} if task.files else {}),
            "language": self.language,
            "policy": policy,
            "strategy": strategy,
            "forecaster": forecaster,
            "proposer": proposer,
            "seed": self.seed,
            "budgets": asdict(self.profile.budgets),
            "profile": self.profile.to_dict(),
            **({"start": self.start.to_dict()} if self.start is not None else {}),
        }
        plain: dict[str, Any] = json.loads(json.dumps(config))
        return plain

    @staticmethod
    def from_resolved(config: Mapping[str, Any]) -> SearchConfig:
        """The configuration a run was started with, from its `run_started` event."""
        for name in ("task", "language", "policy", "strategy", "forecaster", "proposer"):
            if not isinstance(config[name], str):
                raise ValueError(f"its {name} is {config[name]!r}")
        if config["language"] not in LANGUAGES:
            raise ValueError(f"its language is {config['language']!r}, expected one of {', '.join(sorted(LANGUAGES))}")
        if config["budgets"] != config["profile"]["budgets"]:
            raise ValueError("its budgets are not those of its profile")
        start = Candidate.from_dict(config["start"]) if "start" in config else None
        return typed(SearchConfig(config["language"], config["seed"], Profile.from_dict(config["profile"]), start))


def completed(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's configuration with the defaults of what its version did not know yet."""
    return {**config, "profile": json.loads(json.dumps(Profile.from_dict(config["profile"]).to_dict()))}


def extended(config: Mapping[str, Any], budgets: Mapping[str, float]) -> dict[str, Any]:
    """A run's configuration with other budgets."""
    plain = json.loads(json.dumps(dict(budgets)))
    return {**config, "budgets": plain, "profile": {**config["profile"], "budgets": plain}}


def differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Sentences on where a run's configuration and the one at hand differ; empty where they are the same."""
    found = []
    for key in sorted({*there, *here}):
        old, new = there.get(key), here.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += differences(old, new, f"{prefix}{key}.")
        elif old != new:
            found.append(f"its {prefix}{key} is {old!r}, not {new!r}")
    return found


def refit_level(count: int, profile: Profile) -> int:
    """A number that rises with the count of measurements; the forecaster is refitted when it has risen.

    It rises with each measurement up to `refit_every_until`, then with each growth by `refit_growth`: a run of n
    measurements is refitted about log n times, so refitting costs no more than n log n in all.
    """
    start = profile.refit_every_until
    if count <= start:
        return count
    return start + math.floor(math.log(count / start) / math.log(profile.refit_growth))


def last_refit(counts: Sequence[int], profile: Profile) -> int:
    """How many measurements the forecaster knew after rounds that began with these counts of measurements."""
    known = 0
    for count in counts:
        if refit_level(count, profile) > refit_level(known, profile):
            known = count
    return known
