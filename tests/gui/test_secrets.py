"""Typed secrets: none of their spellings, keys or tellings reach a trace, and ordinary words stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foretell.gui import trace
from foretell.gui.actions import Action, Kind, Point
from foretell.gui.claims import DOTS, HIDDEN_KEY
from foretell.gui.guard import Guard
from foretell.gui.history import Historian
from foretell.gui.observation import Observation, Proposal
from foretell.gui.secrets import hidden_action, hidden_goal, told_secrets
from foretell.gui.trace import TraceWriter
from foretell.gui.veil import Veil
from tests.gui.screens import FIELD, FakeCritic, FakeReader, form, frame, word, written

CLICK = Action(Kind.CLICK, Point(100, 120))
QUOTES, UMLAUTS = 'pa"ss\\w0rd', "pässwörd"


def called(text: str) -> str:
    """How agents write a call, in the second case within a message that is JSON itself."""
    call = json.dumps({"name": "computer_use", "arguments": {"action": "type", "text": text}})
    return f"<tool_call>{call}</tool_call>" + json.dumps({"arguments": call})


def traced(
    folder: Path,
    goal: str,
    proposals: list[Proposal],
    explanation: str = "It looks right.",
    secret: bool = False,
    raw: bool = False,
) -> str:
    """The trace of an episode with these proposals, on a screen where what was typed can be read."""
    screens = [frame(written(form(), f"{number}", (72, 112)), FIELD, 5, (16, 16, 16)) for number in range(9)]
    readable = [(screen, [word("hx9"[: 1 + at % 3], (72, 112))]) for at, screen in enumerate(screens)]
    critic = FakeCritic(0.9, explanation=explanation)
    with TraceWriter(folder, raw=raw) as writer:
        guard = Guard(critic, Historian(FakeReader(*readable)), threshold=0.5, trace=writer)
        for step, proposal in enumerate(proposals):
            observation = Observation(goal, screens[step], step)
            guard.before_action(observation)
            guard.after_proposal(observation, proposal, secret=secret)
            guard.executed(proposal)
        guard.finished(screens[len(proposals)])
        assert not guard.faults
    return (folder / trace.FILE).read_text()


@pytest.mark.parametrize("secret", [QUOTES, UMLAUTS])
def test_a_secret_is_hidden_however_it_is_quoted(tmp_path: Path, secret: str) -> None:
    typing = Proposal((Action(Kind.TYPE, text=secret),), "type the password", raw=called(secret))
    later = Proposal((CLICK,), f"click on {called(secret)}")
    text = traced(tmp_path, "Log in.", [typing, later])
    intent = json.loads(text.splitlines()[-4])["proposal"]["intent"]
    assert "tool_call" in intent and DOTS in intent
    for part in ("w0rd", "ssw", "pa\\", "u00e4"):
        assert part not in text.replace("password", ""), part


@pytest.mark.parametrize(("goal", "flag"), [("Log in with the password.", False), ("Log in.", True)])
def test_what_could_not_be_read_is_not_kept_where_it_may_be_a_secret(tmp_path: Path, goal: str, flag: bool) -> None:
    broken = Proposal((), raw='{"action": "type", "text": "hunter2xyz"', fault="unreadable: no JSON")
    assert "hunter2xyz" not in traced(tmp_path, goal, [broken], secret=flag)
    assert "hunter2xyz" not in traced(tmp_path / "unasked", "Log in.", [broken])
    assert "hunter2xyz" not in traced(tmp_path / "asked", goal, [broken], secret=flag, raw=True)
    assert "hunter2xyz" in traced(tmp_path / "plain", "Log in.", [broken], raw=True)


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize(
    ("goal", "intent", "flag"),
    [
        ("Log in.", "type the password", False),
        ("Log in with the password.", "press the next key", False),
        ("Log in with the password.", None, False),
        ("Log in.", "go on", True),
    ],
)
def test_a_secret_sent_letter_by_letter_is_hidden(
    tmp_path: Path, goal: str, intent: str | None, flag: bool, keys: bool
) -> None:
    sent = [Action(Kind.KEY, keys=(c,)) if keys else Action(Kind.TYPE, text=c) for c in "hx9"]
    said = "The keys 'h', 'x' and '9' are about to be pressed."
    text = traced(tmp_path, goal, [Proposal((one,), intent, raw="x") for one in sent], said, flag)
    told = [json.loads(line) for line in text.splitlines()]
    shown = [event["proposal"]["actions"][0] for event in told if event["event"] == "proposed"]
    shown += [event["actions"][0] for event in told if event["event"] == "executed"]
    shown += [step["action"] for event in told if event["event"] == "proposed" for step in event["history"]["steps"]]
    assert len(shown) == 9 and all(one == hidden_action(sent[0]).to_dict() for one in shown)
    for event in told:
        assert "'hx" not in event.get("effect", "") and all("'h" not in one for one in event.get("achieved", ()))
    first = next(event for event in told if event["event"] == "proposed")
    assert "'h'" not in first["judgement"]["explanation"] and "'x'" in first["judgement"]["explanation"]


def test_keys_that_write_nothing_are_kept() -> None:
    for keys in (("enter",), ("ctrl", "a"), ("shift", "tab"), ("backspace",)):
        assert hidden_action(Action(Kind.KEY, keys=keys)).keys == keys
    assert hidden_action(Action(Kind.KEY, keys=("shift", "a"))).keys == ("shift", HIDDEN_KEY)
    assert hidden_action(Action(Kind.KEY, keys=(" ",))).keys == (HIDDEN_KEY,)
    assert hidden_action(Action(Kind.CLICK, Point(1, 1), keys=("x",))).keys == ("x",)


def test_an_intent_that_names_the_secret_before_it_is_typed(tmp_path: Path) -> None:
    first = Proposal((CLICK,), "click the password field, then type hunter2xyz")
    then = Proposal((Action(Kind.TYPE, text="hunter2xyz"),), "type the password")
    text = traced(tmp_path, "Log in.", [first, then], "The intent is to type hunter2xyz.")
    assert "hunter2xyz" not in text and f"click the password field, then type {DOTS}" in text


@pytest.mark.parametrize("intent", ["open the page with the api key", None])
def test_addresses_may_hold_secrets(tmp_path: Path, intent: str | None) -> None:
    going = Proposal((Action(Kind.NAVIGATE, text="https://x.org/?token=abcd1234"),), intent, raw="abcd1234")
    assert "abcd1234" not in traced(tmp_path, "Open the page.", [going])
    plain = Proposal((Action(Kind.NAVIGATE, text="https://x.org/?q=abcd1234"),), "open it")
    assert "abcd1234" in traced(tmp_path / "plain", "Open the page.", [plain])


@pytest.mark.parametrize(
    ("goal", "hidden"),
    [
        ("Log in as bob with the password correcthorse", f"Log in as bob with the password {DOTS}"),
        ("user: bob, password: correcthorse", f"user: bob, password: {DOTS}"),
        ("Set the password to swordfish and save", f"Set the password to {DOTS} and save"),
        ("My PIN code is 4711", f"My PIN code is {DOTS}"),
        ("Type correcthorse into the password box", f"Type {DOTS} into the password box"),
    ],
)
def test_goals_that_tell_secrets_without_quotes(tmp_path: Path, goal: str, hidden: str) -> None:
    assert hidden_goal(goal) == hidden
    secret = next(one for one in ("correcthorse", "swordfish", "4711") if one in goal)
    assert secret not in traced(tmp_path, goal, [Proposal((CLICK,), f"click the field and enter {secret}")])


@pytest.mark.parametrize(
    "goal",
    [
        "Change my password settings",
        "Open the password manager and press Enter",
        "Reset my password using the link",
        "Use the password to log in",
        "What is the token price?",
        "Find the secret santa list",
        "The password is required in both boxes",
    ],
)
def test_goals_that_only_speak_of_secrets_are_kept(goal: str) -> None:
    assert hidden_goal(goal) == goal and told_secrets(goal) == ()


def test_a_veil_hides_no_single_letter_unless_told_to() -> None:
    assert Veil(["x"])("x is x") == "x is x" and Veil(["x"], least=1)("x is exact") == f"{DOTS} is exact"
