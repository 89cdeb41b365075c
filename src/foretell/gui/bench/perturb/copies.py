"""Copies of an episode's page at one of its moments, to carry out a doubtful step on: does it bring the goal closer?"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.gui.actions import Action
from foretell.gui.bench.oracles import SOLVED_AT, next_step
from foretell.gui.bench.pages import Element, Page

MOST_STEPS = 10  # with more still to do, the states after the step are compared instead
_UNTOLD = frozenset(("last-event", "background", "colour"))
ORACLE_ERRORS = (IndexError, ValueError, KeyError, StopIteration, AttributeError, TypeError)

# Numbers what is new on the page just as reading all elements does, in a fraction of the time.
NUMBER = """() => {
  const LEFT_OUT = new Set(['reward-display', 'sync-task-cover', 'click-canvas', 'query']);
  const SKIP = new Set(['SCRIPT', 'STYLE', 'LINK', 'META', 'TITLE']);
  if (!window.__refs) { window.__refs = new WeakMap(); window.__next_ref = 1; }
  const walk = (e) => {
    if (SKIP.has(e.tagName) || LEFT_OUT.has(e.id)) return;
    if (!window.__refs.has(e)) window.__refs.set(e, window.__next_ref++);
    for (const child of e.children) walk(child);
  };
  for (const child of document.body.children) walk(child);
}"""

State = tuple[object, ...]


def state_of(elements: Sequence[Element]) -> State:
    """What a page's elements are like, without the focus: equal for pages in equal states."""
    return tuple(
        (
            e.tag,
            e.text,
            e.value,
            e.visible,
            tuple(round(side) for side in e.box),
            tuple(sorted((name, value) for name, value in e.attributes.items() if name not in _UNTOLD)),
        )
        for e in elements
    )


class Copies:
    """An episode's page, brought back to the moment after `actions` whenever a try has changed it.

    `remaining` is how many right steps lead from there to the end. `after` is the state after the right step.
    """

    def __init__(
        self, page: Page, task: str, seed: int, actions: Sequence[Action], remaining: int, after: State | None
    ) -> None:
        self.page, self.task, self.seed = page, task, seed
        self.actions, self.remaining, self.after = tuple(actions), remaining, after
        self.fresh()

    def fresh(self) -> None:
        """Begin again and do what had been done. Elements are numbered on the way so that their refs are the same."""
        self.page.start(self.task, self.seed)
        for action in self.actions:
            self.page.evaluate(NUMBER)
            self.page.perform(action)
        elements = self.page.elements()
        self.before, self.focused = state_of(elements), _focus(elements)
        self._spoilt = False

    def restore(self) -> None:
        """The page as it was, begun again only where a try has changed it."""
        if self._spoilt:
            self.fresh()

    def helps(self, action: Action) -> bool:
        """Whether fewer right steps are left after the action than before it: then it is no error."""
        self.restore()
        self.page.perform(action)
        elements = self.page.elements()
        state, focused = state_of(elements), _focus(elements)
        self._spoilt = state != self.before or focused != self.focused or self.page.done
        if self.page.done:
            return self.page.reward >= SOLVED_AT
        if state == self.before and focused in (self.focused, None):
            return False
        if state == self.after:
            return True
        return self._finishes() if self.remaining <= MOST_STEPS else False

    def _finishes(self) -> bool:
        for _ in range(self.remaining - 1):
            try:
                planned = next_step(self.task, self.page.goal, self.page)
            except ORACLE_ERRORS:
                return False
            if planned is None:
                return False
            self.page.perform(planned.action)
            if self.page.done:
                return self.page.reward >= SOLVED_AT
        return False


def _focus(elements: Sequence[Element]) -> int | None:
    return next((e.ref for e in elements if e.focused), None)
