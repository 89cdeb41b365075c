"""Oracles: for each task the next right step from the goal and the page as it is now, so that they recover from errors.

They read the DOM and act with pixels: `next_step` is the teacher of the bench, never a part of a critic. What they do
can be told from what was shown so far, with one exception: where something has to be looked for (a link in one of
several tabs), they go where it is, and `also_right` names the other places to look at.
"""

from __future__ import annotations

from foretell.gui.bench.oracles import choices, clicks, dates, drags, entries, feeds, figures, finds
from foretell.gui.bench.oracles.scene import Oracle, Planned, Scene
from foretell.gui.bench.pages import Page

__all__ = ["HELD_OUT", "ORACLES", "SOLVED_AT", "TASKS", "TRAIN", "Planned", "next_step"]

SOLVED_AT = 0.9  # raw reward from which an episode is solved: some tasks give a share of it for a part
ORACLES: dict[str, Oracle] = {
    task: oracle
    for family in (choices, clicks, dates, drags, entries, feeds, figures, finds)
    for task, oracle in family.ORACLES.items()
}
TASKS: tuple[str, ...] = tuple(sorted(ORACLES))
# Near twins stay together: no task of HELD_OUT looks like one of TRAIN.
_HELD_OUT_FAMILIES: tuple[tuple[str, ...], ...] = (
    ("click-checkboxes", "click-option", "number-checkboxes"),
    ("click-dialog",),
    ("click-shape", "count-shape", "identify-shape"),
    ("click-tab",),
    ("copy-paste",),
    ("drag-circle", "drag-single-shape"),
    ("drag-items", "drag-sort-numbers"),
    ("form-sequence", "use-slider"),
    ("login-user", "enter-password"),
    ("navigate-tree",),
    ("read-table",),
    ("scroll-text", "sign-agreement"),
    ("search-engine",),
    ("simple-", "visual-addition"),
    ("social-media",),
)
HELD_OUT: tuple[str, ...] = tuple(
    task for task in TASKS if any(task.startswith(family) for family in _HELD_OUT_FAMILIES)
)
TRAIN: tuple[str, ...] = tuple(task for task in TASKS if task not in HELD_OUT)


def next_step(task: str, goal: str, page: Page) -> Planned | None:
    """The next right step; None when nothing is left to do."""
    return ORACLES[task](Scene(task, goal, tuple(page.elements())))
