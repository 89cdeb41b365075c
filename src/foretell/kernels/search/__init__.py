"""Search: strategies, events, the state they fold into, and the loop that drives them."""

from foretell.kernels.search.asking import NoSuchParent, Question, ask, is_over, spent
from foretell.kernels.search.child import Child
from foretell.kernels.search.config import SearchConfig
from foretell.kernels.search.driver import UNPROPOSED, Search
from foretell.kernels.search.events import (
    Event,
    Extended,
    Finished,
    Measured,
    Round,
    RunStarted,
    StopReason,
    Verified,
    event_from,
    to_stored,
)
from foretell.kernels.search.journals import FileJournal, MemoryJournal, RunJournal
from foretell.kernels.search.judge import BenchBroken
from foretell.kernels.search.load import load_run, started_here
from foretell.kernels.search.puct import PuctStrategy
from foretell.kernels.search.state import Node, RunState
from foretell.kernels.search.strategies import STRATEGIES, make_strategy
from foretell.kernels.search.strategy import Archive, Strategy

__all__ = [
    "STRATEGIES",
    "UNPROPOSED",
    "Archive",
    "BenchBroken",
    "Child",
    "Event",
    "Extended",
    "FileJournal",
    "Finished",
    "Measured",
    "MemoryJournal",
    "NoSuchParent",
    "Node",
    "PuctStrategy",
    "Question",
    "Round",
    "RunJournal",
    "RunStarted",
    "RunState",
    "Search",
    "SearchConfig",
    "StopReason",
    "Strategy",
    "Verified",
    "ask",
    "event_from",
    "is_over",
    "load_run",
    "make_strategy",
    "spent",
    "started_here",
    "to_stored",
]
