"""Ways by which secrets got out once: each class stays closed, and ordinary texts stay readable."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.keys import names
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.guard import Guard
from foretell.gui.history import Historian, History
from foretell.gui.history_lm import LanguageHistorian
from foretell.gui.observation import Observation, Proposal
from foretell.gui.parse import Form, read
from foretell.gui.secret_looks import secret_looks
from foretell.gui.secrets import hidden_goal, hidden_words, mentions_secret
from foretell.gui.trace import FILE, TraceWriter
from foretell.gui.trace import read as read_trace
from foretell.gui.veil import Veil
from foretell.gui.vision import CriticUnavailable, VisionCritic
from foretell.lm import Cached, Failure, Reply, Request
from tests.gui.screens import FakeCritic, FakeReader, word

WHITE = np.full((240, 320, 3), 255, np.uint8)
SHOWN = WHITE.copy()
SHOWN[100:120, 100:200] = 0
CLICK = Action(Kind.CLICK, Point(50, 50))
ON = Proposal((CLICK,), "go on")
ANSWER = {"under_mark": "zebra4zulu", "effect": "a", "serves_goal": "b", "p_bad": 0.1, "error": "none"}


def typing(text: str) -> Action:
    return Action(Kind.TYPE, text=text)


def step(text: str, intent: str | None = "fill in the field", **more: Any) -> Proposal:
    return Proposal((typing(text),), intent, **more)


class Outside:
    """A model far away, which says `answer` and keeps all that it was sent."""

    name = "outside"

    def __init__(self, answer: str = "no JSON, zebra4zulu") -> None:
        self.answer = answer
        self.sent: list[str] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        self.sent += [str([m.content for m in request.messages]) for request in requests]
        return [Reply(self.answer) for _ in requests]


def traced(
    folder: Path, goal: str, steps: list[Proposal], historian: Any = None, raw: bool = False, **outcome: Any
) -> tuple[str, str]:
    """What an episode wrote, and what the guard said for prompts."""
    said = []
    with TraceWriter(folder, pictures=False, raw=raw) as writer:
        guard = Guard(FakeCritic(0.1), historian, threshold=0.99, trace=writer)
        for number, proposal in enumerate(steps):
            seen = Observation(goal, SHOWN if number % 2 else WHITE, number)
            said.append(guard.before_action(seen))
            said.append(guard.after_proposal(seen, proposal).feedback)
            guard.executed(proposal)
        guard.finished(WHITE, **outcome)
        assert not [fault for fault in guard.faults if fault.where == "trace"]
    read_trace(folder)
    return (folder / FILE).read_text(encoding="utf-8"), "\n".join(said)


LOOKS = [
    "GB29NWBK60161331926819", "FR14 2004 1010 0505 0001 3M02 606", "nl91abna0417164300",
    "4111\u00a01111\u00a01111\u00a01111",
    "4111.1111.1111.1111", "4111  1111  1111  1111", "4111\u20131111\u20131111\u20131111", "3782 822463 10005",
    "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "https://x.example/cb#access_token=q7Zt90&state=1",
    "https://x.example/?code=q7Zt90",
    "https://x.example/?X-Amz-Signature=q7Zt90", "Authorization: Basic Ym9iOmh1bnRlcjI=", "SERVICE_PASSWORD=Kiwi",
    "ya29.a0AfH6SMBx1234567890abcdefghij", "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFs==",
    "078 05 1120",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTU", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
]  # fmt: skip
PLAIN = [
    "Donaudampfschifffahrtsgesellschaft", "getElementsByClassNameAndTagName", "report_final_2026-11-18_version2.pdf",
    "IMG_20261118_123456.jpg", "https://en.wikipedia.org/wiki/Large_language_model#History",
    "2026-11-18T12:30:45.123456",
    "https://shop.example.com/products/blue-widget-2000?color=red&size=42&page=3",
    "20261118T123456Z-backup-of-database",
    "550e8400-e29b-41d4-a716-446655440000", "src/foretell/gui/adapters/playwright.py", "ISBN 978-3-16-148410-0",
    "https://x.example/?zipcode=12345&keyword=shoes&country_code=DE&author=bob", "1000 2000 3000 4000",
    "DE12 3456 7890",
    "order number 1234567890123456", "python3.11-venv_1.2.3-4ubuntu5_amd64.deb", "SELECT_ALL_COLUMNS_FROM_TABLE",
    "AA12 TEST WORDS IN CAPITALS HERE", "DE00 3704 0044 0532 0130 00",
    "Call +49 170 1234567 or 0049 30 123456", "x=1; y=2",
]  # fmt: skip


@pytest.mark.parametrize("text", LOOKS)
def test_secrets_by_their_looks(tmp_path: Path, text: str) -> None:
    written, _ = traced(tmp_path, "Order the book", [step(text)])
    assert text not in written and json.dumps(text)[1:-1] not in written


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_texts_look_like_none(tmp_path: Path, text: str) -> None:
    assert secret_looks(text) == () and hidden_goal(text) == text
    assert text in traced(tmp_path, "Order the book", [step(text)])[0]


@pytest.mark.parametrize(
    "intent",
    ["export API_SECRET_ACCESS_KEY", "fill in user_password", "fill in dbPassword", "fill in accessToken", "auth-token",
     "Skriv in lösenordet", "Indtast adgangskoden", "Skriv inn passordet", "Írd be a jelszavad", "Şifreyi yaz",
     "Πληκτρολόγησε τον κωδικό", "Kirjoita salasanasi", "Zaloguj się hasłem", "Vul de wachtwoorden in",
     "Přihlas se heslem",
     "Benutzerpasswort eingeben", "введи паролем", "pass\u200bword", "ｐａｓｓｗｏｒｄ", "パスワードを入力",
     "비밀번호 입력"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_words_for_secrets_in_every_form(tmp_path: Path, intent: str, form: Any) -> None:
    assert "Summer24" not in traced(tmp_path, "Log in", [step("Summer24", unicodedata.normalize(form, intent))])[0]


@pytest.mark.parametrize(
    "text",
    ["Open the passage", "tokenize the text", "compass north", "press the tank icon", "pinned post", "spinning wheel",
     "the monkey", "use the keyboard", "Passau", "secretary of state", "unpin it", "passenger list",
     "liberté de parole"],
)  # fmt: skip
def test_ordinary_words_speak_of_none(text: str) -> None:
    assert not mentions_secret(text)


@pytest.mark.parametrize(
    ("goal", "secrets"),
    [
        ("Log in as bob with hunter2x as the password", ["hunter2x"]),
        ("Log in with swordfish as the password", ["swordfish"]),
        ("Replace the password Alpha1x with Beta2xyz", ["Alpha1x", "Beta2xyz"]),
        ("Replace the password alpha with betamax", ["alpha", "betamax"]),
        ("Change my password: it was Alpha1x, make it Beta2xyz", ["Alpha1x", "Beta2xyz"]),
        ("Change the password: it was otter, make it badger", ["otter", "badger"]),
        ("Change the password Alpha1x into Beta2xyz", ["Alpha1x", "Beta2xyz"]),
        ("Password change Alpha1x -> Beta2xyz", ["Alpha1x", "Beta2xyz"]),
    ],
)
def test_goals_in_other_wordings(tmp_path: Path, goal: str, secrets: list[str]) -> None:
    written, _ = traced(tmp_path, goal, [Proposal((CLICK,), "click Settings")])
    assert not [secret for secret in secrets if secret in written]


@pytest.mark.parametrize(
    "goal",
    ["Change my password settings", "Ask Bob for the password", "Log in as user42 with the password",
     "Open the tab with PINs",
     "Reset the password and wait 30min"],
)  # fmt: skip
def test_goals_that_speak_of_secrets_and_tell_none(goal: str) -> None:
    assert hidden_goal(goal) == goal


RAW = "The password is hunter2x, as the note says. Now the second field.\nclick(1, 1)"
BROKEN = 'I type the password hunter2x.\n{"action": "type", "text": "hunter2x", '


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize(
    "steps",
    [
        [step("hunter2x", "Now the second field", raw=RAW)],
        [Proposal((CLICK,), "first the user", raw=RAW), step("hunter2x", "then this")],
        [read(BROKEN, Form.QWEN, size=(320, 240))],
    ],
)
def test_raw_words_tell_nothing(tmp_path: Path, steps: list[Proposal], raw: bool) -> None:
    assert "hunter2x" not in traced(tmp_path, "Log in as bob", steps, raw=raw)[0]


def test_raw_words_are_written_only_where_asked_for(tmp_path: Path) -> None:
    plain = Proposal((CLICK,), "click OK", raw="call_it()")
    assert "call_it" not in traced(tmp_path / "default", "Tidy up", [plain])[0]
    assert "call_it" in traced(tmp_path / "raw", "Tidy up", [plain], raw=True)[0]
    assert "call_it" not in traced(tmp_path / "secret", "Tidy up the passwords", [plain], raw=True)[0]


KEYS = [Proposal((Action(Kind.KEY, keys=(c,)),), "press the next key of the password") for c in "zebra4zulu"]
BOXES = [act for c in "739184" for act in (CLICK, typing(c))]
GROUPS = ("4539", "1488", "0343", "6467")
PEM = ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"]


@pytest.mark.parametrize(
    ("goal", "steps", "echo"),
    [
        ("Log in", KEYS, "zebra4zulu"),
        ("Log in", [Proposal(tuple(map(typing, "739184")), "enter the one-time code")], "739184"),
        ("Log in", [Proposal((act,), "the one-time code") for act in BOXES], "739184"),
        ("Log in with the code", [step("anna", "the user"), *KEYS], "zebra4zulu"),
        ("Order it", [Proposal(tuple(map(typing, GROUPS)), "fill in the boxes")], "".join(GROUPS)),
        ("Set up", [Proposal((typing(line + "\n"),), "paste the next line") for line in PEM], PEM[1]),
    ],
)  # fmt: skip
def test_pieces_are_known_joined(tmp_path: Path, goal: str, steps: list[Proposal], echo: str) -> None:
    last = Proposal((CLICK,), f"{echo} has been entered, click on")
    assert echo not in traced(tmp_path, goal, [*steps, last], note=echo)[0]


def test_pieces_of_ordinary_texts_stay(tmp_path: Path) -> None:
    steps = [Proposal((Action(Kind.KEY, keys=(c,)),), "type the name") for c in "zebra"]
    assert (
        "zebra stands there"
        in traced(tmp_path, "Fill in the form", [*steps, Proposal((CLICK,), "zebra stands there")])[0]
    )


def test_every_spelling_and_every_name_of_what_is_written(tmp_path: Path) -> None:
    secret = "p&ss w0rd+é"
    forms = ["p%26ss+w0rd%2B%C3%A9", "p%26ss%20w0rd%2b%c3%a9", "p&amp;ss w0rd+é", unicodedata.normalize("NFD", secret)]
    later = [Proposal((Action(Kind.NAVIGATE, text=f"https://x.example/?u={form}"),), f"see {form}") for form in forms]
    told: dict[str, Any] = {
        "error": f"fill({secret!r}) failed",
        "reason": forms,
        "nested": {"error": secret, "kind": secret},
    }
    written, _ = traced(tmp_path, "Log in", [step(secret, secret=True), *later], **told)
    assert not [form for form in (*forms, secret) if form in written or json.dumps(form)[1:-1] in written]


def test_an_outcome_that_tells_by_itself(tmp_path: Path) -> None:
    assert "hunter2x" not in traced(tmp_path, "Log in", [ON], error="the password hunter2x was refused")[0]


@pytest.mark.parametrize("kind", [Kind.TERMINATE, Kind.ANSWER])
def test_what_is_said_at_the_end(tmp_path: Path, kind: Kind) -> None:
    said = Action(kind, text="The card is 4111 1111 1111 1111, the password is hunter2x.", success=True)
    written, _ = traced(
        tmp_path, "Read it out", [Proposal((said,), "finish", secret=True), Proposal((CLICK,), "hunter2x")]
    )
    assert "hunter2x" not in written and "4111" not in written


def test_half_a_surrogate_pair_is_written_as_a_question_mark(tmp_path: Path) -> None:
    written, _ = traced(tmp_path, "Tidy up", [Proposal((CLICK,), "delete the account \ud800")])
    assert "delete the account ?" in written


def test_errors_of_keys_quote_nothing() -> None:
    with pytest.raises(ScreenError) as caught:
        names(["hunter2secret"])
    assert "hunter2" not in str(caught.value)


READER = FakeReader((SHOWN, [word("zebra4zulu", (100, 100))]))


@pytest.mark.parametrize(
    ("goal", "steps"),
    [
        ("Unlock it", [Proposal((typing("zebra4zulu"), CLICK), "type the PIN and go on")]),
        ("Log in with the password on the note", [step("zebra4zulu", "fill in the second field")]),
        ("Log in", [step("zebra4zulu", "type it", secret=True), ON, ON]),
        ("Log in", [*KEYS, ON, ON]),
    ],
)
def test_no_outside_historian_is_told(tmp_path: Path, goal: str, steps: list[Proposal]) -> None:
    model = Outside()
    written, said = traced(tmp_path, goal, [*steps, ON], LanguageHistorian(model, Historian(READER)))
    assert not [sent for sent in (*model.sent, written, said) if "zebra4zulu" in sent]


def test_an_outside_historian_is_told_of_ordinary_steps(tmp_path: Path) -> None:
    model = Outside()
    traced(tmp_path, "Fill in the form", [step("zebra4zulu"), ON], LanguageHistorian(model, Historian(READER)))
    assert any("zebra4zulu" in sent for sent in model.sent)


@pytest.mark.parametrize("hidden", [(), ("zebra4zulu",)])
@pytest.mark.parametrize("answer", [json.dumps(ANSWER), "zebra4zulu, no JSON"])
def test_no_outside_critic_is_told(tmp_path: Path, hidden: tuple[str, ...], answer: str) -> None:
    model = Outside(answer)
    guard = Guard(VisionCritic(Cached(model, tmp_path), hidden=hidden), threshold=0.5)
    for number, proposal in enumerate(
        [step("zebra4zulu", "type the password"), Proposal((CLICK,), "zebra4zulu is in")]
    ):
        seen = Observation("Log in", WHITE, number)
        verdict = guard.after_proposal(seen, proposal)
        guard.executed(proposal)
        assert "zebra4zulu" not in verdict.feedback + verdict.note
    kept = [file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.json")]
    assert model.sent and kept and not [text for text in (*model.sent, *kept) if "zebra4zulu" in text]


def test_hidden_texts_are_hidden_without_a_guard(tmp_path: Path) -> None:
    model = Outside()
    critic = VisionCritic(Cached(model, tmp_path), hidden=["zebra4zulu"])
    with pytest.raises(CriticUnavailable):
        critic.judge(Observation("Log in", WHITE), step("zebra4zulu"), History())
    kept = [file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.json")]
    assert len(model.sent) == 2 and not [text for text in (*model.sent, *kept) if "zebra4zulu" in text]


@pytest.mark.parametrize(
    "unit",
    ["-eyJaaaaaa", "1 ", "4111 ", "password ", "password-from-a-to-", "„", "'a ", "AB12 ", "?a=b", "as the password "],
)
def test_time_grows_with_the_length_and_no_faster(unit: str) -> None:
    def seconds(characters: int) -> float:
        text = f"{time.monotonic()} password " + unit * (
            characters // len(unit)
        )  # never the same: nothing is remembered
        began = time.process_time()
        mentions_secret(text.replace("password", "", 1))
        hidden_words(text)
        return time.process_time() - began

    assert seconds(100_000) < max(2.0, 30 * seconds(10_000))


def test_a_veil_stays_quick() -> None:
    veil = Veil(f"secret{number}é&" for number in range(200))
    began = time.process_time()
    veil("abc def " * 12_500)
    assert time.process_time() - began < 1.0
