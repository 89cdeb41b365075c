"""From the right step to wrong ones: proposals of each of the twelve error classes, labelled by the page's own state.

`perturbations` gives candidates by class. Those that are not `exact` may turn out right after all: `Copies.helps`
carries them out on a copy of the page and asks whether that brought the goal closer.
"""

from __future__ import annotations

import random

from foretell.gui.bench.perturb.course import detours, ends, left_out, searches
from foretell.gui.bench.perturb.form import malformed
from foretell.gui.bench.perturb.moment import Moment, Wrong, moment_of, respoken, reworded
from foretell.gui.bench.perturb.motion import wrong_ways
from foretell.gui.bench.perturb.points import hallucinations, near_misses, wrong_elements
from foretell.gui.bench.perturb.texts import other_deeds, wrong_texts
from foretell.gui.bench.perturb.timing import hasty
from foretell.gui.judgement import ErrorClass

__all__ = ["Moment", "Wrong", "moment_of", "perturbations", "reworded"]

FAMILIES = (
    near_misses, wrong_elements, hallucinations, wrong_texts, other_deeds, left_out, ends, searches, detours,
    wrong_ways, malformed, hasty,
)  # fmt: skip


def perturbations(moment: Moment, rng: random.Random) -> dict[ErrorClass, list[Wrong]]:
    """Wrong proposals for this moment by error class, in random order; classes that do not apply are missing.

    None of them is the right step itself; intents are said in varying words.
    """
    found: dict[ErrorClass, list[Wrong]] = {}
    right = None if moment.planned is None else moment.planned.action
    for family in FAMILIES:
        for wrong in family(moment, rng):
            if wrong.busy is None and wrong.action is not None and wrong.action == right:
                continue
            found.setdefault(wrong.error, []).append(respoken(wrong, rng))
    for some in found.values():
        rng.shuffle(some)
    return found
