"""The guard: when it speaks, when it stays quiet, that it fails open, and that it keeps secrets."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from foretell.gui import secrets, trace
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.claims import DOTS
from foretell.gui.critic import RulesCritic
from foretell.gui.guard import Guard, Limits
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.threshold import Threshold, threshold_for
from foretell.gui.trace import TraceWriter
from foretell.gui.veil import Veil
from foretell.gui.verdict import ERROR_WORDS, Mode, Reason
from foretell.gui.worker import Busy, TooSlow, Worker
from tests.gui.screens import FIELD, FakeCritic, FakeReader, fill, form, frame, word, written

CLICK = Proposal((Action(Kind.CLICK, point=Point(100, 120)),), "click the field")
GOAL = "Enter 'Paula' and submit."


def seen(image: Pixels | None = None, step: int = 0, goal: str = GOAL) -> Observation:
    return Observation(goal, form() if image is None else image, step)


def test_it_passes_what_does_not_clear_the_threshold() -> None:
    verdict = Guard(FakeCritic(0.5), threshold=0.5).after_proposal(seen(), CLICK)
    assert not verdict.intervene and verdict.feedback == "" and verdict.reason is Reason.FINE and verdict.revision == 0


def test_silent_proposals_are_held_to_their_own_threshold() -> None:
    limit = Threshold(0.5, 0.02, 100, silent=Threshold(0.9, 0.02, 100))
    silent = Proposal(CLICK.actions)
    assert Guard(FakeCritic(0.7), threshold=limit).after_proposal(seen(), CLICK).intervene
    assert not Guard(FakeCritic(0.7), threshold=limit).after_proposal(seen(), silent).intervene


def test_it_interrupts_once_a_step_and_describes_what_it_sees() -> None:
    guard = Guard(FakeCritic(0.93, explanation="The point lies 9 pixels left of the field."), threshold=0.8)
    first, second = guard.after_proposal(seen(), CLICK), guard.after_proposal(seen(), CLICK)
    assert first.intervene and first.reason is Reason.DOUBTED and first.revision == 1
    assert "has not been executed" in first.feedback and "%" not in first.feedback
    assert ERROR_WORDS[ErrorClass.GROUNDING] in first.feedback and "9 pixels left" in first.feedback
    assert not second.intervene and second.reason is Reason.QUIET and second.feedback == "" and second.revision == 1
    guard.executed(CLICK)
    assert guard.after_proposal(seen(step=1), CLICK).intervene


def test_more_revisions_where_wanted_and_none_where_not() -> None:
    twice = Guard(FakeCritic(1.0), threshold=0.5, revisions=2)
    assert [twice.after_proposal(seen(), CLICK).intervene for _ in range(3)] == [True, True, False]
    assert not Guard(FakeCritic(1.0), threshold=0.5, revisions=0).after_proposal(seen(), CLICK).intervene


def test_advice_comes_with_the_next_prompt_and_shadow_says_nothing() -> None:
    advising = Guard(FakeCritic(1.0), threshold=0.5, mode=Mode.ADVISE)
    verdict = advising.after_proposal(seen(), CLICK)
    assert not verdict.intervene and "was let through" in verdict.feedback and verdict.reason is Reason.DOUBTED
    advising.executed(CLICK)
    assert verdict.feedback in advising.before_action(seen(step=1))
    assert verdict.feedback not in advising.before_action(seen(step=1))
    shadow = Guard(FakeCritic(1.0), threshold=0.5, mode=Mode.SHADOW)
    verdict = shadow.after_proposal(seen(), CLICK)
    assert not verdict.intervene and verdict.feedback == "" and verdict.reason is Reason.DOUBTED
    assert verdict.judgement is not None and verdict.judgement.p_bad == 1.0


def test_a_threshold_without_enough_proposals_never_interrupts() -> None:
    assert not Guard(FakeCritic(1.0), threshold=threshold_for([0.1] * 10)).after_proposal(seen(), CLICK).intervene


def test_the_history_is_told_before_the_next_action() -> None:
    focused = frame(form(), FIELD, 5, (16, 16, 16))
    filled = written(focused, "Paula", (72, 112))
    critic = FakeCritic(0.1)
    guard = Guard(critic, Historian(FakeReader((filled, [word("Paula", (72, 112))]))))
    typing = Proposal((Action(Kind.TYPE, text="Paula"),), "type the name")
    assert guard.before_action(seen()) == ""
    guard.after_proposal(seen(), CLICK)
    guard.executed(CLICK)
    assert "has the focus" in guard.before_action(seen(focused, 1))
    guard.after_proposal(seen(focused, 1), typing)
    guard.executed(typing.actions[0])
    assert "'Paula' is in the field that was clicked" in guard.before_action(seen(filled, 2))
    assert guard.history.count == 2 and guard.history.steps[-1].intent == "type the name"
    assert [history.count for _, history in critic.seen] == [0, 1]


def test_several_actions_of_one_proposal_are_all_steps() -> None:
    guard = Guard(FakeCritic(0.1))
    both = Proposal((*CLICK.actions, Action(Kind.TYPE, text="Paula")), "enter the name")
    guard.after_proposal(seen(), both)
    guard.executed(both)
    guard.before_action(seen(step=1))
    assert guard.history.count == 2 and [s.action.kind for s in guard.history.steps] == [Kind.CLICK, Kind.TYPE]


def test_a_new_goal_or_a_step_back_begins_a_new_episode() -> None:
    for fresh in (seen(goal="Another."), seen(step=0)):
        guard = Guard(FakeCritic(0.1))
        guard.after_proposal(seen(step=3), CLICK)
        guard.executed(CLICK)
        assert guard.before_action(seen(step=4)) and guard.before_action(fresh) == ""


class Broken:
    name = "broken"

    def judge(self, *_: Any) -> Judgement:
        raise ZeroDivisionError("no such thing")

    def update(self, *_: Any) -> History:
        raise OSError("no reader")


def test_it_fails_open_when_critic_historian_or_trace_fail(tmp_path: Path) -> None:
    class NoDisk(TraceWriter):
        def append(self, *_: Any) -> None:
            raise OSError("no room")

    guard = Guard(Broken(), Broken(), threshold=0.0, trace=NoDisk(tmp_path))
    verdict = guard.after_proposal(seen(), CLICK)
    assert not verdict.intervene and verdict.reason is Reason.FAILED and verdict.note == "no such thing"
    assert verdict.judgement is None
    guard.executed(CLICK)
    guard.before_action(seen(step=1))
    assert guard.history.count == 1 and guard.history.effect == ""
    assert {fault.where for fault in guard.faults} == {"critic", "historian", "trace"}


@pytest.mark.parametrize(
    "odd",
    [
        {"error": "other"},
        {"evidence": {"a": None, "b": "c", "d": 1.0}},
        {"evidence": None},
        {"images": None},
        {"images": {"screen": None}},
        {"explanation": None},
    ],
)
def test_a_judgement_that_keeps_to_no_type_does_no_harm(tmp_path: Path, odd: dict[str, Any]) -> None:
    class Odd:
        def judge(self, *_: Any) -> Judgement:
            return Judgement(**({"p_bad": 0.9, "error": None, "explanation": "Look."} | odd))

    with TraceWriter(tmp_path) as writer:
        guard = Guard(Odd(), threshold=0.5, trace=writer)  # type: ignore[arg-type]
        assert guard.after_proposal(seen(), CLICK).intervene and not guard.faults
    (step,) = trace.read(tmp_path).steps
    assert step.rounds[0].critic == "Odd" and step.rounds[0].intervened


def test_what_cannot_be_recorded_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> Any:
        raise KeyError("lost")

    monkeypatch.setattr("foretell.gui.trace_entry.proposal_to_dict", lost)
    with TraceWriter(tmp_path) as writer:
        guard = Guard(FakeCritic(0.9), threshold=0.5, trace=writer)
        assert guard.after_proposal(seen(), CLICK).intervene
    assert [fault.where for fault in guard.faults] == ["trace"]


def test_a_historian_without_a_history_is_a_fault() -> None:
    class Silent:
        def update(self, *_: Any) -> Any:
            return None

    guard = Guard(FakeCritic(0.1), Silent())
    guard.after_proposal(seen(), CLICK)
    guard.executed(CLICK)
    guard.before_action(seen(step=1))
    assert guard.history.count == 1 and [fault.where for fault in guard.faults] == ["historian"]


def test_pictures_of_other_kinds_are_made_plain_or_refused() -> None:
    image = written(form(), "Name", (72, 112))
    alpha = np.dstack([image, image[:, :, 0]])
    for other in (Image.fromarray(image), Image.fromarray(alpha), alpha):
        assert np.array_equal(Observation(GOAL, other).image, image)  # type: ignore[arg-type]
    grey = Observation(GOAL, image[:, :, 0]).image
    assert grey.shape == image.shape and np.array_equal(grey[:, :, 2], image[:, :, 0])
    assert Observation(GOAL, image).image is image
    for bad in (image / 255, image.astype(np.int64), image[:, :, :2], image[0, 0], None, "screen.png"):
        with pytest.raises(ValueError, match="the picture must"):
            Observation(GOAL, bad)  # type: ignore[arg-type]


def test_a_last_screen_that_is_no_picture_is_a_fault() -> None:
    guard = Guard(FakeCritic(0.1))
    guard.after_proposal(seen(), CLICK)
    guard.executed(CLICK)
    guard.finished(form() / 255)
    assert [fault.where for fault in guard.faults] == ["historian"]


@pytest.mark.parametrize("away", [float("nan"), float("inf")])
def test_points_that_are_nowhere_are_judged_and_traced(tmp_path: Path, away: float) -> None:
    click = Proposal((Action(Kind.CLICK, point=Point(away, 1)),), "click the field")
    drag = Proposal((Action(Kind.DRAG, point=Point(1, 1), to=Point(1, away)),), "drag it")
    with TraceWriter(tmp_path) as writer:
        guard = Guard(RulesCritic(), threshold=0.5, trace=writer)
        for step, proposal in enumerate((click, drag)):
            verdict = guard.after_proposal(seen(step=step), proposal)
            assert verdict.intervene and "outside the" in verdict.feedback
            guard.executed(proposal)
        guard.finished(form())
        assert not guard.faults
    told = trace.read(tmp_path)
    assert [step.rounds[0].proposal.actions[0].kind for step in told.steps] == [Kind.CLICK, Kind.DRAG]


@pytest.mark.parametrize("p_bad", [float("nan"), -0.1, 1.5])
def test_a_chance_that_is_none_is_a_failure(p_bad: float) -> None:
    verdict = Guard(FakeCritic(p_bad), threshold=0.0).after_proposal(seen(), CLICK)
    assert not verdict.intervene and verdict.reason is Reason.FAILED


def test_a_slow_critic_is_left_behind_and_not_asked_while_it_is_busy() -> None:
    gate = threading.Event()

    class Slow(FakeCritic):
        def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
            gate.wait(30)
            return super().judge(observation, proposal, history)

    guard = Guard(Slow(1.0), threshold=0.5, limits=Limits(judgement_s=0.01))
    assert guard.after_proposal(seen(), CLICK).reason is Reason.TIMED_OUT
    assert guard.after_proposal(seen(), CLICK).reason is Reason.BUSY
    gate.set()
    guard._judging.join()
    guard.limits = Limits()
    assert guard.after_proposal(seen(), CLICK).intervene


def test_an_episode_out_of_tokens_passes_unjudged() -> None:
    class Paid(FakeCritic):
        class totals:
            tokens = 0

        def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
            self.totals.tokens += 60
            return super().judge(observation, proposal, history)

    guard = Guard(Paid(1.0), threshold=0.5, revisions=9, limits=Limits(tokens=100))
    reasons = [guard.after_proposal(seen(), CLICK).reason for _ in range(3)]
    assert reasons == [Reason.DOUBTED, Reason.DOUBTED, Reason.OVER_BUDGET]
    guard.reset()
    assert guard.after_proposal(seen(), CLICK).reason is Reason.DOUBTED


def test_a_historian_out_of_tokens_gives_way_to_the_embedded_one() -> None:
    class Told(Historian):
        class totals:
            tokens = 0

        embedded = Historian()

        def update(self, *arguments: Any) -> History:
            self.totals.tokens += 120
            return replace(super().update(*arguments), effect="told")

    guard = Guard(FakeCritic(0.1), Told(), limits=Limits(tokens=150))
    effects = []
    for step in range(6):
        guard.before_action(seen(step=step))
        guard.after_proposal(seen(step=step), CLICK)
        guard.executed(CLICK)
        effects.append(guard.history.effect)
    assert effects == ["", "told", "told", *["nothing changed"] * 3] and Told.totals.tokens == 240
    assert guard.history.count == 5 and not guard.faults


def test_the_interrupt_of_a_person_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        raise KeyboardInterrupt

    guard = Guard(FakeCritic(0.1))
    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        guard.after_proposal(seen(), CLICK)


SECRET = "hunter2-Xq"


def guarded_secret(folder: Path, intent: str | None, goal: str, secret: bool = False) -> tuple[Guard, str, str]:
    """An episode in which a secret is typed where it can be read; the guard, all feedback, and the trace as text."""
    shown = written(form(), SECRET, (72, 112))
    words = [word(SECRET, (72, 112))]
    critic = FakeCritic(0.9, explanation=f"It types '{SECRET}' where a name is asked for.")
    with TraceWriter(folder) as writer:
        guard = Guard(critic, Historian(FakeReader((shown, words))), threshold=0.5, trace=writer)
        typing = Proposal((Action(Kind.TYPE, text=SECRET),), intent, raw=json.dumps({"text": SECRET}))
        text = guard.before_action(seen(goal=goal))
        text += guard.after_proposal(seen(goal=goal), typing, secret=secret).feedback
        guard.executed(typing, secret=secret)
        text += guard.before_action(seen(shown, 1, goal))
        text += guard.after_proposal(seen(shown, 1, goal), CLICK).feedback
        guard.finished(shown, solved=True)
    return guard, text, (folder / trace.FILE).read_text()


@pytest.mark.parametrize(
    ("intent", "goal", "secret"),
    [
        ("type the password", "Log in.", False),
        (f"type '{SECRET}' as the PIN", "Log in.", False),
        (None, f'Log in with the password "{SECRET}".', False),
        (None, f"Log in; the API key is {SECRET}.", False),
        ("type it", "Log in.", True),
    ],
)
def test_typed_secrets_are_dots_in_traces_and_feedback(
    tmp_path: Path, intent: str | None, goal: str, secret: bool
) -> None:
    guard, told, written_down = guarded_secret(tmp_path, intent, goal, secret)
    assert SECRET not in told and SECRET not in written_down
    assert DOTS in told and DOTS in written_down
    assert SECRET not in repr(guard.history)
    assert trace.read(tmp_path).steps[0].rounds[0].proposal.actions[0].text == DOTS


def test_in_a_goal_about_a_password_other_texts_are_hidden_from_the_trace_only(tmp_path: Path) -> None:
    guard, _, written_down = guarded_secret(tmp_path, "type the user name", "Log in with name and password.")
    assert SECRET not in written_down
    assert f"'{SECRET}' is in the field" in guard.history.achieved[0]


def test_ordinary_texts_are_kept(tmp_path: Path) -> None:
    _, _, written_down = guarded_secret(tmp_path, "type the name", "Enter it.")
    assert SECRET in written_down


def test_goals_that_tell_secrets() -> None:
    hidden = secrets.hidden_goal('Enter the username "ann" and the password "x1 y".')
    assert hidden == f'Enter the username "{DOTS}" and the password "{DOTS}".'
    assert secrets.hidden_goal("My PIN: 4711, please") == f"My PIN: {DOTS} please"
    assert secrets.hidden_goal('Click "OK".') == 'Click "OK".'
    assert not secrets.mentions_secret("compass pinned tokenise passage", None)


def test_a_veil_leaves_names_of_things_alone() -> None:
    veil = Veil(["click", "ok"])
    assert veil.data({"kind": "click", "text": "click book ok", "n": 1}) == {
        "kind": "click",
        "text": f"{DOTS} book {DOTS}",
        "n": 1,
    }


def test_a_worker_gives_values_and_errors() -> None:
    worker = Worker("clerk")
    assert worker.run(lambda: 3, 5.0) == 3
    with pytest.raises(KeyError):
        worker.run(lambda: {}["x"], 5.0)
    gate = threading.Event()
    with pytest.raises(TooSlow, match="the clerk took more than"):
        worker.run(gate.wait, 0.01)
    with pytest.raises(Busy):
        worker.run(lambda: 3, 5.0)
    gate.set()
    worker.join()
    assert worker.run(lambda: 4, 5.0) == 4


def test_bad_settings_are_refused() -> None:
    for settings in ({"threshold": float("nan")}, {"revisions": -1}, {"mode": "loud"}):
        with pytest.raises(ValueError, match=r"threshold|loud"):
            Guard(FakeCritic(0.1), **settings)  # type: ignore[arg-type]


def test_a_threshold_may_be_given_with_its_bound() -> None:
    guard = Guard(FakeCritic(0.7), threshold=Threshold(0.6, 0.02, 500))
    assert guard.after_proposal(seen(), CLICK).intervene


def test_ending_the_task_is_judged_by_its_own_threshold() -> None:
    guard = Guard(FakeCritic(0.7), threshold=Threshold(0.9, 0.02, 500, {"ending": 0.6}))
    assert not guard.after_proposal(seen(), CLICK).intervene
    assert guard.after_proposal(seen(), Proposal((Action(Kind.TERMINATE, success=True),))).intervene


def test_pictures_are_never_changed() -> None:
    image = form()
    kept = image.copy()
    guard = Guard(FakeCritic(1.0), threshold=0.5)
    guard.after_proposal(seen(image), CLICK)
    guard.executed(CLICK)
    guard.before_action(seen(fill(image, FIELD), 1))
    assert np.array_equal(image, kept)
