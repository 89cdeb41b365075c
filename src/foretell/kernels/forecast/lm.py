"""The language model as a forecaster: reads the candidate and says what a measurement would show.

Two forms. `distribution`: the model reasons briefly and states a distribution, which is read strictly; what cannot be
read is asked for once more with the reason. `direct`: the probabilities of nine one-token answers, from one forward
pass. What fails is forecast by a fallback and counted, so that an evaluation can hold it against the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from foretell.belief import N_BINS, Forecast
from foretell.kernels.device import Device
from foretell.kernels.forecast import answer, brief, hundredths, prompt
from foretell.kernels.forecast.nearest import nearest
from foretell.kernels.forecast.roofline import CERTAIN, RooflineForecaster, build_failed, reference_times_s
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Forecaster, Subject
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task
from foretell.lm import BadModelName, Failure, LanguageModel, Message, Reply, Request, is_model_name, make_model
from foretell.lm.adapter import Calibration, Card
from foretell.lm.names import split_options
from foretell.lm.paid import Paid

FLOOR = 0.02  # probability spread evenly over the bins: a model's zero is not knowledge
NEIGHBOURS = 3
STYLES = ("full", *brief.STYLES)
MAX_TOKENS = 2048
QUOTED_CHARACTERS = 2000  # of an unreadable answer, shown to the model that is to mend it
START_COST_S: Mapping[str, float] = {"distribution": 10.0, "direct": 1.0}  # until replies have been timed

_Outcome = Reply | Failure
_Reading = answer.Answer | answer.Unreadable | Failure


@dataclass
class Totals(Paid):
    """What a forecaster has asked for and paid so far; `asked` leaves out what was asked again."""

    forecasts: int = 0
    retries: int = 0
    renormalised: int = 0


class LmForecaster:
    """Forecasts by asking a language model.

    `show` names the parts of the prompt that are wanted beside task, bins and candidate (`prompt.PARTS`). What was
    measured is shown as the `neighbours` most similar candidates; forecasts are a function of the settings, of the list
    last given to `learn` and of the model's answers, so give it a model that is cached or answers always alike.

    A trained model is asked in the `style` of its card; `trees` are those whose word the style `brief.TOLD` tells, by
    default the shipped ones.

    `troubles` counts forecasts that are the fallback's, by what went wrong (`request:timeout`, `answer:bad_sum`, ...);
    `last_troubles` says which those are among the forecasts last made, and `last_reasons` why, in words. `totals` and
    `cost_s` (mean seconds of one forecast's questions, cached ones at what they once took) are running figures and
    shape no forecast.
    """

    def __init__(
        self,
        model: LanguageModel,
        form: str = "distribution",
        show: Sequence[str] = prompt.PARTS,
        neighbours: int = NEIGHBOURS,
        max_tokens: int = MAX_TOKENS,
        fallback: Forecaster | None = None,
        style: str = "full",
        calibration: Calibration | None = None,
        trees: Forecaster | None = None,
    ) -> None:
        if form not in prompt.FORMS:
            raise ValueError(f"the form of an answer is one of {', '.join(prompt.FORMS)}, got {form!r}")
        if style not in STYLES:
            raise ValueError(f"the style of a question is one of {', '.join(STYLES)}, got {style!r}")
        if unknown := [part for part in show if part not in prompt.PARTS]:
            raise ValueError(f"a prompt can show {', '.join(prompt.PARTS)}; unknown: {', '.join(unknown)}")
        self.name = f"lm:{form}:{model.name}"
        self.cost_s = START_COST_S[form]
        self.troubles: Counter[str] = Counter()
        self.last_troubles: tuple[str | None, ...] = ()
        self.last_reasons: tuple[str | None, ...] = ()
        self.totals = Totals()
        self._model, self._form, self._show = model, form, tuple(show)
        self._neighbours, self._max_tokens = neighbours, max_tokens
        self._style, self._calibration = style, calibration
        self._trees = (trees or TrainedForecaster()) if style == brief.TOLD else None
        self._fallback: Forecaster = RooflineForecaster() if fallback is None else fallback
        self._about: tuple[str, str] = ("", "")
        self._measured: list[tuple[Subject, Measurement]] = []

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        """Keep the measurements, of which each prompt shows the nearest; what was learnt before is forgotten."""
        for other in (self._fallback, self._trees):
            if other is not None:
                other.learn(task, device, measured)
        self._about, self._measured = (task.identity, device.id), list(measured)

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        """One forecast a subject. A build that is known to have failed costs no question."""
        wide = self._fallback.forecast(task, device, subjects)
        doomed = [build_failed(subject) and "build" in self._show for subject in subjects]
        asked = [i for i in range(len(subjects)) if not doomed[i]]
        words = self._words(task, device, subjects)
        requests = self._requests(task, device, [subjects[i] for i in asked], [words[i] for i in asked])
        readings = dict(zip(asked, self._readings(requests), strict=True))
        found, troubles = [], []
        for i, fallback in enumerate(wide):
            reading = readings.get(i)
            trouble = _trouble(reading)
            troubles.append(trouble)
            if isinstance(reading, answer.Answer):
                found.append(believed(reading, words[i]))
            else:
                found.append(replace(fallback, p_fail=CERTAIN) if doomed[i] else fallback)
        self.last_troubles = tuple(troubles)
        self.last_reasons = tuple(getattr(readings.get(i), "message", None) for i in range(len(subjects)))
        self.troubles.update(trouble for trouble in troubles if trouble is not None)
        self.totals.forecasts += len(found)
        self.totals.asked += len(requests)
        if self.totals.replies:
            self.cost_s = self.totals.seconds / max(1, self.totals.asked)
        return found

    def requests(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Request]:
        """What the model is asked about each subject, the first time; pure."""
        return self._requests(task, device, subjects, self._words(task, device, subjects))

    def _requests(
        self, task: Task, device: Device, subjects: Sequence[Subject], words: Sequence[Forecast | None]
    ) -> list[Request]:
        """`words` are what the trees expect of each, where that is told."""
        measured = self._measured if self._about == (task.identity, device.id) else []
        known_s = reference_times_s([measurement for _, measurement in measured])
        if self._style in brief.STYLES:
            return self._brief_requests(task, device, subjects, known_s, words)
        direct = self._form == "direct"
        found = []
        for subject in subjects:
            near = nearest(subject.candidate, measured, self._neighbours) if "neighbours" in self._show else []
            evidence = prompt.Evidence(near, known_s)
            text = prompt.messages(task, device, subject, evidence, self._form, self._show)
            found.append(
                Request(
                    messages=text,
                    schema=None if direct else prompt.answer_schema(),
                    choices=answer.CHOICES if direct else (),
                    max_tokens=1 if direct else self._max_tokens,
                )
            )
        return found

    def _brief_requests(
        self,
        task: Task,
        device: Device,
        subjects: Sequence[Subject],
        known_s: Mapping[str, float],
        words: Sequence[Forecast | None],
    ) -> list[Request]:
        """Questions as trained models know them."""
        asker = brief.Asker(task, device, {name: seconds * 1e6 for name, seconds in known_s.items()})
        reference = brief.reference_base(task)
        asked = [asker.messages(one, reference, self._form, word) for one, word in zip(subjects, words, strict=True)]
        choices, most = (answer.CHOICES, 1) if self._form == "direct" else ((), self._max_tokens)
        return [Request(messages, None, choices, most) for messages in asked]

    def _words(self, task: Task, device: Device, subjects: Sequence[Subject]) -> Sequence[Forecast | None]:
        """What the trees expect, where the model is told."""
        return [None] * len(subjects) if self._trees is None else self._trees.forecast(task, device, subjects)

    def _readings(self, requests: Sequence[Request]) -> list[_Reading]:
        outcomes = self._ask(requests)
        readings = [self._read(outcome) for outcome in outcomes]
        if self._form == "distribution":
            again = [i for i, reading in enumerate(readings) if isinstance(reading, answer.Unreadable)]
            self.totals.retries += len(again)
            mended = self._ask([_once_more(requests[i], outcomes[i], readings[i]) for i in again])
            for i, outcome in zip(again, mended, strict=True):
                readings[i] = self._read(outcome)
        self.totals.renormalised += sum(
            isinstance(reading, answer.Answer) and reading.renormalised and self._form == "distribution"
            for reading in readings
        )
        return readings

    def _ask(self, requests: Sequence[Request]) -> list[_Outcome]:
        outcomes = self._model.ask(requests) if requests else []
        for outcome in outcomes:
            self.totals.add(outcome)
        return outcomes

    def _corrected(self, probs: Mapping[str, float]) -> Mapping[str, float]:
        """Probabilities of the choices by the adapter's calibration; as they are where there is none."""
        if self._calibration is None or sum(probs.values()) < answer.LEAST_MASS:
            return probs
        keys = (answer.FAILURE_KEY, *answer.CHOICES[:-1])
        stated = np.array([probs.get(key, 0.0) for key in keys])
        return dict(zip(keys, self._calibration.corrected(stated / stated.sum()).tolist(), strict=True))

    def _read(self, outcome: _Outcome) -> _Reading:
        if isinstance(outcome, Failure):
            return outcome
        if self._form == "direct":
            return answer.read_choices(self._corrected(outcome.choice_probs or {}))
        text = outcome.text
        reading = hundredths.read(text) if self._style in brief.STYLES else answer.read(text)
        if isinstance(reading, answer.Unreadable) and outcome.cut_off:
            return replace(reading, message=f"{reading.message}; the answer was cut off, so reason less")
        return reading


def is_name(name: str) -> bool:
    """Whether `from_name` is meant: `openai:...`, `local:...` or `files:...`."""
    return is_model_name(name)


def from_name(name: str, cache_folder: Path | None = None) -> LmForecaster:
    """The forecaster of a name such as `openai:MODEL@URL`, `local:PATH` or `files:FOLDER`, or BadModelName.

    Options follow a question mark: `form=direct`, `show=reference,build`, `neighbours=5`, `max_tokens=4096` and those
    of the model (see `docs/lm.md`). Replies are kept in `cache_folder`, by default in Foretell's cache.
    """
    base, options = split_options(name)
    own = {key: options.pop(key) for key in ("form", "show", "neighbours", "max_tokens") if key in options}
    query = urlencode(options)
    show = [part for part in own["show"].split(",") if part] if "show" in own else list(prompt.PARTS)
    counts = {"neighbours": NEIGHBOURS, "max_tokens": MAX_TOKENS}
    for key, least in (("neighbours", 0), ("max_tokens", 1)):
        if key in own:
            if not own[key].isdecimal() or not least <= int(own[key]) < 10**6:
                raise BadModelName(f"{key} must be a whole number of at least {least}, got {own[key]!r}")
            counts[key] = int(own[key])
    folder = cache_dir() / "lm" if cache_folder is None else cache_folder
    model = make_model(f"{base}?{query}" if query else base, folder)
    kind, _, rest = base.partition(":")
    adapter = options.get("adapter") or (rest if kind == "local" else None)
    try:
        card = Card.read(Path(adapter).expanduser()) if adapter else None
        if card is not None:  # asked as it was trained; direct answers are what its calibration is for
            form = own.get("form", "direct")
            calibration = card.calibration if form == "direct" else None
            return LmForecaster(model, form, show, 0, counts["max_tokens"], None, card.style, calibration)
        return LmForecaster(model, own.get("form", prompt.FORMS[0]), show, counts["neighbours"], counts["max_tokens"])
    except ValueError as error:
        raise BadModelName(f"{name!r}: {error}") from error


def believed(reading: answer.Answer, word: Forecast | None) -> Forecast:
    """The stated distribution with a little doubt added: no bin is impossible and nothing is certain.

    Within a bin the model says nothing; where it was told the word of trees, that stands there.
    """
    probs = [(1.0 - FLOOR) * prob + FLOOR / N_BINS for prob in reading.probs]
    p_fail = min(CERTAIN, max(1.0 - CERTAIN, reading.p_fail))
    return Forecast.from_bins(probs, p_fail) if word is None else word.with_bins(probs, p_fail)


def _trouble(reading: _Reading | None) -> str | None:
    if isinstance(reading, Failure):
        return f"request:{reading.kind.value}"
    return f"answer:{reading.kind.value}" if isinstance(reading, answer.Unreadable) else None


def _once_more(request: Request, outcome: _Outcome, reading: _Reading) -> Request:
    """The request again, after what was answered and why it could not be read."""
    said = outcome.text[-QUOTED_CHARACTERS:] if isinstance(outcome, Reply) else ""
    why = reading.message if isinstance(reading, answer.Unreadable) else ""
    complaint = f"That could not be read: {why}. Answer again, in the form asked for and with nothing else."
    return replace(
        request, messages=(*request.messages, Message("assistant", said or "(nothing)"), Message("user", complaint))
    )
