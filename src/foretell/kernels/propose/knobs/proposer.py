"""The proposer `knobs`: variations of a given kernel, chosen by what was measured of others.

It starts with variations in one knob each, in turns, and then asks the tuner (`kernels/tune`), a Gaussian process over
the settings measured so far. Its choices depend on nothing but its arguments and the run's state.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import KNOB_SEARCH, KnobSearch
from foretell.kernels.propose.knobs.find import find_space
from foretell.kernels.propose.knobs.space import Knob, Setting
from foretell.kernels.task import Task
from foretell.kernels.tune.encode import Value
from foretell.kernels.tune.tuner import Exhausted, Tuner

if TYPE_CHECKING:
    from foretell.kernels.search.state import RunState

NAME = "knobs"
ORIGIN = "knobs"
_Key = tuple[Value, ...]


class KnobProposer:
    """Proposes variations of `start`. With `tuned=False` they are drawn at random from the same space: the control."""

    def __init__(self, start: Candidate, tuned: bool = True, settings: KnobSearch = KNOB_SEARCH) -> None:
        """Raises NoKnobs if the start has no tunable constants."""
        self.name = NAME if tuned else f"{NAME}:random"
        self.start = start
        self.space = find_space(start.source, start.language)
        self._tuned = tuned
        self._settings = settings
        self._near = settings.near_first
        self._names = [knob.name for knob in self.space.knobs]
        self._outcomes: dict[_Key, Measurement | None] = {}
        self._ids: dict[_Key, str] = {}
        self._pool: list[dict[str, Value]] | None = None

    def inform(self, state: RunState) -> None:
        """Read what was measured of the variations so far."""
        self._outcomes, self._ids = {}, {}
        share = int(self._settings.near_share * state.config["budgets"]["measurements"])
        self._near = max(1, min(self._settings.near_first, share))
        for node in state.nodes.values():
            setting = self._setting_of(node.candidate)
            if setting is not None:
                key = self._key(setting)
                self._outcomes[key], self._ids[key] = node.measurement, node.id

    def candidate(self, setting: Setting, parent: str) -> Candidate:
        """The variation with a setting."""
        origin = Origin(ORIGIN, {"knobs": dict(setting), "start": self.start.id})
        return Candidate(self.start.task, self.start.language, self.space.render(setting), origin, (parent,))

    def propose(
        self, task: Task, parents: Sequence[Candidate], count: int, rng: np.random.Generator, known: Collection[str]
    ) -> list[Candidate]:
        """Up to `count` variations, no more than a round's share; empty when all of the space is known.

        Each is a child of the most similar variation that works, or of the first parent if nothing is known yet.
        """
        share = min(count, self._settings.batch)
        found: list[Candidate] = []
        for setting in self._order(rng):
            nearest = self._nearest(setting)
            candidate = self.candidate(setting, nearest if nearest in known else parents[0].id)
            if candidate.id not in known and all(candidate.id != other.id for other in found):
                found.append(candidate)
            if len(found) == share:
                break
        return found

    def _order(self, rng: np.random.Generator) -> Iterable[dict[str, Value]]:
        """Settings in the order in which they should be tried; those that are known may be among them."""
        if not self._tuned:
            yield from self._drawn(rng)
            return
        if len(self._outcomes) <= self._near:
            yield from self._listed()
            for setting in self._singles(self.space.base)[: self._near]:
                if self._key(setting) not in self._outcomes:
                    yield setting
        yield from self._promising(rng)

    def _listed(self) -> list[dict[str, Value]]:
        """What the source itself lists: an autotuner's configurations, and the setting that knobs are turned from."""
        listed = [dict(setting) for setting in self.space.first[: self._near // 2]]
        own = [] if self.space.holds_source else [self.space.base]
        return [setting for setting in [*own, *listed] if self._key(setting) not in self._outcomes]

    def _singles(self, setting: Setting) -> list[dict[str, Value]]:
        """Settings with one other value: the knobs take turns, the nearest values of each first."""
        turns = []
        for place, knob in enumerate(self.space.knobs):
            at = knob.values.index(setting[knob.name])
            others = sorted((i for i in range(len(knob.values)) if i != at), key=lambda i: (abs(i - at), -i))
            changed = ({**setting, knob.name: knob.values[i]} for i in others)
            turns += [(turn, place, each) for turn, each in enumerate(changed) if self.space.allows(each)]
        return [each for _, _, each in sorted(turns, key=lambda one: one[:2])]

    def _promising(self, rng: np.random.Generator) -> Iterable[dict[str, Value]]:
        pool = self._candidates(rng)
        rows = {self._key(setting): row for row, setting in enumerate(pool)}
        codes = np.array([[knob.values.index(setting[knob.name]) for knob in self.space.knobs] for setting in pool])
        tuner = Tuner({knob.name: _levels(knob) for knob in self.space.knobs}, codes, seed=int(rng.integers(2**31)))
        times = {key: _time(outcome) for key, outcome in self._outcomes.items()}
        worked = [time for time in times.values() if time is not None]
        typical = float(np.median(worked)) if worked else 1.0
        for key, time in times.items():
            outcome = self._outcomes[key]
            if key in rows:
                pending = outcome is None or outcome.status is Status.INFRASTRUCTURE
                tuner.tell(rows[key], typical if pending else time)
        while True:
            try:
                row = tuner.ask()
            except Exhausted:
                return
            yield pool[row]
            tuner.tell(row, typical)  # until it is measured: the others of this round should differ from it

    def _candidates(self, rng: np.random.Generator) -> list[dict[str, Value]]:
        """The settings to choose from: all, or if there are too many, some."""
        if self.space.size <= self._settings.pool:
            if self._pool is None:
                self._pool = list(self.space.settings())
            return self._pool
        found: dict[_Key, dict[str, Value]] = {}
        for key in self._outcomes:
            found[key] = dict(zip(self._names, key, strict=True))
        half = self._settings.pool // 2
        for setting in self._fastest() or [self.space.base]:
            near = [*self.space.near(setting, 1), *self.space.near(setting, 2)]
            for one in near[: half // self._settings.around]:
                found.setdefault(self._key(one), one)
            if len(near) > half // self._settings.around:
                for index in rng.permutation(len(near))[: half // self._settings.around].tolist():
                    found.setdefault(self._key(near[index]), near[index])
        for setting in self._drawn(rng):
            if len(found) >= self._settings.pool:
                break
            found.setdefault(self._key(setting), setting)
        return list(found.values())

    def _fastest(self) -> list[dict[str, Value]]:
        """The settings of the fastest variations so far."""
        times = [(time, key) for key, outcome in self._outcomes.items() if (time := _time(outcome)) is not None]
        ranked = sorted(range(len(times)), key=lambda i: times[i][0])[: self._settings.around]
        return [dict(zip(self._names, times[i][1], strict=True)) for i in ranked]

    def _drawn(self, rng: np.random.Generator) -> Iterable[dict[str, Value]]:
        """Settings at random, each as likely as any other; ends where hardly any is new."""
        if self.space.size <= self._settings.pool:
            settings = list(self.space.settings())
            for index in rng.permutation(len(settings)).tolist():
                yield settings[index]
            return
        for _ in range(4 * self._settings.pool):
            setting = self.space.draw(rng)
            if setting is not None:
                yield setting

    def _nearest(self, setting: Setting) -> str:
        """The variation that works and differs least, the fastest of several; the start before there is one."""
        best = (math.inf, math.inf, self.start.id)
        for key, outcome in self._outcomes.items():
            time = _time(outcome)
            if time is not None:
                different = sum(setting[name] != value for name, value in zip(self._names, key, strict=True))
                best = min(best, (different, time, self._ids[key]))
        return best[2]

    def _setting_of(self, candidate: Candidate) -> dict[str, Value] | None:
        """The setting of a variation of this start, or of the start itself if it is one; None of anything else."""
        if candidate.id == self.start.id:
            return dict(self.space.base) if self.space.holds_source else None
        detail = candidate.origin.detail
        knobs = detail.get("knobs")
        if candidate.origin.kind != ORIGIN or detail.get("start") != self.start.id or not isinstance(knobs, dict):
            return None
        fits = all(name in knobs and knobs[name] in knob.values for name, knob in zip(self._names, self.space.knobs,
                                                                                      strict=True))  # fmt: skip
        return {name: knobs[name] for name in self._names} if fits else None

    def _key(self, setting: Setting) -> _Key:
        return tuple(setting[name] for name in self._names)


def _levels(knob: Knob) -> list[Value]:
    """The values as the tuner sees them: words as they are, numbers evenly apart on the logarithmic scale it uses.

    So that it does not take a number that is not a power of two, such as three stages, for a less likely one.
    """
    if any(isinstance(value, str) for value in knob.values):
        return [str(value) for value in knob.values]
    return [2**place for place in range(len(knob.values))]


def _time(outcome: Measurement | None) -> float | None:
    """Time relative to the reference's; None for failures and what was not measured."""
    return 1.0 / outcome.speedup if outcome is not None and outcome.ok and outcome.speedup else None
