"""For people who write a forecaster, policy, strategy, proposer or bench of their own: tests to inherit, and fakes.

The conformance classes need pytest; the fakes need nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.kernels.bench.fake import FakeBench, FakeForecaster, FakeProposer
    from foretell.testing.bench import BenchConformance
    from foretell.testing.conformance import (
        ForecasterConformance,
        PolicyConformance,
        ProposerConformance,
        StrategyConformance,
    )

__all__ = [
    "BenchConformance",
    "FakeBench",
    "FakeForecaster",
    "FakeProposer",
    "ForecasterConformance",
    "PolicyConformance",
    "ProposerConformance",
    "StrategyConformance",
]
_HOMES = {"BenchConformance": "foretell.testing.bench"} | dict.fromkeys(
    ("FakeBench", "FakeForecaster", "FakeProposer"), "foretell.kernels.bench.fake"
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "foretell.testing.conformance")), name)
