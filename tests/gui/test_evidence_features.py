"""What a page says of itself, as the critic with evidence counts it."""

from __future__ import annotations

import math

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.evidence_features import evidence_features
from foretell.gui.history import History
from foretell.gui.wording import wording

AT = Point(5, 6)
SEND, CANCEL = ElementAt("Send", "button"), ElementAt("Cancel", "button")
GOAL = wording("Press Send, then tick 'Urgent'.")


def told(
    here: ElementAt | None, intent: str | None, *seen: ElementAt, action: Action | None = None
) -> dict[str, float]:
    evidence = Evidence({AT: here} if here is not None else {}, None, seen)
    words = wording(intent) if intent else None
    return evidence_features(evidence, Action(Kind.CLICK, AT), History(), GOAL, words)


def test_the_element_under_the_point_and_its_rivals() -> None:
    right, wrong = (told(one, "click the 'Send' button", SEND, CANCEL) for one in (SEND, CANCEL))
    assert right["intent_like"] == right["goal_due"] == right["noun"] == 1.0 and right["elsewhere"] < 0.6
    assert wrong["elsewhere"] == 1.0 and wrong["intent_like"] < 0.6 and wrong["goal_best"] == 0.0
    nothing = told(None, "click the 'Send' button", SEND)
    assert nothing["known"] == 0.0 and nothing["elsewhere"] == 1.0
    assert math.isnan(told(SEND, None, SEND)["intent_like"])
    assert told(ElementAt("Send", "button", disabled=True), None)["disabled"] == 1.0


def test_of_several_of_one_name_the_row_decides() -> None:
    bob, eva = ElementAt("Delete", "link", context="Bob 3"), ElementAt("Delete", "link", context="Eva 5")
    own = told(bob, "click 'Delete' in the row of Eva", bob, eva)
    assert own["twins"] == 1.0 and own["context"] == 0.0 and own["context_best"] == 1.0


def test_what_is_on_already_and_what_has_the_focus() -> None:
    ticked = ElementAt("Urgent", "checkbox", checked=True)
    assert told(ticked, "tick Urgent", ticked)["on"] == 1.0
    assert told(ticked, "untick Urgent", ticked)["on"] == 0.0
    field = ElementAt("Name", "textbox", editable=True, value="plum")
    typing = Action(Kind.TYPE, text="plum")
    found = evidence_features(Evidence({}, field, ()), typing, History(), GOAL, wording("type 'plum' into Name"))
    assert found["focus_editable"] == found["focus_intent"] == found["focus_value"] == 1.0
    assert evidence_features(Evidence(), typing, History(), GOAL, None)["focus_editable"] == 0.0
