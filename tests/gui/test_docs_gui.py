"""The examples of docs/gui.md: all compile, and those that a test can run do what they say."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.critic import RulesCritic
from foretell.gui.guard import Guard
from foretell.gui.observation import Observation, Proposal
from foretell.gui.verdict import Reason
from tests.gui.adapter_fakes import Programs, launching, png

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "gui.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def block(word: str) -> Any:
    (found,) = [one for one in BLOCKS if word in one]
    return compile(found, "docs/gui.md", "exec")


def propose(observation: Observation, text: str) -> Proposal:
    if observation.step == 0:
        return Proposal((Action(Kind.CLICK, Point(5, 5)),))
    return Proposal((Action(Kind.TERMINATE, success=True),))


def names() -> dict[str, Any]:
    return {"guard": Guard(RulesCritic()), "propose": propose}


def test_all_compile() -> None:
    assert len(BLOCKS) >= 9
    for one in BLOCKS:
        compile(one, "docs/gui.md", "exec")


def test_figures_are_those_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "gui_critic.json").read_text("utf-8"))
    held_out = measured["held_out"]["unstated"]["embedded"]
    doubted, promised = held_out["false_interruptions"], held_out["threshold"]["bound"]
    said = (
        f"without a stated intent {doubted:.1%} of the right proposals of new tasks were doubted where {promised:.0%}"
    )
    assert said.replace("%", " %") in " ".join(TEXT.split())
    assert f"at {doubted:.1%})".replace("%", " %") in (ROOT / "docs" / "results" / "README.md").read_text("utf-8")


def test_a_guard_and_what_it_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as they are printed."""
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for word in ("EmbeddedCritic", "told = guard.before_action", "LanguageHistorian", "TraceWriter", "at_endpoint"):
        exec(block(word), space)
    assert space["verdict"].reason in (Reason.FINE, Reason.DOUBTED)
    assert space["historian"].name == "history:openai:qwen3-8b@http://localhost:8000/v1"
    assert space["trace"].folder.is_dir()
    assert space["seeing"].name == "vision:openai:qwen2.5-vl-7b@http://localhost:8000/v1"


def test_the_readers_example() -> None:
    said = '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [3, 4]}}'
    space: dict[str, Any] = {"my_model": lambda image, text: said}
    exec(block("my_model"), space)
    found = space["propose"](Observation("goal", np.zeros((60, 80, 3), np.uint8)), "told")
    assert found.actions == (Action(Kind.CLICK, Point(3, 4)),)


@pytest.fixture
def offline(chromium: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples open a page of the net and a Chromium at the usual place, and a root's Chromium wants no sandbox."""
    from playwright import async_api, sync_api

    def without_sandbox(launch: Any) -> Any:
        return lambda self, **options: launch(self, **{**options, **launching()})

    def elsewhere(goto: Any) -> Any:
        return lambda self, url: goto(self, "about:blank")

    for api in (sync_api, async_api):
        monkeypatch.setattr(api.BrowserType, "launch", without_sandbox(api.BrowserType.launch))
        monkeypatch.setattr(api.Page, "goto", elsewhere(api.Page.goto))


@pytest.mark.usefixtures("offline")
def test_playwrights_examples(capsys: pytest.CaptureFixture[str]) -> None:
    def run(code: Any) -> None:
        """In a thread without an event loop, as a program's own would be."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(exec, code, names()).result()

    run(block("playwright.sync_api"))
    assert capsys.readouterr().out.count("\n") == 2
    run(block("playwright.async_api"))


def test_desktop_and_phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = Programs(tmp_path)
    monkeypatch.setenv("PATH", programs.path)
    for name in ("xdotool", "adb", "import"):
        programs.add(name, png())
    exec(block("X11Screen"), names())
    exec(block("AdbScreen"), names())
    assert programs.calls("xdotool") == [["mousemove", "5", "5"], ["mousemove", "5", "5", "click", "1"]]
    assert ["-s", "emulator-5554", "shell", "input", "tap", "5", "5"] in programs.calls("adb")


def test_an_environments_example_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """With MiniWoB++'s spaces, but without its browser."""
    gymnasium = pytest.importorskip("gymnasium")
    pytest.importorskip("miniwob")
    from tests.gui.test_adapter_gym import Page

    class Registered(Page):
        @property
        def action_space_config(self) -> Any:
            return self.config

    monkeypatch.setattr(gymnasium, "make", lambda name: Registered())
    taken = [Action(Kind.CLICK, Point(40, 150)), Action(Kind.TERMINATE, success=True)]
    space = names() | {"my_policy": lambda observation, text: taken.pop(0)}
    space["guard"] = Guard(RulesCritic(), threshold=1.0)
    exec(block("MiniWobTranslator"), space)
    assert taken == []
    assert space["info"]["guard"]["finished"]
