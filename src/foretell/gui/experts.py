"""Which of the shipped models judges a screen: small pages, larger screens, and larger screens with evidence.

Small pages are like those of MiniWoB++, on which the first was trained; the others were trained on real applications.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretell.gui.critic_model import SHIPPED, SHIPPED_EVIDENCE, SHIPPED_LARGE, CriticModel
from foretell.gui.observation import Observation
from foretell.gui.threshold import Threshold

SMALL_PIXELS = 640 * 640  # larger screens are unlike the pages of MiniWoB++
LARGE, EVIDENCE = "large", "evidence"


@dataclass(frozen=True)
class Experts:
    """`small` judges screens for which there is no other model."""

    small: CriticModel
    large: CriticModel | None = None
    evidence: CriticModel | None = None

    @staticmethod
    def load() -> Experts:
        """The models that come with the package; BadCriticModel where one is missing."""
        return Experts(*(CriticModel.shipped(name) for name in (SHIPPED, SHIPPED_LARGE, SHIPPED_EVIDENCE)))

    def of(self, observation: Observation) -> tuple[str, CriticModel]:
        """The name and the model for an observation; the name is empty for the one for small pages."""
        if not is_small(observation.size) and self.large is not None:
            told = observation.evidence
            if told is not None and told.seen is not None and self.evidence is not None:
                return EVIDENCE, self.evidence
            return LARGE, self.large
        return "", self.small

    def threshold(self, bound: float) -> Threshold:
        """What each model's P(bad) has to clear; BadCriticModel where none was learnt for the bound."""
        others = {LARGE: self.large, EVIDENCE: self.evidence}
        learnt = {name: model.threshold(bound) for name, model in others.items() if model is not None}
        return replace(self.small.threshold(bound), models=learnt)


def is_small(size: tuple[int, int]) -> bool:
    """Whether a screen of this size is as small as the pages of MiniWoB++."""
    return size[0] * size[1] <= SMALL_PIXELS
