"""One run of a search as an object: carry it on, or ask and tell; read the best; write the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from foretell.errors import BadInput, command_line

if TYPE_CHECKING:
    from foretell.kernels.candidate import Candidate
    from foretell.kernels.device import Device
    from foretell.kernels.protocols import Bench
    from foretell.kernels.search import Node, Question, RunJournal, RunState, Search
    from foretell.kernels.search.driver import OnEvent
    from foretell.kernels.task import Task
    from foretell.lm.usage import LmUsage
    from foretell.parts import Parts
    from foretell.report.start import OverStart

ELSEWHERE = "continue this run on the machine that it was started on"
NO_GPU = "use a machine with a GPU; `foretell explain` and `foretell forecast` need none: they take `--device h200`"
REPORT_NAME = "report.html"


@dataclass(frozen=True)
class Best:
    """The winner of a run: measured again at the end (`verified`), shown to be faster than the reference or not."""

    id: str
    source: str
    speedup: float
    low: float
    high: float
    verified: bool
    shown_faster: bool
    candidate: Candidate
    over_start: OverStart | None = None  # beside the kernel that the run started from

    def __repr__(self) -> str:
        held = "verified" if self.verified else "not yet verified"
        return f"<{self.candidate.language} candidate {self.id[:8]}: {self.speedup:.3g}x, {held}>"


@dataclass(frozen=True)
class Told:
    """What became of candidates that were told: the run before and after, and the candidates in order."""

    before: RunState
    state: RunState
    candidates: tuple[Candidate, ...]

    @property
    def nodes(self) -> list[Node | None]:
        """Each candidate as the run knows it; None for the reference, and for what the budgets left out."""
        return [self.state.nodes.get(candidate.id) for candidate in self.candidates]

    def __repr__(self) -> str:
        return f"<told {len(self.candidates)}: {', '.join(_words(node) for node in self.nodes)}>"


def _words(node: Node | None) -> str:
    if node is None:
        return "not taken in"
    if node.measurement is None:
        return f"{node.action.value}: {node.reason}"
    return f"{node.measurement.speedup:.3g}x" if node.measurement.speedup else node.measurement.status.value


class Run:
    """A run, started or not.

    `carry_on` proposes and measures until a budget is spent. Who writes candidates themselves calls `ask` and `tell`,
    and `finish` at the end. The bench is opened when it is first needed and closed by `close`, or at the end of a
    `with` block.
    """

    def __init__(
        self,
        task: Task,
        parts: Callable[[], Parts],
        journal: RunJournal | Callable[[], RunJournal],
        bench: Bench | None = None,
        use_catalogue: bool = True,
    ) -> None:
        """`parts` makes the parts of the search when they are first needed: reading and asking need none.

        For a new run `journal` makes its place, once the bench is there.
        """
        self.task, self._make_parts = task, parts
        self.resumed = not callable(journal)
        self._make_journal, self._bench, self._use_catalogue = journal, bench, use_catalogue
        self._stack = ExitStack()
        self._searched: Search | None = None

    @cached_property
    def parts(self) -> Parts:
        """What the search is made of."""
        return self._make_parts()

    @cached_property
    def _journal(self) -> RunJournal:
        return self._make_journal() if callable(self._make_journal) else self._make_journal

    @property
    def place(self) -> Path:
        """The directory of the run."""
        return self._journal.place

    @property
    def device(self) -> Device:
        """The device that measures; opens the bench."""
        return self._own_bench().device

    @property
    def state(self) -> RunState:
        """Where the run stands."""
        from foretell.kernels.search import RunState, load_run

        if self._searched is not None and self._searched.state.started is not None:
            return self._searched.state
        if not self.resumed or not self._journal.exists():
            return RunState()
        return load_run(self.place) if self._journal.durable else self._journal.state()

    @property
    def torn(self) -> object:
        """The line of the journal that a crash had cut short, if there was one."""
        return self._journal.torn

    def start(self) -> Self:
        """Start the run, or take up the one that is there, with larger budgets if these are, and leave it open."""
        self._search().start()
        self.resumed = True
        return self

    def carry_on(self, on_event: OnEvent | None = None) -> Self:
        """Start the run, or go on with it, until its proposer or its budgets are exhausted."""
        search = self._search(on_event)
        if self.resumed:
            search.resume()
        else:
            search.run()
        self.resumed = True
        return self

    def ask(self, parent: str | None = None, closing: str = "") -> Question:
        """What to write next: `prompt` for a language model, and `parent`, which `tell` takes. Changes nothing.

        `closing` says how to answer; by default with one block of code.
        """
        from foretell.kernels.search import ask

        if self.state.started is None:
            self.start()
        state = self.state
        return ask(state, self._costed(state.device), parent, closing)

    def tell(
        self, candidates: str | Path | Candidate | Sequence[str | Path | Candidate], parent: str | None = None
    ) -> Told:
        """Put candidates into the run: each is built, forecast and, where that pays, measured.

        Args:
            candidates: A language model's answer (one block of code, or a diff against the parent), a program's text,
                a file, a Candidate, or a list of these.
            parent: The program that they were made from, as `ask` named it; by default the one it would name now.
        """
        from foretell.kernels.search import is_over, spent
        from foretell.kernels.search.asking import next_parent, parent_named, program_of

        if self.state.started is None:
            self.start()
        before = self.state
        above = next_parent(before) if parent is None else parent_named(before, parent)
        many = not isinstance(candidates, str) and isinstance(candidates, Sequence)
        given = candidates if many else [candidates]
        program = program_of(before, above)
        read = tuple(self._candidate(each, program) for each in given)  # type: ignore[union-attr,arg-type]
        fresh = any(candidate.id not in before.known for candidate in read)
        if fresh:
            self.check_open()
        if not fresh and (not before.pending or is_over(before) or spent(before) is not None):
            return Told(before, before, read)
        return Told(before, self._search().tell(read, above), read)

    def finish(self) -> Self:
        """Measure the winners again and end the run; a finished one stays as it is."""
        from foretell.kernels.search import is_over

        if not is_over(self.state):
            self._search().finish()
        return self

    @property
    def spent(self) -> str:
        """Why the run takes no more candidates, in words; empty while it does."""
        from foretell.kernels.search import is_over, spent

        state = self.state
        if state.started is None:
            return ""
        reason = state.finished.reason if is_over(state) and state.finished else spent(state)
        return "" if reason is None else reason.sentence

    def check_open(self) -> None:
        """Raises BadInput if the run takes no more candidates: it is finished, or a budget is spent."""
        from foretell.kernels.search import is_over, spent
        from foretell.told import spent_words

        state = self.state
        if is_over(state):
            larger = 2 * int(state.config["budgets"]["measurements"])
            raise BadInput(
                f"the run in {self.place} is finished",
                "a run that is still open",
                f"{command_line('ask', self.place, '--measurements', larger)} continues it with a larger budget; "
                f"{command_line('report', self.place)} shows it",
            )
        reason = spent(state)
        if reason is not None:
            raise BadInput(
                f"{reason.sentence} ({spent_words(state)})",
                "a run with some budget left",
                f"{command_line('tell', self.place, '--finish')} measures the winners again and ends the run",
            )

    @property
    def best(self) -> Best | None:
        """The fastest candidate that works; None if there is none."""
        from foretell.report.candidates import shown
        from foretell.report.start import over_start

        state = self.state
        node = state.best if state.started is not None else None
        found = shown(node) if node is not None else None
        if node is None or found is None or found.speedup is None or found.low is None or found.high is None:
            return None
        verified = node.verified is not None and node.verified.ok
        values = (found.speedup, found.low, found.high, verified, state.shown_faster)
        return Best(node.id, node.candidate.source, *values, node.candidate, over_start(state))

    def report(self, path: str | Path | None = None) -> Path:
        """Write the report, one self-contained HTML file, and return its path."""
        from foretell.report import write_report

        durable = self._journal.durable
        target = Path(path) if path is not None else self.place / REPORT_NAME if durable else Path(REPORT_NAME)
        return write_report(self.state, target, self.place if durable else None)

    def language_models(self) -> tuple[LmUsage, ...]:
        """What language models were asked and cost in this process."""
        from foretell.lm.usage import usage_of

        usages = (usage_of("proposer", self.parts.proposer), usage_of("forecaster", self.parts.forecaster))
        return tuple(one for one in usages if one is not None)

    def close(self) -> None:
        """Close the bench, if this run opened it."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = self.state
        if state.started is None:
            return f"<run of {self.task.name}, not started>"
        best = self.best
        found = "nothing works yet" if best is None else f"best {best.speedup:.3g}x"
        ended = "open" if state.finished is None else state.finished.reason.sentence
        counts = f"{state.measured} measured of {state.considered}"
        return f"<run of {self.task.name} in {self.place}: {found}, {counts}, {ended}>"

    def _repr_html_(self) -> str:
        from html import escape

        state = self.state
        rows = "".join(
            f"<tr><td>{node.id[:8]}</td><td>{node.measurement.speedup:.3g}x</td>"
            f"<td>{node.candidate.origin.kind}</td></tr>"
            for node in state.ranking()[:5]
            if node.measurement is not None and node.measurement.speedup is not None
        )
        head = "<tr><th>candidate</th><th>speedup</th><th>by</th></tr>"
        return f"<p>{escape(repr(self))}</p>" + (f"<table>{head}{rows}</table>" if rows else "")

    def _search(self, on_event: OnEvent | None = None) -> Search:
        from foretell.kernels.search import Search
        from foretell.parts import catalogue, warmed

        if self._searched is not None and on_event is None:
            return self._searched
        known = catalogue() if self._use_catalogue else None
        parts, bench = self.parts, self._own_bench()
        task = self._costed(bench.device)
        self._searched = Search(
            task,
            bench,
            warmed(parts, task, bench.device, known, self.resumed),
            parts.forecaster,
            parts.strategy,
            parts.policy,
            parts.config,
            self._journal,
            catalogue=known,
            on_event=on_event,
        )
        return self._searched

    def _costed(self, device: Device) -> Task:
        """The task with its work read off its recorded reference, where no formula tells it and it can be recorded."""
        from foretell.kernels.cost.recordings import can_record
        from foretell.kernels.cost.tasks import costed

        if device.kind == "gpu" and self.task.kind != "library" and not self.task.costs and can_record():
            self.task = costed(self.task, device).task
        return self.task

    def _own_bench(self) -> Bench:
        from foretell.parts import bench_of, kind_of

        if self._bench is None:
            advice = (ELSEWHERE,) if self.resumed else (NO_GPU,) if self.task.files else ()
            kind = kind_of(self.parts.config.language)
            self._bench = self._stack.enter_context(bench_of(kind, *advice))
            self._stack.callback(self._forget_bench)
        return self._bench

    def _forget_bench(self) -> None:
        self._bench = self._searched = None

    def _candidate(self, given: str | Path | Candidate, parent: Candidate) -> Candidate:
        """What was told as a candidate of this run; texts are taken for a language model's."""
        from foretell.kernels.candidate import Candidate, Origin
        from foretell.kernels.languages.python_source import language_in_run
        from foretell.kernels.propose.answer import Unusable, read
        from foretell.kernels.propose.lm import AUTHOR
        from foretell.told import file_candidate

        language = self.parts.config.language
        if isinstance(given, Candidate):
            return given
        if isinstance(given, Path):
            return file_candidate(given, self.task, language, parent, "person")
        text = given
        if "```" in text or "~~~" in text:
            found = read(text, parent.source)
            if isinstance(found, Unusable):
                raise BadInput(found.message, "one block of code, or a program's text")
            text = found.source
        if not text.strip():
            raise BadInput("the answer is empty", "one block of code, or a program's text")
        spoken = language_in_run(text, language, self.task)
        return Candidate(self.task.key, spoken, text, Origin("model", AUTHOR), (parent.id,))
