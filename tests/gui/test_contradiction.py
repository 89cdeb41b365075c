"""The label under the point against what the agent says it clicks."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.contradiction import Contradiction, contradiction
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes
from foretell.gui.target import target_of

EYES = Eyes(Ocr())
SEND, CANCEL, ADDRESS = (500, 400), (660, 400), (300, 120)
ROWS = {"Alice": 170, "Robert": 230, "Carol": 290}
DELETE_X = 560


def page(dark: bool = False) -> Pixels:
    """A field with a label, a table whose rows each have a Delete button, and the buttons Send and Cancel."""
    picture = Image.new("RGB", (800, 480), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=20)

    def button(text: str, x: int, y: int) -> None:
        draw.rectangle((x - 60, y - 20, x + 60, y + 20), fill=(225, 225, 225), outline=(90, 90, 90))
        draw.text((x, y), text, fill="black", font=font, anchor="mm")

    draw.text((60, 20), "Team members", fill="black", font=ImageFont.load_default(size=28))
    draw.text((60, 108), "Address", fill="black", font=font)
    draw.rectangle((200, 100, 600, 140), fill="white", outline=(90, 90, 90), width=2)
    for name, y in ROWS.items():
        draw.text((60, y - 10), name, fill="black", font=font)
        button("Delete", DELETE_X, y)
    button("Send", *SEND)
    button("Cancel", *CANCEL)
    return np.asarray(255 - np.asarray(picture) if dark else picture)


def against(at: tuple[int, int], intent: str | None, image: Pixels | None = None) -> Contradiction:
    seen = EYES.see(Observation("Tidy up the team", page() if image is None else image))
    return contradiction(seen, Action(Kind.CLICK, Point(*at)), intent)


@pytest.mark.parametrize(
    ("intent", "names", "context"),
    [
        ("click Send", ("Send",), ()),
        ("Click the 'Send' button", ("Send",), ()),
        ("click the Send button to post the note", ("Send",), ()),
        ("press OK", ("OK",), ()),
        ("click Add to cart below Model 3", ("Add to cart below Model 3", "Add to cart", "Add"), ("Model 3",)),
        ("click 'Delete' in the row of Robert", ("Delete",), ("Robert",)),
        ("click the plus of 'Tea'", (), ("Tea",)),
        ("click the arrow to the previous month", (), ()),
        ("close the dialog", (), ()),
        ("点击“发送”按钮", ("发送",), ()),
        ("「送信」をクリック", ("送信",), ()),
        ("לחץ על „שלח”", ("שלח",), ()),
        ("انقر على «إرسال»", ("إرسال",), ()),
    ],
)  # fmt: skip
def test_what_an_intent_acts_on(intent: str, names: tuple[str, ...], context: tuple[str, ...]) -> None:
    found = target_of(intent)
    assert (found.names, found.context[: len(context)]) == (names, context)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("intent", ["click Send", "click the 'Send' button", "press the Send button to post it"])
def test_send_on_cancel_is_near_certainly_wrong(intent: str, dark: bool) -> None:
    found = against(CANCEL, intent, page(dark))
    assert found.strength >= 0.95 and found.error is ErrorClass.MISALIGNMENT and "'Cancel'" in found.sentence
    assert against(SEND, intent, page(dark)).strength == 0.0


def test_a_name_that_stands_elsewhere() -> None:
    found = against((DELETE_X, ROWS["Carol"]), "click the 'Send' button")
    assert found.strength >= 0.9 and found.error is ErrorClass.SEMANTIC


def test_rows_tell_namesakes_apart() -> None:
    intent = "click 'Delete' in the row of Robert"
    wrong, right = (against((DELETE_X, ROWS[name]), intent) for name in ("Carol", "Robert"))
    assert wrong.strength >= 0.9 and wrong.error is ErrorClass.CONSTRAINT and right.strength == 0.0
    assert against((DELETE_X, ROWS["Carol"]), "click 'Delete'").strength == 0.0  # no row is named


@pytest.mark.parametrize(
    ("at", "intent"),
    [
        (ADDRESS, "click the Address field"),  # the label stands beside it
        (ADDRESS, "click the field for the street"),  # no label of that name: unknown
        (CANCEL, "close the form"),
        (CANCEL, "click Cancel instead of Send"),
        (SEND, "click the blue button"),
        (SEND, "click the Sende button"),  # as good as the label
        (SEND, None),
        ((20, 460), "click Send"),  # nothing there: a matter of grounding
    ],
)
def test_what_does_not_contradict(at: tuple[int, int], intent: str | None) -> None:
    assert against(at, intent).strength == 0.0


def test_the_shipped_critic_is_near_certain_and_says_why() -> None:
    critic = EmbeddedCritic(eyes=EYES, pictures=False)
    seen = Observation("Send the note", page())
    wrong, right = (
        critic.judge(seen, Proposal((Action(Kind.CLICK, Point(*at)),), "click Send"), History())
        for at in (CANCEL, SEND)
    )
    assert wrong.p_bad >= 0.95 and wrong.error is ErrorClass.MISALIGNMENT
    assert "the label under the mark is 'Cancel'" in wrong.explanation
    assert right.p_bad < critic.model.threshold(0.02).of("step")
