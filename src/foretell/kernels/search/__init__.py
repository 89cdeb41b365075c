"""Search: strategies, events, the state they fold into, and the loop that drives them."""

from foretell.kernels.search.config import SearchConfig
from foretell.kernels.search.driver import Search
from foretell.kernels.search.events import (
    Child,
    Event,
    Finished,
    Measured,
    Round,
    RunStarted,
    StopReason,
    Verified,
    event_from,
)
from foretell.kernels.search.judge import BenchBroken
from foretell.kernels.search.load import load_run, started_here
from foretell.kernels.search.puct import PuctStrategy
from foretell.kernels.search.state import Node, RunState
from foretell.kernels.search.strategies import STRATEGIES, make_strategy
from foretell.kernels.search.strategy import Archive, Strategy

__all__ = [
    "STRATEGIES",
    "Archive",
    "BenchBroken",
    "Child",
    "Event",
    "Finished",
    "Measured",
    "Node",
    "PuctStrategy",
    "Round",
    "RunStarted",
    "RunState",
    "Search",
    "SearchConfig",
    "StopReason",
    "Strategy",
    "Verified",
    "event_from",
    "load_run",
    "make_strategy",
    "started_here",
]
