"""The cascade: forecasters in order of cost, each asked only where those before it were not sure enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from foretell.belief import Forecast
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.task import Task

SURE_LOG2 = 0.5  # widest 80 % interval, in doublings, that needs no second opinion: as wide as a bin of speedups
SURE_CHANCE = 0.9  # from here on a candidate is taken to fail, or to work
LEVEL = 0.8


class CascadeForecaster:
    """Asks the first link about all subjects, and each later one about those that are still in doubt.

    Sure enough is a forecast by which the candidate fails almost certainly, or by which it works and its 80 % interval
    is no wider than `sure_log2`. The last link's word stands. All links learn. `cost_s` is what a forecast has cost on
    average, by the links' own figures; before the first it is what one costs that goes through all links.
    """

    def __init__(self, links: Sequence[Forecaster], sure_log2: float = SURE_LOG2, name: str | None = None) -> None:
        if not links:
            raise ValueError("a cascade needs at least one forecaster")
        if not sure_log2 > 0.0:
            raise ValueError(f"sure_log2 must be a positive number, got {sure_log2!r}")
        self.name = "cascade:" + ",".join(link.name for link in links) if name is None else name
        self.cost_s = sum(link.cost_s for link in links)
        self.last_troubles: tuple[str | None, ...] = ()
        self.asked = [0] * len(links)  # subjects that each link has been asked about
        self._links = tuple(links)
        self._sure_log2 = sure_log2

    @property
    def wrapped(self) -> tuple[Forecaster, ...]:
        """The forecasters of the cascade, in order."""
        return self._links

    @property
    def troubles(self) -> Counter[str]:
        """The links' troubles, where they count any."""
        found: Counter[str] = Counter()
        for link in self._links:
            found.update(getattr(link, "troubles", {}))
        return found

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        for link in self._links:
            link.learn(task, device, measured)

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        found: dict[int, Forecast] = {}
        troubles: dict[int, str | None] = {}
        doubtful = list(range(len(subjects)))
        for number, link in enumerate(self._links):
            if not doubtful:
                break
            told = link.forecast(task, device, [subjects[i] for i in doubtful])
            self.asked[number] += len(told)
            found |= zip(doubtful, told, strict=True)
            troubles |= zip(doubtful, getattr(link, "last_troubles", ()) or [None] * len(told), strict=True)
            doubtful = [i for i in doubtful if not self.is_sure(found[i])]
        if subjects:
            self.cost_s = self._spent_s() / self.asked[0]
        self.last_troubles = tuple(troubles[i] for i in range(len(subjects)))
        return [found[i] for i in range(len(subjects))]

    def is_sure(self, forecast: Forecast) -> bool:
        """Whether nobody else need be asked."""
        low, high = forecast.interval(LEVEL)
        works = forecast.p_fail <= 1.0 - SURE_CHANCE
        return forecast.p_fail >= SURE_CHANCE or (works and high - low <= self._sure_log2)

    def _spent_s(self) -> float:
        return sum(count * link.cost_s for count, link in zip(self.asked, self._links, strict=True))
