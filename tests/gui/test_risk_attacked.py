"""Ways around the care for irreversible actions, and ordinary steps that must not be taken for one."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import CLICKS, Action, Kind, Point
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.evidence_contradiction import disagrees
from foretell.gui.guard import Guard
from foretell.gui.history import History
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.pressed import Label
from foretell.gui.risk import EVIDENCE, RiskTier, is_final, is_final_label, presses
from foretell.gui.verdict import Mode, Reason
from foretell.gui.vision import VisionCritic
from foretell.gui.vision_final import labels_in
from foretell.lm import Reply, Request
from tests.gui.drawn import CANCEL, GOAL, SUBMIT, form, middle
from tests.gui.screens import FakeCritic

CLICK, OTHER = Action(Kind.CLICK, Point(100, 100)), Action(Kind.CLICK, Point(300, 300))
DRAG = Action(Kind.DRAG, Point(10, 10), Point(900, 600))
WHITE = Observation("Work", np.full((720, 1280, 3), 255, np.uint8))


def key(*keys: str) -> Action:
    return Action(Kind.KEY, keys=keys)


def typed(text: str, point: Point | None = None) -> Action:
    return Action(Kind.TYPE, point, text=text)


@pytest.mark.parametrize(
    "label",
    ["Place order", "Place your order", "Post comment", "Agree and pay", "Confirm payment", "Confirm deletion",
     "Submit payment", "Move to trash", "Remove permanently", "Withdraw", "Sell all", "Force push", "Empty trash",
     "I understand the consequences, delete this repository", "Yes, permanently delete all my data",
     "Permanently delete this project and everything in it", "Ja, alle meine Daten endgültig löschen",
     "Cancella tutto", "CANCELLA TUTTO", "Absenden", "Zahlung bestätigen", "Überweisung ausführen", "Régler",
     "Effectuer le paiement", "Confirmar pago", "Suprimir", "Realizar transferencia", "Effettua pagamento",
     "Подтвердить оплату", "Удалить всё", "결제하기", "삭제하기", "お支払いを確定", "delete_account", "提交订单"],
)  # fmt: skip
def test_labels_in_other_forms(label: str) -> None:
    assert is_final_label(label)


@pytest.mark.parametrize(
    "label",
    ["Next", "Search", "Sort by order", "Order by", "Order history", "Purchase history", "Post title", "Blog post",
     "Latest post", "Reset zoom", "File format", "Drop-down", "Payment methods", "Undo send", "Don't delete",
     "Cart is empty", "Trash", "Add to cart", "Confirm password", "Remove", "Weiter", "Papierkorb", "Versandkosten",
     "Bestellungen", "Enregistrer", "Moyens de paiement",
     "Clé publique", "Message supprimé", "Code verwenden", "Zahlen", "Confirmar contraseña", "Ordina per",
     "Добавить в корзину",
     "已发送", "已删除邮件", "送信済み", "送信者", "注文履歴", "お支払い方法", "결제 수단", "삭제된 항목", "게시판",
     "You can delete your account at any time", "Edit, send and delete messages in one place",
     "To delete your account, please contact our support team first"],
)  # fmt: skip
def test_ordinary_labels(label: str) -> None:
    assert not is_final_label(label) and not is_final_label(label, read=True)


@pytest.mark.parametrize(
    "intent",
    ["I will now permanently delete the account", "Click the trash icon to delete the message", "deleting the account",
     "Click the icon to send the mail", "Now that all is filled in, send the mail", "Go ahead and delete the account",
     "Press the blue arrow, which sends the payment", "Click on the checkmark icon in order to transfer the money",
     "The next step is to delete the file", "Now I can delete the account", "Click Confirm to delete the account",
     "Click the OK button to send the payment", "click Agree and pay", "click Move to trash", "Order the pizza",
     "click 'I understand the consequences, delete this repository'", "Ich lösche jetzt das Konto", "删除该账户"],
)  # fmt: skip
def test_intents_in_other_words(intent: str) -> None:
    assert is_final(Proposal((CLICK,), intent))


@pytest.mark.parametrize(
    "intent",
    ["click the To field to send the mail", "open the Delete dialog", "click Cancel instead of deleting", "click Next",
     "open Delete menu", "click Next to send the mail later", "click the Search field to replace the text",
     "sort the list by order", "click the Sort by order link", "open my order history", "Navigate to post 5",
     "click the Post title field", "find the delete button", "click the gear icon to delete the account later",
     "click the menu icon to find the delete option", "close the delete confirmation", "click Reset zoom",
     "open the message that was sent", "click Keep, do not delete", "go back without sending", "click Save draft",
     "click the compose button to write the mail", "click the sender's name", "Klicke auf 'Weiter'",
     "cliquez sur 'Enregistrer'", "点击下一步", "打开已删除邮件", "type the recipient to send later"],
)  # fmt: skip
def test_ordinary_intents(intent: str) -> None:
    assert not is_final(Proposal((CLICK,), intent))


@pytest.mark.parametrize(
    ("actions", "intent"),
    [((typed("see you\n"),), "Send the message"), ((typed("rm -rf *\n"),), "Delete all files in the folder"),
     ((DRAG,), "Delete report.pdf by dragging it to the Trash"), ((DRAG,), "drag report.pdf to the bin"),
     ((key("backspace"),), "Delete the selected files"), ((key("Del"),), "Delete the selected files"),
     ((key("kp_enter"),), "Send the mail"), ((key("enter"),), "Press Enter to send the mail"),
     ((key("space"),), "Press the focused button to delete it"), ((key("ctrl", "s"),), "Overwrite the file"),
     ((key("#"),), "Delete the conversation"), ((key("shift", "del"),), None),
     ((CLICK, OTHER), "click Next, click Delete"), ((CLICK, OTHER), "open the menu and choose Delete"),
     ((CLICK, typed("100"), OTHER), "click the field, type 100 and transfer the money"),
     ((CLICK, OTHER, CLICK), "fill it in, then delete the account")],
)  # fmt: skip
def test_everything_that_presses(actions: tuple[Action, ...], intent: str | None) -> None:
    assert is_final(Proposal(actions, intent))


@pytest.mark.parametrize(
    ("actions", "intent"),
    [((typed("send"),), "type 'send'"), ((typed("delete account\n"),), "Search for delete account"),
     ((typed("bob", Point(9, 9)),), "type bob into the To field to send the mail"),
     ((DRAG,), "drag the slider to 5"), ((DRAG,), "drag to select the text to delete"),
     ((key("tab"),), "press Tab to get to the Send button"), ((key("ctrl", "a"),), "select all text to replace it"),
     ((key("backspace"),), "Press Backspace to delete the last character"), ((key("enter"),), "press Enter to search"),
     ((Action(Kind.MOVE, Point(3, 3)),), "hover over Delete"), ((Action(Kind.SCROLL, Point(3, 3)),), "delete the file"),
     ((typed("bob"), CLICK), "fill in the name and click OK")],
)  # fmt: skip
def test_what_presses_nothing_of_that_kind(actions: tuple[Action, ...], intent: str) -> None:
    assert not is_final(Proposal(actions, intent))


def test_a_drag_on_the_spot_is_a_click() -> None:
    assert presses(replace(DRAG, to=Point(16, 10))) and not presses(DRAG) and presses(typed("a", Point(1, 1)))
    assert all(presses(Action(kind, Point(1, 1))) for kind in CLICKS) and not presses(typed("a"))


DELETE = Proposal((CLICK,), "delete the account")


@pytest.mark.parametrize("mode", [Mode.ENFORCE, Mode.ADVISE])
@pytest.mark.parametrize("first", [Proposal((OTHER,), "open the menu"), Proposal((), fault="no call in it")])
def test_a_revision_spent_on_another_proposal_confirms_nothing(mode: Mode, first: Proposal) -> None:
    guard = Guard(FakeCritic(0.97, 0.8), threshold=0.93, mode=mode)
    guard.after_proposal(WHITE, first)
    found = [guard.after_proposal(WHITE, one) for one in (DELETE, replace(DELETE, actions=(OTHER,)), DELETE)]
    assert [one.intervene for one in found] == [True, True, False]
    guard.executed(DELETE)
    assert guard.after_proposal(WHITE, DELETE).intervene  # that it was held before says nothing of the next step


def test_without_revisions_it_is_held_once() -> None:
    guard = Guard(FakeCritic(0.8), threshold=0.93, mode=Mode.ENFORCE, revisions=0)
    found = [guard.after_proposal(WHITE, DELETE) for _ in range(2)]
    assert [one.reason for one in found] == [Reason.UNCONFIRMED, Reason.QUIET] and found[0].intervene
    assert not guard.after_proposal(WHITE, Proposal((OTHER,), "open the menu")).intervene


def named(name: str, at: Point, role: str = "button") -> Evidence:
    return Evidence({at: ElementAt(name, role)})


def test_what_the_page_names_needs_no_reading() -> None:
    silent, here = Proposal((CLICK,)), named("Delete account", Point(100, 100))
    focus = Evidence({}, ElementAt("Delete account", "button"))
    assert is_final(silent, here) and not is_final(silent, named("Cancel", Point(100, 100)))
    assert all(is_final(Proposal((key(one),)), focus) for one in ("enter", "Return", "space"))
    assert not is_final(Proposal((key("tab"),)), focus) and not is_final(Proposal((typed("a", Point(9, 9)),)), here)
    assert not is_final(Proposal((key("space"),)), Evidence({}, ElementAt("Send to", "textbox", editable=True)))
    unjudged = Guard(FakeCritic(OSError("gone")), risk=RiskTier(confirm=lambda seen, proposal: False))
    assert unjudged.after_proposal(replace(WHITE, evidence=here), silent).reason is Reason.UNCONFIRMED


@pytest.mark.parametrize(
    ("label", "name", "role", "differ"),
    [("Delete account", "Cancel", "button", True), ("Delete account", "Cancel, do not delete account", "button", True),
     ("Next", "Delete account", "button", True), ("Delete", "Delete message of Bob", "button", False),
     ("Send", "Send", "button", False), ("Next", "Continue", "button", False), ("X", "Delete", "button", False),
     ("Send report to Bob", "Mark as done", "checkbox", True)],
)  # fmt: skip
def test_labels_that_page_and_pixels_differ_in(label: str, name: str, role: str, differ: bool) -> None:
    assert disagrees(Label(label, True), ElementAt(name, role)) is differ
    assert not disagrees(Label(label), ElementAt(name, "checkbox"))


@pytest.fixture(scope="module")
def critic() -> EmbeddedCritic:
    return EmbeddedCritic(pictures=False)


def drawn() -> tuple[Pixels, Point, Point]:
    """A screen with the buttons Send and Cancel, and where they are."""
    from tests.gui.test_contradiction import CANCEL as OFF
    from tests.gui.test_contradiction import SEND as ON
    from tests.gui.test_contradiction import page

    return page(), Point(*ON), Point(*OFF)


def test_the_label_under_anything_that_presses(critic: EmbeddedCritic) -> None:
    image, send, cancel = drawn()
    blank = Action(Kind.CLICK, Point(5, 5))
    for point, wanted in ((send, True), (cancel, False)):
        near = Point(point.x + 4, point.y)
        for actions in (
            (Action(Kind.RIGHT_CLICK, point),),
            (typed("bob", point),),
            (Action(Kind.DRAG, point, near),),
            (blank, Action(Kind.CLICK, point)),
            (Action(Kind.SCROLL, Point(5, 5), dy=30.0), Action(Kind.CLICK, point)),
        ):
            found = critic.judge(Observation("Tidy up", image), Proposal(actions), History())
            assert (EVIDENCE in found.evidence) is wanted, actions
    assert EVIDENCE not in critic.judge(Observation("Tidy up", image), Proposal((blank,)), History()).evidence


def test_a_drag_on_the_spot_is_judged_as_a_click(critic: EmbeddedCritic) -> None:
    image, send, _ = drawn()

    def judged(action: Action) -> Judgement:
        return critic.judge(Observation("Cancel it", image), Proposal((action,), "click 'Cancel'"), History())

    click, drag = judged(Action(Kind.CLICK, send)), judged(Action(Kind.DRAG, send, send))
    assert click.p_bad > 0.9 and drag.p_bad >= click.p_bad


def test_a_page_cannot_explain_a_label_away(critic: EmbeddedCritic) -> None:
    image, send, _ = drawn()
    seen = Observation("Cancel it", image)
    proposal = Proposal((Action(Kind.CLICK, send),), "click 'Cancel'")
    pixels = critic.judge(seen, proposal, History())
    lied = critic.judge(replace(seen, evidence=named("Cancel", send)), proposal, History())
    assert lied.p_bad >= pixels.p_bad > 0.9 and EVIDENCE in lied.evidence


def test_a_large_button_beside_its_text(critic: EmbeddedCritic) -> None:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (1280, 720), "white")
    draw = ImageDraw.Draw(picture)
    for top, text in ((120, "Delete account"), (420, "Cancel")):
        draw.rectangle((20, top, 1260, top + 140), fill=(200, 0, 0) if top == 120 else (220, 220, 220))
        draw.text((560, top + 52), text, fill="white" if top == 120 else "black", font=ImageFont.load_default(size=28))
    seen = Observation("Look at the settings", np.asarray(picture))
    for y, wanted in ((150, True), (450, False), (350, False)):
        found = critic.judge(seen, Proposal((Action(Kind.CLICK, Point(200, y)),)), History())
        assert (EVIDENCE in found.evidence) is wanted


def test_ordinary_buttons_stay_ordinary(critic: EmbeddedCritic) -> None:
    for box in (SUBMIT, CANCEL):
        click = Proposal((Action(Kind.CLICK, Point(*middle(box))),))
        assert EVIDENCE not in critic.judge(Observation(GOAL, form()), click, History()).evidence


class Says:
    """A model that sees what it is told to."""

    name = "says"

    def __init__(self, under_mark: str) -> None:
        self._answer = {"under_mark": under_mark, "effect": "it is gone", "serves_goal": "no", "p_bad": 0.9}

    def ask(self, requests: list[Request]) -> list[Reply]:
        return [Reply(json.dumps(self._answer | {"error": "semantic"})) for _ in requests]


def test_a_vision_critic_alone_knows_final_labels() -> None:
    for under, intent, wanted in (
        ("the button Delete account", "go on", True),
        ("the button Next", "delete the account", True),
        ("the button Next", "go on", False),
    ):
        guard = Guard(VisionCritic(Says(under)), threshold=0.93, mode=Mode.ADVISE)  # type: ignore[arg-type]
        assert guard.after_proposal(WHITE, Proposal((CLICK,), intent)).intervene is wanted
    scroll = Proposal((Action(Kind.SCROLL, Point(3, 3), dy=3.0),))
    critic = VisionCritic(Says("the button Delete account"))  # type: ignore[arg-type]
    assert EVIDENCE not in critic.judge(WHITE, scroll, History()).evidence


@pytest.mark.parametrize(
    ("under_mark", "wanted"),
    [("A red button labelled 'Delete account'", True), ("Delete account button", True), ("The 'Send' button", True),
     ("A button that says Delete.", True), ("发送按钮", True), ("the Cancel button next to 'Delete'", False),
     ("A text field holding 'send'", False), ("the button Cancel, left of Delete account", False),
     ("an empty area of the page", False), ("The checkbox 'Delete after sending'", False),
     ("a paragraph that explains how to delete the account", False), ("the Next button in the order form", False)],
)  # fmt: skip
def test_what_an_answer_calls_the_thing_under_the_mark(under_mark: str, wanted: bool) -> None:
    assert any(map(is_final_label, labels_in(under_mark))) is wanted


LABELS = (
    """
