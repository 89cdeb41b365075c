"""The space of variations of one source: knobs with their values, and the text edits that set them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from foretell.kernels.propose.knobs.kinds import Kind
from foretell.kernels.tune.encode import Value

AS_WRITTEN = "as written"  # the value of a knob whose text in the source is not a number
MOST_KNOBS = 10
Setting = Mapping[str, Value]
Limit = Callable[[Setting], bool]


@dataclass(frozen=True)
class Slot:
    """The place of a knob's value in an edit: the value plus `offset`, or what `texts` has for it (else nothing)."""

    knob: str
    offset: int = 0
    texts: tuple[tuple[Value, str], ...] = ()

    def text(self, value: Value) -> str:
        if self.texts:
            return next((text for known, text in self.texts if known == value), "")
        return value if isinstance(value, str) else str(int(value) + self.offset)


@dataclass(frozen=True)
class Site:
    """A place in the source that a knob sets: `source[start:end]` becomes `before`, the value, `after`.

    The value is written as by a `Slot` with the same `offset` and `texts`.
    """

    start: int
    end: int
    before: str = ""
    after: str = ""
    offset: int = 0
    texts: tuple[tuple[Value, str], ...] = ()

    def edit(self, knob: str) -> Edit:
        return Edit(self.start, self.end, (self.before, Slot(knob, self.offset, self.texts), self.after))


@dataclass(frozen=True)
class Edit:
    """Text that replaces source[start:end] when one of its knobs has another value than in the source.

    With `always` it is replaced whatever the values: the text in the source is no setting of the knobs.
    """

    start: int
    end: int
    pieces: tuple[str | Slot, ...]
    always: bool = False

    @property
    def knobs(self) -> tuple[str, ...]:
        return tuple(piece.knob for piece in self.pieces if isinstance(piece, Slot))

    def text(self, setting: Setting) -> str:
        return "".join(piece if isinstance(piece, str) else piece.text(setting[piece.knob]) for piece in self.pieces)


@dataclass(frozen=True)
class Knob:
    """A tunable constant: `base` is its value in the source, `values` those to try, from the least to the most."""

    name: str
    kind: Kind
    base: Value
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Space:
    """All variations of a source. A setting has a value for each knob; `limits` refuse those that cannot work.

    `first` are settings that the source itself lists (configurations of an autotuner).
    """

    source: str
    knobs: tuple[Knob, ...]
    edits: tuple[Edit, ...]
    limits: tuple[Limit, ...] = ()
    first: tuple[Setting, ...] = field(default=())

    @property
    def base(self) -> dict[str, Value]:
        """The setting of the source; if `holds_source` is False, that of its first configuration."""
        return {knob.name: knob.base for knob in self.knobs}

    @property
    def holds_source(self) -> bool:
        """Whether the source itself is one of the settings."""
        return not any(edit.always for edit in self.edits)

    @property
    def size(self) -> int:
        """How many combinations of values there are, those that a limit refuses included."""
        return math.prod(len(knob.values) for knob in self.knobs)

    def render(self, setting: Setting) -> str:
        """The source with these values, everything else as it is, byte for byte."""
        base = self.base
        text = self.source
        for edit in sorted(self.edits, key=lambda edit: (edit.start, edit.end), reverse=True):
            if edit.always or any(setting[name] != base[name] for name in edit.knobs):
                text = text[: edit.start] + edit.text(setting) + text[edit.end :]
        return text

    def allows(self, setting: Setting) -> bool:
        """Whether no limit refuses a setting; that of the source is always allowed."""
        return all(limit(setting) for limit in self.limits) or setting == self.base

    def settings(self) -> Iterator[dict[str, Value]]:
        """Every allowed setting, the last knob turning fastest. There may be very many: see `size`."""
        names = [knob.name for knob in self.knobs]
        for values in itertools.product(*(knob.values for knob in self.knobs)):
            setting = dict(zip(names, values, strict=True))
            if self.allows(setting):
                yield setting

    def near(self, setting: Setting, changes: int) -> Iterator[dict[str, Value]]:
        """Allowed settings that differ from one in exactly so many knobs."""
        for chosen in itertools.combinations(self.knobs, changes):
            others = ([value for value in knob.values if value != setting[knob.name]] for knob in chosen)
            for values in itertools.product(*others):
                changed = {**setting, **{knob.name: value for knob, value in zip(chosen, values, strict=True)}}
                if self.allows(changed):
                    yield changed

    def draw(self, rng: np.random.Generator, attempts: int = 64) -> dict[str, Value] | None:
        """An allowed setting drawn at random, each value as likely as any other; None after so many refused ones."""
        for _ in range(attempts):
            setting = {knob.name: knob.values[int(rng.integers(len(knob.values)))] for knob in self.knobs}
            if self.allows(setting):
                return setting
        return None
