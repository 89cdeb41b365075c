"""The learned critic's model: boosted trees over named features, and how their scores become chances.

A value that goes to and from one file of plain arrays; reading it runs no code.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.gui.judgement import ErrorClass
from foretell.gui.threshold import Threshold
from foretell.received import parsed
from foretell.received_arrays import read_arrays
from foretell.trees import FloatArray, Trees

FORMAT = 2
SHIPPED, SHIPPED_LARGE, SHIPPED_EVIDENCE = "critic.npz", "critic_large.npz", "critic_evidence.npz"
CERTAIN_FROM = 0.9  # a formulation finding this strong leaves no doubt
UNUSABLE = 0.999  # P(bad) of what cannot be carried out
_CERTAIN = "check.formulation"
_DEEDS = ("is_", "key.")  # features that say what is done, each yes or no


def never_done(names: Sequence[str], table: FloatArray) -> tuple[str, ...]:
    """What no row of a table does: keys that nobody pressed, kinds of actions that nobody proposed."""
    return tuple(name for i, name in enumerate(names) if name.startswith(_DEEDS) and not (table[:, i] > 0.5).any())


def humbled(scores: FloatArray, names: Sequence[str], table: FloatArray, unseen: Sequence[str]) -> FloatArray:
    """Scores without doubt about what was never seen done: right or wrong, there was nothing to learn it from."""
    new = np.zeros(len(table), dtype=bool)
    for name in unseen:
        new |= table[:, names.index(name)] > 0.5
    return np.where(new, np.minimum(scores, 0.0), scores)


class BadCriticModel(ValueError):
    """The file is not a critic's model of this version; the message says what to do."""


@dataclass(frozen=True)
class Chances:
    """Beta calibration (Kull et al. 2017): a score's logit becomes a chance by three numbers, always rising."""

    rise: float = 1.0
    fall: float = 1.0
    shift: float = 0.0

    def apply(self, scores: FloatArray) -> FloatArray:
        log_bad, log_good = -np.logaddexp(0.0, -scores), -np.logaddexp(0.0, scores)
        return np.asarray(1.0 / (1.0 + np.exp(-(self.rise * log_bad - self.fall * log_good + self.shift))))


@dataclass(frozen=True)
class Scale:
    """How scores are read: as chances, and the thresholds under which false interruptions stay below their bounds."""

    chances: Chances = field(default_factory=Chances)
    thresholds: tuple[Threshold, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self.chances), "thresholds": [one.to_dict() for one in self.thresholds]}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Scale:
        chances = Chances(float(data["rise"]), float(data["fall"]), float(data["shift"]))
        return Scale(chances, tuple(Threshold.from_dict(one) for one in data["thresholds"]))


@dataclass(frozen=True)
class CriticModel:
    """`bad` scores that a proposal is wrong, `errors` each way of being wrong; `names` are the features they take.

    `stated` reads the scores of proposals that come with an intent, `unstated` of those without: both were learnt from
    tasks that were left out. `unseen` are deeds that no proposal of the training did: those are not doubted.
    """

    names: tuple[str, ...]
    bad: tuple[Trees, ...]
    errors: Mapping[ErrorClass, Trees]
    stated: Scale = field(default_factory=Scale)
    unstated: Scale = field(default_factory=Scale)
    about: Mapping[str, Any] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()

    def table(self, described: Sequence[Mapping[str, float]]) -> FloatArray:
        """Rows in the model's columns; nan where a row lacks one."""
        cells = [[row.get(name, math.nan) for name in self.names] for row in described]
        return np.array(cells, dtype=np.float64).reshape(len(described), len(self.names))

    def scores(self, table: FloatArray) -> FloatArray:
        """The logit that each row is bad, before calibration."""
        scores = np.asarray(np.mean([trees.predict(table) for trees in self.bad], axis=0), dtype=np.float64)
        return humbled(scores, self.names, table, self.unseen)

    def p_bad(self, table: FloatArray, stated: bool) -> FloatArray:
        """The chance that each row is bad; `stated` says whether the rows came with an intent.

        What the checks know cannot be carried out is bad whatever the trees say.
        """
        p_bad = (self.stated if stated else self.unstated).chances.apply(self.scores(table))
        if _CERTAIN in self.names:
            p_bad = np.where(table[:, self.names.index(_CERTAIN)] >= CERTAIN_FROM, np.maximum(p_bad, UNUSABLE), p_bad)
        return np.asarray(p_bad, dtype=np.float64)

    def ways(self, table: FloatArray) -> list[ErrorClass | None]:
        """For each row the likeliest way of being wrong, if it is wrong; None where the model knows of none."""
        if not self.errors:
            return [None] * len(table)
        kinds = list(self.errors)
        scores = np.stack([self.errors[kind].predict(table) for kind in kinds], axis=1)
        return [kinds[i] for i in scores.argmax(axis=1)]

    def threshold(self, bound: float) -> Threshold:
        """The threshold learnt for a bound, with that of silent proposals; BadCriticModel where there is none."""
        found = [
            next((one for one in scale.thresholds if math.isclose(one.bound, bound)), None)
            for scale in (self.stated, self.unstated)
        ]
        if found[0] is None:
            known = ", ".join(f"{one.bound:g}" for one in self.stated.thresholds) or "none"
            raise BadCriticModel(f"no threshold was learnt for a bound of {bound:g}; known are {known}")
        return replace(found[0], silent=found[1])

    def save(self, path: Path) -> None:
        """Write the model, all or nothing."""
        head = {
            "format": FORMAT,
            "names": self.names,
            "bad": len(self.bad),
            "errors": [kind.value for kind in self.errors],
            "stated": self.stated.to_dict(),
            "unstated": self.unstated.to_dict(),
            "about": dict(self.about),
            "unseen": self.unseen,
        }
        arrays: dict[str, NDArray[Any]] = {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8)}
        for i, trees in enumerate(self.bad):
            arrays |= trees.arrays(f"bad{i}")
        for kind, trees in self.errors.items():
            arrays |= trees.arrays(kind.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new.npz")
        np.savez_compressed(new, **arrays)  # type: ignore[arg-type]
        new.replace(path)

    @staticmethod
    def load(path: Path | None = None) -> CriticModel:
        """The model in a file, or the one for small pages that comes with the package; BadCriticModel where none is."""
        if path is None:
            return CriticModel.shipped(SHIPPED)
        try:
            return _read(path)
        except FileNotFoundError as error:
            raise BadCriticModel(
                f"there is no critic's model at {error.filename}: train one with `python -m foretell.gui.train_critic`"
            ) from error

    @staticmethod
    def shipped(name: str) -> CriticModel:
        """A model that comes with the package, by its file's name; BadCriticModel where there is none."""
        with resources.as_file(resources.files("foretell.gui") / "models" / name) as path:
            return CriticModel.load(path)


def _read(path: Path) -> CriticModel:
    try:
        arrays = read_arrays(path)
        head = parsed(arrays["head"].tobytes())
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']} instead of {FORMAT}")
        return CriticModel(
            tuple(head["names"]),
            tuple(Trees.from_arrays(f"bad{i}", arrays) for i in range(head["bad"])),
            {ErrorClass(name): Trees.from_arrays(name, arrays) for name in head["errors"]},
            Scale.from_dict(head["stated"]),
            Scale.from_dict(head["unstated"]),
            head["about"],
            tuple(head["unseen"]),
        )
    except FileNotFoundError:
        raise
    except (LookupError, ValueError, TypeError, OSError, AttributeError, ArithmeticError) as error:
        raise BadCriticModel(f"{path} is no critic's model of this version ({error}): train one anew") from error
