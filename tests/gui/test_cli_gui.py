"""`foretell gui`: help, what it says to bad input and bare machines, and a real episode in headless Chromium."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from foretell.cli.app import app
from foretell.extras import install_command
from tests.gui.test_trace import episode

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Run a command in this process, in a folder of its own. A traceback is never an answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str | Path) -> Result:
        with ThreadPoolExecutor(1) as pool:  # where no Playwright runs yet
            result = pool.submit(CliRunner().invoke, app, ["gui", *map(str, arguments)]).result()
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """A machine on which these packages are not installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        monkeypatch.delitem(sys.modules, name)
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)


def test_help_names_the_verbs(invoke: Invoke) -> None:
    done = invoke("--help")
    assert done.exit_code == 0
    for verb in ("demo", "replay", "rescore"):
        assert verb in done.output and invoke(verb, "--help").exit_code == 0


def test_a_trace_becomes_a_page(invoke: Invoke, tmp_path: Path) -> None:
    episode(tmp_path / "trace")
    done = invoke("replay", "trace")
    assert done.exit_code == 0, done.output
    assert "data:image/png" in (tmp_path / "trace" / "replay.html").read_text()
    assert invoke("replay", "trace", "-o", "page.html").exit_code == 0 and (tmp_path / "page.html").exists()
    done = invoke("replay", "trace", "-o", "trace")
    assert done.exit_code == 2 and "is a directory" in done.output


def test_a_trace_is_judged_again(invoke: Invoke, tmp_path: Path) -> None:
    episode(tmp_path / "trace")
    done = invoke("rescore", "trace", "--critic", "rules")
    assert done.exit_code == 0, done.output
    assert "before  fake objected to 1 of 3 proposals, 1 of them sent back; threshold P(bad) > 0.50" in done.output
    assert re.search(r"now +rules objects to \d of 3 proposals; threshold P\(bad\) > 0.50", done.output)
    assert re.search(r"agree +on \d of 3 proposals that both judged", done.output)
    done = invoke("rescore", "trace", "--critic", "rules", "--json")
    told = json.loads(done.stdout)
    assert told["proposals"] == 3 and [row["p_bad_before"] for row in told["rounds"]] == [0.9, 0.2, 0.1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("replay", "nowhere"), "there is no trace.jsonl in nowhere"),
        (("rescore", "nowhere"), "there is no trace.jsonl in nowhere"),
        (("rescore", "trace", "--critic", "wise"), "there is no critic 'wise'"),
        (("rescore", "trace", "--critic", "openai:x"), "an endpoint is written openai:MODEL@URL"),
        (("demo", "--task", "world-peace"), "the bench cannot solve a task 'world-peace'"),
        (("demo", "--mode", "loud"), "there is no mode 'loud'"),
        (("demo", "--out", "trace"), "trace exists already"),
    ],
)
def test_bad_input_is_answered(invoke: Invoke, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    episode(tmp_path / "trace")
    done = invoke(*arguments)
    assert done.exit_code == 2 and said in done.output and "expected:" in done.output


def test_an_empty_trace_has_nothing_to_show(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "trace.jsonl").write_text("")
    done = invoke("replay", tmp_path)
    assert done.exit_code == 2 and "no step was traced" in done.output


def test_without_chromium_it_says_how_to_get_one(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CHROMIUM", "/nowhere/chromium")
    done = invoke("demo", "--critic", "rules")
    assert done.exit_code == 2 and "No Chromium was found" in done.output and "apt install chromium" in done.output


def test_without_the_extra_it_says_what_to_install(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "playwright")
    done = invoke("demo", "--critic", "rules")
    assert done.exit_code == 2 and install_command("gui") in done.output


def test_a_guarded_episode_in_chromium(chromium: None, invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("demo", "--critic", "rules", "--task", "enter-text", "--mistakes", "0", "--json", "--out", "demo")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["solved"] and told["mistakes"] == 0 and told["faults"] == []
    page = (tmp_path / "demo" / "replay.html").read_text()
    assert "is in the field that was clicked" in page
    again = json.loads(invoke("rescore", "demo", "--critic", "rules", "--json").stdout)
    assert again["agreement"] == 1.0 and again["objections_now"] == again["objections_before"]


def test_the_demo_can_be_run_again(chromium: None, invoke: Invoke, tmp_path: Path) -> None:
    episode(tmp_path / "gui-demo")
    done = invoke("demo", "--critic", "rules", "--task", "click-button", "--mistakes", "0")
    assert done.exit_code == 0, done.output
    assert "gui-demo-2/replay.html" in done.output and "True" not in done.output and "solved in" in done.output
    assert "gui-demo*/" in (Path(__file__).parents[2] / ".gitignore").read_text().splitlines()


@pytest.mark.full
def test_an_episode_that_is_not_solved_says_why(chromium: None, invoke: Invoke) -> None:
    """Nobody intervenes in shadow mode, and the agent never gets anything right."""
    done = invoke("demo", "--critic", "rules", "--mistakes", "1", "--mode", "shadow", "--json")
    told = json.loads(done.stdout)
    assert not told["solved"] and told["reason"] == "the agent was not done after 20 steps"


def test_a_slow_machine_does_not_spoil_the_demo() -> None:
    from foretell.gui.demo import LIMITS
    from foretell.gui.guard import Limits

    assert LIMITS.judgement_s >= 10 * Limits().judgement_s
