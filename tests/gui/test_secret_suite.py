"""Secrets in the languages people use: none is in a trace, in feedback, in a prompt or in the history."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.guard import Guard
from foretell.gui.history import Historian, History
from foretell.gui.judgement import Judgement
from foretell.gui.observation import Observation, Proposal
from foretell.gui.secrets import hidden_goal
from foretell.gui.trace import TraceWriter
from tests.gui.screens import FIELD, fill, form

# goal, intent, what is typed, what must not be seen
CASES = [
    ("Log in as ann with the password hunter2!", "type the password", "hunter2!", ["hunter2!"]),
    ("Log in", "type 'Tr0ub4dor' into the password field", "Tr0ub4dor", ["Tr0ub4dor"]),
    ("Change the password from hunter2 to swordfish9", "type the old one", "hunter2", ["hunter2", "swordfish9"]),
    ("Change my password from 'old pass' to 'new pass'", "type it", "old pass", ["old pass", "new pass"]),
    ("Change the PIN from 4711 to 8150 please", "type the new PIN", "8150", ["4711", "8150"]),
    ("Ändere das Passwort von Hase77 auf Igel88", "Passwort eingeben", "Igel88", ["Hase77", "Igel88"]),
    ("Remplace le mot de passe de renard1 à loutre2", "saisir", "loutre2", ["renard1", "loutre2"]),
    ("Cambia la contraseña de zorro1 a nutria2", "escribir", "nutria2", ["zorro1", "nutria2"]),
    ("把密码从abc123改为xyz789", "输入", "xyz789", ["abc123", "xyz789"]),
    ("Смени пароль с lisa55 на volk66", "ввести", "volk66", ["lisa55", "volk66"]),
    ("Melde dich an. Das Passwort lautet Morgenstern7", "Kennwort eingeben", "Morgenstern7", ["Morgenstern7"]),
    ("Anmelden, Kennwort: blauer_Wal", "tippe blauer_Wal", "blauer_Wal", ["blauer_Wal"]),
    ("Connecte-toi, mot de passe « soleil-42 »", "saisir le mot de passe", "soleil-42", ["soleil-42"]),
    ("Inicia sesión: la contraseña es girasol_9", "escribe la contraseña", "girasol_9", ["girasol_9"]),
    ("Entre com a senha girassol_8", "digite a senha", "girassol_8", ["girassol_8"]),
    ("Accedi. La parola d'ordine: girasole_7", "scrivi", "girasole_7", ["girasole_7"]),
    ("Log in met wachtwoord zonnebloem6", "wachtwoord typen", "zonnebloem6", ["zonnebloem6"]),
    ("Zaloguj się, hasło: slonecznik5", "wpisz hasło", "slonecznik5", ["slonecznik5"]),
    ("Logga in, lösenord: solros44", "skriv lösenord", "solros44", ["solros44"]),
    ("Войди, пароль: podsolnuh3", "введи пароль", "podsolnuh3", ["podsolnuh3"]),
    ("登录，密码是xiangrikui1", "输入密码", "xiangrikui1", ["xiangrikui1"]),
    ("ログインして。パスワードは「himawari2」", "パスワードを入力", "himawari2", ["himawari2"]),
    ("로그인, 비밀번호: haebaragi3", "비밀번호 입력", "haebaragi3", ["haebaragi3"]),
    ("سجل الدخول، كلمة المرور: abbad_shams4", "أدخل كلمة المرور", "abbad_shams4", ["abbad_shams4"]),
    ("התחבר, הסיסמה היא hamanit5", "הקלד את הסיסמה", "hamanit5", ["hamanit5"]),
    ("Giriş yap, şifre: aycicegi6", "şifre yaz", "aycicegi6", ["aycicegi6"]),
    ("Enter the verification code 482913", "type the code", "482913", ["482913"]),
    ("The login code is 77 12 09", "type the login code", "771209", ["771209"]),
    ("Use the SMS code: 550123", "enter it", "550123", ["550123"]),
    ("输入验证码 884422", "输入", "884422", ["884422"]),
    ("認証コードは 119955", "入力", "119955", ["119955"]),
    ("Gib den Sicherheitscode 903 ein", "Sicherheitscode eingeben", "903", ["903"]),
    ("Saisis le code de vérification 665544", "saisir", "665544", ["665544"]),
    ("Set Authorization: Bearer abcDEF123456.xyz", "type it", "Bearer abcDEF123456.xyz", ["abcDEF123456"]),
    ("Fill in the form", "paste the value", "Bearer eyJhbGciOi.J9eyJzdWIi.SflKxwRJ", ["SflKxwRJ", "eyJhbGciOi"]),
    ("Fill in the form", "type the value", "ghp_0123456789abcdefABCD", ["ghp_0123456789abcdefABCD"]),
    ("Use sk-proj-0123456789abcdef", "type the value", "sk-proj-0123456789abcdef", ["0123456789abcdef"]),
    ("Fill in the form", "type AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", ["AKIAIOSFODNN7EXAMPLE"]),
    ("Pay with 4111 1111 1111 1111", "type the number", "4111 1111 1111 1111", ["4111 1111 1111 1111"]),
    ("Fill in the form", "type the number", "5500-0000-0000-0004", ["5500-0000-0000-0004"]),
    ("Transfer to DE89 3704 0044 0532 0130 00", "type it", "DE89 3704 0044 0532 0130 00", ["0532 0130"]),
    ("Open https://ann:s3cretpw@files.example/x", "go there", "x", ["s3cretpw"]),
    ("The api key is k_live_99aa", "type the api key", "k_live_99aa", ["k_live_99aa"]),
    ("Use the recovery phrase 'apple river stone'", "type it", "apple river stone", ["apple river stone"]),
    ("My SSN is 078-05-1120", "type it", "078-05-1120", ["078-05-1120"]),
    ("CVV 737, then pay", "type the CVV", "737", ["737"]),
    ("Unlock with passcode 2580", "type it", "2580", ["2580"]),
]  # fmt: skip


class Echo:
    """A critic that repeats all that it was shown."""

    name = "echo"

    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        return Judgement(1.0, None, f"{observation.goal} {proposal.intent} {proposal.actions} {history.steps}")


@pytest.mark.parametrize(("goal", "intent", "typed", "secrets"), CASES)
def test_none_gets_out(tmp_path: Path, goal: str, intent: str, typed: str, secrets: list[str]) -> None:
    told = []
    trace = TraceWriter(tmp_path / "trace", pictures=False)
    guard = Guard(Echo(), Historian(), threshold=0.5, trace=trace)
    click = Proposal((Action(Kind.CLICK, Point(FIELD[0] + 9, FIELD[1] + 9)),), "click the field")
    write = Proposal((Action(Kind.TYPE, text=typed),), intent, raw=f'{{"action": "type", "text": "{typed}"}}')
    screens = [form(), fill(form(), (70, 110, 60, 20), 30), fill(form(), (70, 110, 90, 20), 30)]
    for step, proposal in enumerate((click, write)):
        seen = Observation(goal, screens[step], step)
        told.append(guard.before_action(seen))
        told.append(guard.after_proposal(seen, proposal).feedback)
        guard.executed(proposal)
    told.append(guard.before_action(Observation(goal, screens[2], 2)))
    guard.finished(screens[2])
    told += [repr(guard.history), repr(list(guard.faults)), hidden_goal(goal)]
    told += [path.read_text(encoding="utf-8") for path in sorted((tmp_path / "trace").rglob("*.jsonl"))]
    assert any('"proposed"' in one for one in told)
    for secret in secrets:
        assert not [one for one in told if secret in one], secret


@pytest.mark.parametrize(
    "text",
    ["Send the report to Bob", "Move the card from To do to Done", "Book a flight from Rome to Oslo", "Call 555-0100",
     "Order 20 boxes", "Rename the file to notes.txt", "Set the date to 2026-11-18", "Öffne die Einstellungen"],
)  # fmt: skip
def test_ordinary_goals_are_left_as_they_are(text: str) -> None:
    assert hidden_goal(text) == text


def test_the_suite_is_large_enough() -> None:
    assert len({case[0] + case[2] for case in CASES}) >= 40