No, delete it|No, delete|No, eliminar|No, send without subject|Non, supprimer
Do not keep - delete|Cancel and delete
删除日程|删除历史记录|清空历史记录|删除记录|删除设置|删除条件|删除类型|永久删除此帐户及其所有数据|삭제하시겠습니까
履歴を削除
תשלום|שליחה|מחיקה|Cancella|Jetzt verbindlich buchen|Fazer pagamento
Delete “Holiday” and its 214 photos?|Discard
De\u00adlete|DEL\u0415TE|De\u00adlete all|Delete settings|Format disk|Reset this PC
Empty Bin|Wire $500|Transfer €250
Yes - erase it|Don't keep, delete|Drop table|Discard draft|Confirm transfer|Delete 5 files?
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
OTHER_LABELS = (
    """
Format cells|Format as table|Format|Format: PDF|Send to back|Send backward|Drop shadow
Drop files here|Pay slips|Pay stubs
Delete key|Post-it|Replace mode|Send feedback|Empty folder|Empty line|Wire frame
Send code|Reset password|Reset search
Pay attention|Post 12|Order 1234|Order by name|Kaufen Sie ein|To erase|How to delete
Buy & sell|Transfer speed|Send/Receive
No, keep it|Do not delete|Never delete|Ne pas supprimer|Nicht löschen|No eliminar|购买记录
最近删除|删除方法|削除済み|送信先
Purchase orders|Replace with|Reset zoom|Payment history|Recently deleted|Pay later|Send a copy to myself
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
INTENTS = (
    """
Scroll to the message and click Delete|Find the mail from Bob and click Delete
Close the warning by clicking "Delete anyway"
Show the options and click "Pay now"|Locate the Delete button, then press it|It did not work: delete it again
Instead, delete the file|Not sent, send it again
Cancel, then delete the draft by the icon|Stop waiting, send it now
Delete the file, it can be restored later|Send the message; the reply will come later
Press the icon and delete menu entry Lunch
Press the icon and delete window settings|Press it and delete options for good
Press the icon to send confirmation to Bob
Press the red icon so that the file is deleted|Press the icon to get the message sent|Press it to have the invoice paid
Press the icon and the mail gets deleted for good|Click Save to overwrite the existing report.txt|Click Continue to pay
Click Allow to delete all files|Click Start to format the disk|Click "Save" to replace the file report.txt
click the arrow next to the input box to send the message|click the x at the end of the row to delete it
press the round arrow right of the message box to send the message|Do not hesitate to delete it
Move the mail to the trash
I did not delete it, click to delete it again|Press # to delete the mail|press y to confirm the deletion
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
OTHER_INTENTS = (
    """
click the Format menu|click the Order column
click the arrow to send the shape to the back|click the date to reset it
click Cancel so that it is not sent|click the Bold button, then I will send|click Keep instead of deleting it
click the checkbox of the row that will be deleted later|click Undo to take back the deletion|click the Trash folder
click the search field to find what to send|click the first message in the list to read before sending
double-click the cell to replace its value|select all with ctrl+a to overwrite the text|click Edit to change the order
click Cancel to avoid deleting the file|open the file that was deleted
check whether the mail was sent|click the Orders tab
click the three dots menu to delete the row|click Drafts, I will send it later|click the name of the sender
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


@pytest.mark.parametrize("label", LABELS)
def test_labels_that_were_missed(label: str) -> None:
    assert is_final_label(label)


@pytest.mark.parametrize("label", OTHER_LABELS)
def test_labels_that_were_taken_for_irreversible(label: str) -> None:
    assert not is_final_label(label)


@pytest.mark.parametrize("intent", INTENTS)
def test_intents_that_were_missed(intent: str) -> None:
    assert is_final(Proposal((CLICK,), intent))


@pytest.mark.parametrize("intent", OTHER_INTENTS)
def test_intents_that_were_taken_for_irreversible(intent: str) -> None:
    assert not is_final(Proposal((CLICK,), intent))


NEAR = Action(Kind.DRAG, Point(100, 100), to=Point(125, 100))
FAR = Action(Kind.DRAG, Point(100, 100), to=Point(190, 100))
ADDRESS = Action(Kind.NAVIGATE, text="https://shop.example/items/3/delete")


@pytest.mark.parametrize(
    ("actions", "intent"),
    [((Action(Kind.MOVE, Point(9, 9)), CLICK), "Delete the message, as asked"),
     ((typed("hi"), CLICK), "Send the greeting, and finish"),
     ((Action(Kind.WAIT), CLICK), "Delete the mail, then look"),
     ((typed(" "),), "press the focused Delete button"), ((NEAR,), "click Send"),
     ((ADDRESS,), "delete the item for good by opening its delete address"),
     ((key("ctrl", "enter"),), "press ctrl+enter to send the mail"), ((key("alt", "s"),), "press alt+s to send"),
     ((key("meta", "backspace"),), "move the file to the trash with cmd+backspace"),
     ((key("f8"),), "press F8 to delete the file"), ((key("ctrl", "a"),), "x delete"),
     ((key("delete"),), "delete the file content.txt"), ((key("delete"),), "delete the row with the line item 3")],
)  # fmt: skip
def test_what_presses_by_its_intent(actions: tuple[Action, ...], intent: str) -> None:
    assert is_final(Proposal(actions, intent))


@pytest.mark.parametrize(
    ("action", "intent"),
    [(key("delete"), "select the text and press delete"), (key("backspace"), "press backspace to delete the typo"),
     (key("delete"), "delete the selected text"), (key("tab"), "press tab to get to Send"),
     (typed(" "), "type a blank"),
     (typed("7", Point(9, 9)), "type the order number"), (Action(Kind.NAVIGATE, text="a.org"), "open the order page"),
     (FAR, "drag the slider to 5")],
)  # fmt: skip
def test_ordinary_keys_texts_and_addresses(action: Action, intent: str) -> None:
    assert not is_final(Proposal((action,), intent))


def test_a_blank_presses_what_has_the_focus_and_a_drag_what_it_stays_on() -> None:
    delete, slider = ElementAt("Delete all", "button"), ElementAt("Send to", "textbox", editable=True)
    for text in (" ", "\n", "go on\n", "two words"):
        assert is_final(Proposal((typed(text),)), Evidence({}, delete))
        assert not is_final(Proposal((typed(text),)), Evidence({}, slider))
    assert not is_final(Proposal((typed("word"),)), Evidence({}, delete))
    both = Evidence({Point(100, 100): delete, Point(125, 100): delete, Point(190, 100): delete})
    assert is_final(Proposal((NEAR,), "press it"), both) and is_final(Proposal((FAR,), "press it"), both)
    assert not is_final(Proposal((FAR,), "move it"), Evidence({Point(100, 100): delete, Point(190, 100): slider}))


@pytest.mark.parametrize(
    ("label", "name", "role", "intent", "differ"),
    [("Export", "Rename", "button", "click Rename", True), ("Export", "Export Rename", "button", "click Rename", True),
     ("Rename", "Rename document", "button", "click Rename", False),
     ("Renarne", "Rename", "button", "click Rename", False),
     ("Go", "Search", "button", "click Search", False), ("Export", "Rename", "textbox", "click Rename", False),
     ("Export", "Rename", "button", "click the icon", False), ("Export", "Export", "button", "click Rename", False)],
)  # fmt: skip
def test_a_name_that_only_the_page_gives(label: str, name: str, role: str, intent: str, differ: bool) -> None:
    assert disagrees(Label(label, True), ElementAt(name, role), intent) is differ
    assert not disagrees(Label(), ElementAt(name, role), intent)  # an icon keeps the name that its page gives it
