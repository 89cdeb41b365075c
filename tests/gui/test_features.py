"""What the critic knows of a proposal: where it points, what stands there, and whether words mean that."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.checks import Finding
from foretell.gui.features import features
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Proposal
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.wording import alike, colour_name, part_of, wording
from tests.gui.drawn import CANCEL, FIELD, GOAL, SUBMIT, form, middle

EYES = Eyes(Ocr())


def click(box: tuple[int, int, int, int], intent: str | None = None, dx: float = 0.0) -> Proposal:
    x, y = middle(box)
    return Proposal((Action(Kind.CLICK, point=Point(x + dx, y)),), intent)


def told(proposal: Proposal, history: History | None = None, typed: str = "", goal: str = GOAL) -> dict[str, float]:
    observation = Observation(goal, form(goal, typed))
    return features(observation, proposal, history or History(), EYES.see(observation))


def after(*actions: Action, changed: bool = True) -> History:
    return History(steps=tuple(Step(action, "before", changed) for action in actions), count=len(actions))


def test_names_are_the_same_whatever_is_proposed() -> None:
    proposals = [
        click(SUBMIT, "click the button 'Submit'"),
        Proposal((Action(Kind.TYPE, text="karrie"),)),
        Proposal((Action(Kind.SCROLL, dy=200.0),), "scroll down"),
        Proposal((Action(Kind.TERMINATE, success=True),)),
        Proposal((Action(Kind.DRAG, point=Point(1, 1), to=Point(900, -5)),), "drag it to the right"),
        Proposal((Action(Kind.CLICK),)),
        Proposal((), fault="no action in it"),
    ]
    known = set(told(proposals[0]))
    for proposal in proposals[1:]:
        assert {name for name in set(told(proposal)) ^ known if not name.startswith("rule.")} <= {
            "intent.quoted_is_goals",
            "to_any_click",
        }


def test_a_hit_a_miss_and_another_button() -> None:
    intent = "click the button 'Submit'"
    hit, miss, other = (told(one) for one in (click(SUBMIT, intent), click(SUBMIT, intent, 130), click(CANCEL, intent)))
    assert hit["at.on_button"] == 1 and hit["at.intent_quoted"] == 1 and hit["at.intent_on_best"] == 1
    assert miss["at.on_nothing"] == 1 and 20 < miss["at.away"] < 60 and miss["at.intent_on_best"] == 0
    assert other["at.on_button"] == 1 and other["at.intent_quoted"] < 0.6 and other["at.intent_rank"] >= 1
    assert hit["at.goal_here"] > other["at.goal_here"]


def test_without_an_intent_nothing_is_said_of_it() -> None:
    found = told(click(SUBMIT))
    assert all(math.isnan(value) for name, value in found.items() if name.startswith(("at.intent_", "intent.")))


def test_the_instruction_is_no_button() -> None:
    x, y = 200.0, 20.0
    found = told(Proposal((Action(Kind.CLICK, point=Point(x, y)),)))
    assert found["at.in_instruction"] == 1 and found["at.on_text"] == 0 and found["told"] == 1


def test_what_is_not_on_the_screen_is_absent() -> None:
    found = told(click(SUBMIT, "click the link 'Forgot password'", 130))
    assert found["at.intent_absent"] == 1 and found["intent.on_screen"] < 0.5


def test_typing_against_goal_and_focus() -> None:
    focus = after(Action(Kind.CLICK, point=Point(*middle(FIELD))))
    right = told(Proposal((Action(Kind.TYPE, text="karrie"),), "type 'karrie' into the username field"), focus)
    wrong = told(Proposal((Action(Kind.TYPE, text="karie"),), "type 'karrie' into the username field"), focus)
    blind = told(Proposal((Action(Kind.TYPE, text="karrie"),)))
    assert right["type.is_quoted"] == 1 and right["focus.on_field"] == 1 and right["type.label_intent"] == 1
    assert wrong["type.is_quoted"] == 0 and wrong["type.intent_quoted"] < 1
    assert blind["focus.clicked"] == 0


def test_a_shortcut_is_not_its_letter() -> None:
    copies, types, leaves = (
        told(Proposal((Action(Kind.KEY, keys=keys),))) for keys in (("ctrl", "c"), ("c",), ("f5",))
    )
    assert copies["key.ctrl_c"] == 1 and copies["key.letter"] == copies["key.other"] == 0
    assert types["key.ctrl_c"] == 0 and types["key.letter"] == 1 and leaves["key.other"] == 1
    assert math.isnan(told(click(SUBMIT))["key.ctrl_c"])


def test_repetition_is_counted() -> None:
    proposal = click(SUBMIT)
    found = told(proposal, after(proposal.actions[0], proposal.actions[0], changed=False))
    assert found["done_before"] == 2 and found["done_in_vain"] == 1 and found["stalled"] == 2
    assert told(proposal)["done_before"] == 0


def test_findings_count_by_their_strength() -> None:
    observation = Observation(GOAL, form())
    findings = [Finding(ErrorClass.VECTOR, 0.4, "", "a"), Finding(ErrorClass.VECTOR, 0.7, "", "b")]
    found = features(observation, click(SUBMIT), History(), EYES.see(observation), findings)
    assert found["check.vector"] == found["check.most"] == 0.7 and found["rule.a"] == 0.4
    assert found["check.timing"] == 0


def test_open_quotes_close_with_the_history() -> None:
    done = replace(History(), achieved=("'karrie' is in the field",))
    assert told(click(SUBMIT))["quotes_open"] == 1 and told(click(SUBMIT), done)["quotes_open"] == 0


def test_colours_and_shapes() -> None:
    found = told(Proposal((Action(Kind.CLICK, point=Point(410, 210)),)), goal="Click on the red circle.")
    assert found["at.goal_colour"] == 1 and found["at.goal_shape"] == 1
    other = told(click(SUBMIT), goal="Click on the red circle.")
    assert other["at.goal_colour"] == 0


def test_words() -> None:
    assert wording("Click \"OK\", then 'Save as'.").quoted == ("OK", "Save as")
    assert wording("the user's 3rd field").quoted == ()
    assert wording("tick the red checkbox").controls == {"checkbox"}
    assert alike("Submit", "SUBMIT") == 1 and alike("HF2", "HF2.") > 0.9 and alike("0il", "Oil") > 0.9
    assert alike("Submit", "Cancel") < 0.5 and alike("", "x") == 0
    assert part_of("Spaghetti and Meatballs", "Order: spaghetti, meatballs") == 1
    assert [colour_name(c) for c in ((255, 0, 0), (0, 0, 255), (255, 255, 255), (128, 128, 128))] == [
        "red",
        "blue",
        "white",
        "grey",
    ]


def test_words_without_blanks_between_them_are_found_and_unknown_scripts_are_not_held_against_a_proposal() -> None:
    assert part_of("提交", "点击提交按钮") == 1.0 > part_of("取消", "点击提交按钮")
    assert wording("点击「提交」").quoted == wording("点击《提交》").quoted == ("提交",)
    assert wording("clique sur « Envoyer »").quoted == ("Envoyer",)
    assert wording("Klicke auf „Senden“").quoted == ("Senden",)
    hebrew = told(click(CANCEL, "לחץ על 'שלח'"))
    assert math.isnan(hebrew["at.intent_here"]) and math.isnan(hebrew["intent.on_screen"])
    assert told(click(CANCEL, "click 'Sesame'"))["at.intent_absent"] == 1.0
    assert math.isnan(told(click(CANCEL, "click 'إرسال'"))["at.intent_absent"])
