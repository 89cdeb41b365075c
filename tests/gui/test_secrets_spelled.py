"""Known secrets in the spellings of the guard's own functions, in cut texts, and in words that the pages gave away."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.batch import intents
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.guard import Guard
from foretell.gui.history import Historian, History
from foretell.gui.history_lm import LanguageHistorian
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.quoting import plain_line, quoted, unmarked
from foretell.gui.secret_pieces import Pieces
from foretell.gui.secrets import hidden_goal, mentions_secret, told_secrets
from foretell.gui.trace import FILE, TraceWriter
from foretell.gui.veil import Veil
from foretell.gui.verdict import Mode
from foretell.gui.vision import VisionCritic
from foretell.gui.words import Word
from foretell.lm import Failure, Reply, Request
from tests.gui.screens import FakeReader

WHITE = np.full((240, 320, 3), 255, np.uint8)
SHOWN = WHITE.copy()
SHOWN[100:120, 100:200] = 0
CLICK = Action(Kind.CLICK, Point(50, 50))
LONG = "correct horse battery staple and some more words of it that go on for long"
SECRETS = [
    "S3cr^t~P{a}ss",
    "it's-my\"door",
    "ｈｕｎｔｅｒ２",
    "open  sesame  now",
    "hun-ter^2{x}",
    "pä'ss{1}",
    "p&ss w0rd+é",
    LONG,
]


class Says:
    """A critic that is sure that all is wrong and says what it is asked to."""

    name = "says"

    def __init__(self, say: Any) -> None:
        self.say = say

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        return Judgement(0.95, None, self.say(proposal))


def episode(
    folder: Path,
    goal: str,
    proposals: Sequence[Proposal],
    say: Any = lambda _: "",
    evidence: Evidence | None = None,
    reads: str = "",
    **outcome: Any,
) -> str:
    """All that the guard wrote and said in an episode, of which every second screen shows the text `reads`."""
    reader = FakeReader((SHOWN, [Word(reads, (104, 102, 90, 14), 1.0)])) if reads else None
    told: list[str] = []
    with TraceWriter(folder, pictures=False) as writer:
        guard = Guard(Says(say), Historian(reader), 0.5, mode=Mode.ENFORCE, trace=writer)
        for number, proposal in enumerate(proposals):
            seen = Observation(goal, SHOWN if number % 2 else WHITE, number, evidence=evidence)
            told.append(guard.before_action(seen))
            verdict = guard.after_proposal(seen, proposal)
            told += [verdict.feedback, verdict.note]
            guard.executed(proposal)
        guard.finished(SHOWN if len(proposals) % 2 else WHITE, **outcome)
        told += map(str, guard.faults)
    return "\n".join([(folder / FILE).read_text(encoding="utf-8"), *told])


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "spell", [quoted, repr, str.upper, unmarked, lambda text: plain_line(text, 40), lambda text: f"'{text[:30]}…'"]
)
def test_a_known_secret_is_hidden_in_whatever_form_the_guard_may_have_put_it(secret: str, spell: Any) -> None:
    told = Veil([secret])(f"it reads {spell(secret)} there")
    rest = told.replace("it reads", "").replace("there", "")
    assert not [c for c in rest if c.isalnum()] or spell(secret)[1:-2] not in unicodedata.normalize("NFKC", secret)


@pytest.mark.parametrize(
    "secret", [*SECRETS, "kZ8-" * 5 + "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6Ikpv"]
)
def test_an_answer_that_is_a_secret_is_not_quoted(tmp_path: Path, secret: str) -> None:
    answer = Proposal((Action(Kind.ANSWER, text=secret),))
    say = lambda proposal: f"{quoted(proposal.actions[0].text)} would be given as the answer."  # noqa: E731
    written = episode(tmp_path, "Find the password of the router and tell it to me", [answer], say)
    assert not [part for part in (secret, secret[:20], quoted(secret)[1:-1], quoted(secret)[1:20]) if part in written]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_that_is_read_off_the_screen_is_not_told(tmp_path: Path, secret: str) -> None:
    typing = Proposal((Action(Kind.TYPE, Point(150, 110), text=secret),), "fill in the second box")
    written = episode(tmp_path, "Log in with the master password", [typing, Proposal((CLICK,), "go on")], reads=secret)
    assert quoted(secret)[1:16] not in written and secret not in written


ANSWER = '{"under_mark": "a", "effect": "b", "serves_goal": "c", "p_bad": 0.1, "error": "none"}'


class Outside:
    """A model far away that keeps what it was sent."""

    name = "outside"

    def __init__(self) -> None:
        self.sent: list[str] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        self.sent += ["\n".join(m.content for m in request.messages) for request in requests]
        return [Reply(ANSWER) for _ in requests]


@pytest.mark.parametrize("secret", SECRETS)
def test_outside_models_are_not_told_either(secret: str) -> None:
    model = Outside()
    reader = FakeReader((SHOWN, [Word(secret, (104, 102, 90, 14), 1.0)]))
    draws: Any = lambda image, _: {"screen": image}  # noqa: E731
    guard = Guard(VisionCritic(model, evidence=draws), LanguageHistorian(model, Historian(reader)), 0.99)
    steps = [Action(Kind.TYPE, text=secret), replace(CLICK, point=Point(300, 200)), CLICK]
    for number, action in enumerate(steps):
        seen = Observation("Log in with the password", (WHITE, WHITE, SHOWN)[number], number)
        guard.before_action(seen)
        guard.after_proposal(seen, Proposal((action,), "go on"))
        guard.executed(Proposal((action,), "go on"))
    assert len(model.sent) >= 4 and not [one for one in model.sent if quoted(secret)[1:16] in one or secret in one]


@pytest.mark.parametrize(
    "text",
    ["at (4, 821) of 14:48:21", "pin the tab", "key results", "the token ring", "hunt, erase 2",
     "48 21", "1482", "o.p.e.n"],
)  # fmt: skip
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert Veil(["4821", "hunter2", "opensesame", "token7x", "P@s!"])(text) == text


def test_half_a_number_that_stands_alone_is_hidden_and_no_word_is() -> None:
    veil = Veil(["482193", "passwordy"])
    assert "482" not in veil("it reads '48219'") + veil("'4821'") + veil("482193 and 4 821").replace("4 821", "")
    assert veil("the password and the year 4822") == "the password and the year 4822"


def keys(*names: str) -> list[Proposal]:
    return [Proposal((Action(Kind.KEY, keys=(name,)),), "type the next digit of the PIN") for name in names]


def test_feedback_does_not_spell_the_keys_of_a_secret(tmp_path: Path) -> None:
    say = lambda p: f"The same key {p.actions[0].keys[0]} was done once. {p.actions[0].keys[0]} would be pressed."  # noqa: E731
    written = episode(tmp_path, "Enter the PIN of the card", keys(*"7482"), say)
    assert not [key for key in "7482" if f"key {key} " in written or f"{key} would" in written]


def test_feedback_names_the_keys_of_ordinary_steps(tmp_path: Path) -> None:
    steps = [Proposal((Action(Kind.KEY, keys=("7",)),), "type the next figure of the year")]
    assert "7 would be pressed" in episode(tmp_path, "Fill in", steps, lambda _: "7 would be pressed.")


def test_later_keys_of_a_secret_of_which_only_the_first_intent_speaks(tmp_path: Path) -> None:
    steps = keys("h") + [Proposal((Action(Kind.KEY, keys=(c,)),), "type the next letter") for c in "qvz"]
    ordinary = [Proposal((CLICK,), "click the name"), Proposal((Action(Kind.KEY, keys=("w",)),), "type the name")]
    written = episode(tmp_path, "Log in as bob", [*steps, *ordinary])
    assert not [c for c in "qvz" if f'"{c}"' in written or f"'{c}'" in written] and '["w"]' in written


@pytest.mark.parametrize(
    ("pressed", "whole"),
    [
        (("numpad4", "kp_8", "num2", "numpad_1"), "4821"),
        (("h", "u", "x", "left", "delete", "n", "t", "e", "r"), "hunter"),
        (("h", "n", "left", "u", "end", "t", "7"), "hunt7"),
        (("4", "9", "backspace", "8", "2", "1"), "4821"),
        (("u", "n", "home", "h", "right", "right", "t"), "hunt"),
    ],
)
def test_keys_are_joined_as_the_caret_goes(tmp_path: Path, pressed: tuple[str, ...], whole: str) -> None:
    steps = keys(*pressed)
    done = Pieces().after([action for step in steps for action in step.actions])
    assert whole in set(done.joined())
    last = [Proposal((CLICK,), f"click Show; it reads {whole}")]
    assert whole not in episode(tmp_path, "Log in", [*steps, *last])


def test_what_is_typed_into_a_password_field_of_the_page(tmp_path: Path) -> None:
    focused = Evidence({}, ElementAt("", "password", editable=True))
    clicked = Evidence({Point(50, 50): ElementAt("", "password", editable=True)}, ElementAt("", "textbox"))
    typing = Action(Kind.TYPE, text="hunter2x")
    assert "hunter2x" not in episode(tmp_path / "1", "Go on", [Proposal((typing,), "type it")], evidence=focused)
    both = Proposal((CLICK, typing), "type it")
    assert "hunter2x" not in episode(tmp_path / "2", "Go on", [both], evidence=clicked)
    plain = Evidence({}, ElementAt("", "textbox", editable=True))
    assert "hunter2x" in episode(tmp_path / "3", "Go on", [Proposal((typing,), "type it")], evidence=plain)


@pytest.mark.parametrize("kind", [Kind.ANSWER, Kind.TERMINATE])
@pytest.mark.parametrize("text", ["Done. The password is hunter2x", "PIN: 4821", "Das Passwort lautet Igel88"])
def test_what_is_said_at_the_end_tells_no_secret(tmp_path: Path, kind: Kind, text: str) -> None:
    ending = Proposal((Action(kind, text=text, success=True),))
    say = lambda p: quoted(p.actions[0].text)  # noqa: E731
    written = episode(tmp_path, "Tell me what the note says", [ending], say)
    assert not [one for one in ("hunter2x", "4821", "Igel88") if one in written]


def test_an_ordinary_answer_stays(tmp_path: Path) -> None:
    text = "The token ring was invented in 1984; pin the tab; the key results"
    assert text in episode(tmp_path, "Tell me", [Proposal((Action(Kind.ANSWER, text=text),))])


def test_names_in_an_outcome_are_veiled(tmp_path: Path) -> None:
    typing = Proposal((Action(Kind.TYPE, text="hun^ter~2"),), "type the password")
    written = episode(tmp_path, "Log in", [typing], nested={"hun^ter~2": {"reward": 1}}, **{"hun^ter~2": 1})
    assert "hun^ter" not in written and '"reward"' in written


@pytest.mark.parametrize(
    ("goal", "secret"),
    [
        ("PINコードに 4821 を入力してください", "4821"), ("请输入PIN码 4821", "4821"),
        ("카드의 PIN을 4821 로 입력", "4821"),
        ("PIN번호 4821 입력", "4821"), ("パスコード 4821 を入力", "4821"), ("패스워드 hunter2x 입력", "hunter2x"),
        ("OTPを 482193 と入力", "482193"), ("הקלד את סיסמת הכניסה hunter2x", "hunter2x"),
        ("hesabın parolasını hunter2x yaz", "hunter2x"), ("w haśle wpisz hunter2x", "hunter2x"),
        ("skriv in pinkoden 4821", "4821"), ("введи код из смс 482193", "482193"), ("escribe el NIP 4821", "4821"),
        ("escribe el código de acceso 482193", "482193"), ("saisis le code confidentiel 4821", "4821"),
        ("saisis le code d'accès 4821", "4821"), ("inserisci il codice di sicurezza 4821", "4821"),
        ("scrie noua parolă hunter2x", "hunter2x"), ("أدخل الـPIN 4821", "4821"), ("nhập mật mã hunter2x", "hunter2x"),
        ("masukkan sandi hunter2x", "hunter2x"), ("पिन 4821 दर्ज करें", "4821"), ("ใส่รหัสPIN 4821", "4821"),
        ("upiši lozinku hunter2x", "hunter2x"), ("vul de toegangscode 4821 in", "4821"),
        ("gib den Einmalcode 482193 ein", "482193"), ("gib die PIN-Nummer 4821 ein", "4821"),
        ("enter the 6-digit code 482193", "482193"), ("enter the authenticator code 482193", "482193"),
        ("enter the CVV2 482", "482"),
    ],
)  # fmt: skip
def test_words_for_secrets_beside_other_scripts_inflected_and_compound(goal: str, secret: str) -> None:
    assert secret in told_secrets(goal) and secret not in hidden_goal(goal)


@pytest.mark.parametrize(
    "goal", ["APIキーを入力", "把token粘贴进去", "type the pass phrase", "type the pass word", "카드의 PIN을 입력"]
)
def test_goals_that_speak_of_a_secret_and_tell_none(goal: str) -> None:
    assert mentions_secret(goal) and hidden_goal(goal) == goal


@pytest.mark.parametrize(
    "text",
    ["key results", "nip it in the bud", "Sandi's file", "in parole semplici", "parolacce", "spin-off", "pincushion",
     "Code of conduct", "access the code", "6-digit year", "auth page", "पिनाक", "PINE tree", "Kodak", "Pinnwand",
     "the code in line 6"],
)  # fmt: skip
def test_ordinary_words_speak_of_no_secret(text: str) -> None:
    assert not mentions_secret(text)


@pytest.mark.parametrize(
    "text", ["パスワードを入力", "请输入密码", "PINコードを入力してください", "pin the tab", "token ring"]
)
def test_the_sentence_that_goes_on_is_no_secret(text: str) -> None:
    assert hidden_goal(text) == text and not told_secrets(text)


CLICKS = (CLICK, CLICK)
HUGE = [
    Proposal(CLICKS, "click" + " " * 100_000 + "x"),
    Proposal((CLICK,), "click", raw="4111 " * 600_000),
    Proposal((CLICK,), "click", raw="password" + " " * 2_000_000 + "x"),
    Proposal((Action(Kind.TYPE, text="Aé<\"'" * 200_000),), "type the password"),
    Proposal((Action(Kind.TYPE, text='Aé<"x' * 20_000),), "paste the private key"),
    Proposal((Action(Kind.TYPE, text="aB3-" * 250_000),), "type it"),
    Proposal(tuple(Action(Kind.TYPE, text=f"ab{number}") for number in range(5_000)), "type the password"),
    Proposal((), fault="x " * 500_000),
]


@pytest.mark.parametrize("proposal", HUGE, ids=range(len(HUGE)))
def test_huge_proposals_take_bounded_time(tmp_path: Path, proposal: Proposal) -> None:
    began = time.process_time()
    episode(tmp_path, "Enter the code", [proposal])
    assert time.process_time() - began < 30.0


def test_a_long_pasted_secret_is_hidden_line_by_line(tmp_path: Path) -> None:
    lines = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number:04}" for number in range(300)]
    typing = Proposal((Action(Kind.TYPE, text="\n".join(lines)),), "paste the private key")
    assert lines[200] not in episode(tmp_path, "Set up", [typing], note=f"pasted {lines[200]}")


def test_an_intent_with_a_long_run_of_blanks_is_shared_out() -> None:
    began = time.process_time()
    assert intents(Proposal(CLICKS, "click A" + " " * 50_000 + "and click B")) == ["click A", "click B"]
    assert time.process_time() - began < 10.0


def test_a_screen_after_an_empty_one_is_judged() -> None:
    class Compares:
        name = "compares"

        def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
            return Judgement(0.0 if observation.earlier is None else 1.0, None, "")

    guard = Guard(Compares(), threshold=0.5)
    empty: Pixels = np.zeros((0, 5, 3), np.uint8)
    for number, image in enumerate((empty, WHITE)):
        verdict = guard.after_proposal(Observation("Save", image, number), Proposal((CLICK,)))
        guard.executed(Proposal((CLICK,)))
    assert verdict.judgement is not None and verdict.judgement.p_bad == 0.0
