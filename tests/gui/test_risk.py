"""Irreversible actions, threads that share a guard, and screens of any size."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.guard import Guard, Limits
from foretell.gui.history import Historian, History
from foretell.gui.observation import Observation, Proposal
from foretell.gui.parse import Form, read
from foretell.gui.risk import EVIDENCE, RiskTier, is_final, is_final_label
from foretell.gui.verdict import Mode, Reason
from tests.gui.drawn import GOAL, SUBMIT, form, middle
from tests.gui.screens import FakeCritic

PATIENT = Limits(judgement_s=300.0, history_s=300.0)  # a busy machine is no failure
SEEN = Observation("Send the mail", form())
SEND = Proposal((Action(Kind.CLICK, Point(*middle(SUBMIT))),), "click 'Send'")
PLAIN = Proposal(SEND.actions, "click 'Preview'")


@pytest.mark.parametrize(
    "label",
    ["Send", "Delete", "Delete account", "Pay now", "Buy", "Overwrite file", "Löschen", "Jetzt kaufen", "Envoyer",
     "Supprimer", "Eliminar", "Pagar", "Invia", "Удалить", "发送", "删除文件", "支付", "削除", "送信する", "삭제",
     "إرسال", "حذف", "מחק", "שלח"],
)  # fmt: skip
def test_final_labels(label: str) -> None:
    assert is_final_label(label)


@pytest.mark.parametrize(
    "label", ["Save draft", "Cancel", "Sender", "Settings", "Senden Sie uns Nachrichten über das Formular", "", "取消"]
)  # fmt: skip
def test_other_labels(label: str) -> None:
    assert not is_final_label(label)


@pytest.mark.parametrize("label", ["Dete all", "Deete", "Delefe", "Pubish", "Transter money", "Purchse"])
def test_a_label_may_be_misread(label: str) -> None:
    assert is_final_label(label, read=True) and not is_final_label(label)


@pytest.mark.parametrize(
    "label", ["Done", "Date", "Design", "Sender", "Seen", "Delegate", "Remove", "Public", "Replay", "Install", "Host"]
)
def test_other_words_are_no_misread_ones(label: str) -> None:
    assert not is_final_label(label, read=True)


def test_what_an_agent_says_it_does() -> None:
    assert is_final(SEND) and is_final(replace(SEND, intent="delete the file"))
    assert not is_final(PLAIN) and not is_final(replace(SEND, intent=None))
    assert not is_final(Proposal((Action(Kind.TYPE, text="send"),), "type 'send'"))
    assert is_final(Proposal((Action(Kind.KEY, keys=("shift", "delete")),)))


def test_an_irreversible_action_needs_a_lower_error_probability() -> None:
    doubtful = Guard(FakeCritic(0.6), threshold=0.9)
    verdict = doubtful.after_proposal(SEEN, SEND)
    assert verdict.intervene and verdict.reason is Reason.UNCONFIRMED and "cannot be taken back" in verdict.feedback
    assert not doubtful.after_proposal(SEEN, SEND).intervene  # proposed again: confirmed by the agent
    assert not Guard(FakeCritic(0.6), threshold=0.9).after_proposal(SEEN, PLAIN).intervene
    assert not Guard(FakeCritic(0.4), threshold=0.9).after_proposal(SEEN, SEND).intervene


def test_above_the_threshold_an_agent_cannot_confirm_by_itself() -> None:
    guard = Guard(FakeCritic(0.95), threshold=0.9)
    assert [guard.after_proposal(SEEN, SEND).intervene for _ in range(3)] == [True, True, True]
    plain = Guard(FakeCritic(0.95), threshold=0.9)
    assert [plain.after_proposal(SEEN, PLAIN).intervene for _ in range(2)] == [True, False]


def test_whoever_is_responsible_can_confirm() -> None:
    asked: list[Proposal] = []

    def confirm(observation: Observation, proposal: Proposal) -> bool:
        asked.append(proposal)
        return len(asked) > 1

    guard = Guard(FakeCritic(0.95), threshold=0.9, risk=RiskTier(confirm=confirm))
    assert guard.after_proposal(SEEN, SEND).intervene
    assert not guard.after_proposal(SEEN, SEND).intervene and asked == [SEND, SEND]
    assert guard.after_proposal(SEEN, PLAIN).reason is not Reason.UNCONFIRMED and len(asked) == 2


def test_a_failing_confirmation_is_none_and_is_recorded() -> None:
    def broken(observation: Observation, proposal: Proposal) -> bool:
        raise OSError("no terminal")

    guard = Guard(FakeCritic(0.6), threshold=0.9, risk=RiskTier(confirm=broken))
    assert guard.after_proposal(SEEN, SEND).intervene and "no terminal" in guard.faults[0].message


def test_unjudged_actions_pass_and_say_so_unless_someone_can_be_asked() -> None:
    verdict = Guard(FakeCritic(OSError("gone")), threshold=0.9).after_proposal(SEEN, SEND)
    assert not verdict.intervene and verdict.reason is Reason.FAILED and "gone" in verdict.note
    careful = Guard(FakeCritic(OSError("gone")), threshold=0.9, risk=RiskTier(confirm=lambda seen, proposal: False))
    assert careful.after_proposal(SEEN, SEND).reason is Reason.UNCONFIRMED
    assert not careful.after_proposal(SEEN, PLAIN).intervene


LARGE = Observation("Look around", np.full((720, 1280, 3), 255, np.uint8))


def test_advice_holds_irreversible_actions_back_and_a_shadow_stops_nothing() -> None:
    verdict = Guard(FakeCritic(0.6), threshold=0.9, mode=Mode.SHADOW).after_proposal(SEEN, SEND)
    assert not verdict.intervene and verdict.reason is Reason.UNCONFIRMED
    for guard, seen in (
        (Guard(FakeCritic(0.6), threshold=0.9, mode=Mode.ADVISE), SEEN),
        (Guard(FakeCritic(0.6), threshold=0.9), LARGE),
    ):
        verdict = guard.after_proposal(seen, SEND)
        assert guard.mode is Mode.ADVISE and verdict.intervene and verdict.reason is Reason.UNCONFIRMED
        assert "has not been executed" in verdict.feedback and "cannot be taken back" in verdict.feedback
        assert not guard.after_proposal(seen, SEND).intervene  # proposed again: confirmed by the agent


def agree(observation: Observation, proposal: Proposal) -> bool:
    return True


def refuse(observation: Observation, proposal: Proposal) -> bool:
    return False


def test_advice_asks_whoever_is_responsible() -> None:
    for critic in (FakeCritic(0.95), FakeCritic(OSError("gone"))):
        for answer in (False, True):
            guard = Guard(critic, threshold=0.9, risk=RiskTier(confirm=(refuse, agree)[answer]))
            assert guard.after_proposal(LARGE, SEND).intervene is not answer
            assert not guard.after_proposal(LARGE, PLAIN).intervene


def test_without_a_mode_large_screens_are_advised_on() -> None:
    guard = Guard(FakeCritic(1.0), threshold=0.5)
    assert guard.after_proposal(SEEN, PLAIN).intervene
    verdict = guard.after_proposal(LARGE, PLAIN)
    assert not verdict.intervene and "was let through" in verdict.feedback
    assert Guard(FakeCritic(1.0), threshold=0.5, mode=Mode.ENFORCE).after_proposal(LARGE, PLAIN).intervene


@pytest.mark.parametrize("mode", [Mode.ADVISE, Mode.ENFORCE])
def test_what_cannot_be_read_is_not_said_to_be_executed(mode: Mode) -> None:
    guard = Guard(FakeCritic(1.0), threshold=0.5, mode=mode)
    verdict = guard.after_proposal(LARGE, read("I am done.", Form.QWEN))
    assert verdict.intervene and "nothing has been executed" in verdict.feedback
    assert "call the action that ends it" in verdict.feedback and "100%" not in verdict.feedback
    guard.executed(Proposal(()))
    assert "executed" not in guard.before_action(replace(LARGE, step=1))


def test_bad_tiers_are_refused() -> None:
    with pytest.raises(ValueError, match="probability"):
        RiskTier(most_p_bad=1.5)


def test_the_embedded_critic_knows_final_labels() -> None:
    from tests.gui.test_contradiction import CANCEL, page
    from tests.gui.test_contradiction import SEND as AT

    critic = EmbeddedCritic(pictures=False)
    seen = Observation("Tidy up", page())
    found = [critic.judge(seen, Proposal((Action(Kind.CLICK, Point(*at)),)), History()).evidence for at in (AT, CANCEL)]
    assert [EVIDENCE in one for one in found] == [True, False]


def test_threads_can_share_a_guard() -> None:
    busy, most, lock = [0], [0], threading.Lock()

    class Counting(FakeCritic):
        def judge(self, observation: Observation, proposal: Proposal, history: History):  # type: ignore[no-untyped-def]
            with lock:
                busy[0] += 1
                most[0] = max(most[0], busy[0])
            found = super().judge(observation, proposal, history)
            with lock:
                busy[0] -= 1
            return found

    guard = Guard(Counting(0.1), Historian(), threshold=0.5, limits=PATIENT)

    def step(number: int) -> Reason:
        seen = Observation(GOAL, form(), number)
        guard.before_action(seen)
        verdict = guard.after_proposal(seen, PLAIN)
        guard.executed(PLAIN)
        return verdict.reason

    with ThreadPoolExecutor(8) as pool:
        reasons = list(pool.map(step, range(40)))
    assert set(reasons) == {Reason.FINE} and most[0] == 1 and not guard.faults


@pytest.mark.parametrize("size", [(0, 0), (0, 5), (1, 1), (3, 2), (5, 400)])
def test_tiny_and_empty_screens(size: tuple[int, int]) -> None:
    image = np.zeros((size[1], size[0], 3), np.uint8)
    guard = Guard(EmbeddedCritic(pictures=False), Historian(), threshold=0.5)
    guard.before_action(Observation(GOAL, image))
    verdict = guard.after_proposal(Observation(GOAL, image), Proposal((Action(Kind.CLICK, Point(0, 0)),), "click it"))
    guard.executed(PLAIN)
    guard.before_action(Observation(GOAL, image, 1))
    if min(size) == 0:
        assert not verdict.intervene and verdict.reason is Reason.FAILED and "empty" in verdict.note


def test_an_8k_screen_is_judged_like_the_same_page_on_a_small_one() -> None:
    from foretell.gui.shrink import factor_of, shrunk

    assert factor_of((1920, 1080)) == factor_of((2560, 1600)) == 1 and factor_of((7680, 4320)) == 3
    small = form()
    image = np.full((4320, 7680, 3), 255, np.uint8)
    image[:1890, :1440] = small.repeat(3, axis=0).repeat(3, axis=1)
    x, y = middle(SUBMIT)
    proposal = Proposal((Action(Kind.CLICK, Point(3 * x, 3 * y)),), "click the button 'Submit'")
    seen, click, _ = shrunk(Observation(GOAL, image), proposal, History())
    assert seen.size == (2560, 1440) and click.actions[0].point == Point(x, y)
    guard = Guard(EmbeddedCritic(pictures=False), threshold=0.99, limits=PATIENT)
    verdict = guard.after_proposal(Observation(GOAL, image), proposal)
    assert verdict.judgement is not None and "'Submit'" in verdict.judgement.explanation


@pytest.mark.parametrize(
    ("kind", "at", "final"),
    [
        (Kind.TRIPLE_CLICK, ElementAt("Name", "textbox", editable=True), False),
        (Kind.DOUBLE_CLICK, ElementAt("Name", "text", editable=True), False),
        (Kind.CLICK, ElementAt("Name", "textbox", editable=True), True),
        (Kind.TRIPLE_CLICK, ElementAt("Replace", "button"), True),
        (Kind.TRIPLE_CLICK, ElementAt("Drawing", "canvas", editable=True), True),
    ],
)
def test_selecting_text_in_a_field_takes_nothing_back(kind: Kind, at: ElementAt, final: bool) -> None:
    point = Point(10, 10)
    proposal = Proposal((Action(kind, point),), "select the present name in order to replace it")
    assert is_final(proposal, Evidence(at={point: at})) == final
    assert is_final(proposal)
