from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.gym import GuardedEnv, GymScreen, goal_of, picture
from foretell.gui.adapters.loop import GuardedScreen
from foretell.gui.adapters.screen import Fault, ScreenError
from foretell.gui.adapters.translate import BrowserGymTranslator, MiniWobTranslator
from foretell.gui.observation import Observation, Proposal
from tests.gui.adapter_fakes import NotingGuard

miniwob_action = pytest.importorskip("miniwob.action")  # needs no browser

WIDTH, HEIGHT = 160, 210


def config(preset: str = "all_supported") -> Any:
    found = miniwob_action.ActionSpaceConfig.get_preset(preset)
    found.screen_width, found.screen_height = WIDTH, HEIGHT
    return found


class Page(gymnasium.Env[Any, Any]):
    """The spaces of a MiniWoB++ task without its browser: a click within the button earns the reward."""

    def __init__(self, preset: str = "all_supported") -> None:
        from miniwob.observation import get_observation_space

        self.config = config(preset)
        self.action_space = self.config.get_action_space()
        self.observation_space = get_observation_space(WIDTH, HEIGHT)
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = []
        return self._seen(), {"fresh": True}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action), action
        self.taken.append(action)
        name = self.config.action_types[action["action_type"]].value
        hit = name == "CLICK_COORDS" and self.config.compute_raw_coords(action)[1] < 50
        return self._seen(), float(hit), hit, False, {"took": name}

    def names(self) -> list[str]:
        return [self.config.action_types[action["action_type"]].value for action in self.taken]

    def _seen(self) -> dict[str, Any]:
        return {
            "utterance": "Press the button.",
            "screenshot": np.zeros((HEIGHT, WIDTH, 3), np.uint8),
            "fields": (),
            "dom_elements": (),
        }


BUTTON, BESIDE = Action(Kind.CLICK, Point(40, 30)), Action(Kind.CLICK, Point(40, 150))


def guarded(objections: int = 0, preset: str = "all_supported") -> tuple[GuardedEnv, Page, NotingGuard]:
    page, guard = Page(preset), NotingGuard(objections)
    return GuardedEnv(page, guard, MiniWobTranslator(page.config)), page, guard


def test_a_step_is_judged_and_taken() -> None:
    env, page, guard = guarded()
    observation, info = env.reset(seed=1)
    assert observation["utterance"] == "Press the button."
    assert info["fresh"]
    assert info["guard"]["text"] == "achieved: nothing"
    _, reward, terminated, truncated, info = env.step(BESIDE)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["guard"]["executed"]
    assert info["guard"]["text"] == "achieved: nothing"
    _, reward, terminated, _, info = env.step(Proposal((BUTTON,), "press it"))
    assert (reward, terminated, info["took"]) == (1.0, True, "CLICK_COORDS")
    assert page.names() == ["CLICK_COORDS"] * 2
    assert guard.names() == [
        "reset", "before", "judge", "executed", "before", "judge", "executed", "finished",
    ]  # fmt: skip
    assert guard.last("executed").intent == "press it"


def test_a_step_that_is_objected_to_is_not_taken() -> None:
    env, page, guard = guarded(objections=1)
    env.reset()
    _, reward, terminated, _, info = env.step(BESIDE)
    assert (reward, terminated) == (0.0, False)
    assert info["guard"]["executed"] is False
    assert info["guard"]["feedback"] == "beside the button"
    assert page.taken == []
    _, reward, terminated, _, info = env.step(BUTTON)
    assert (reward, terminated) == (1.0, True)
    assert guard.names() == ["reset", "before", "judge", "judge", "executed", "finished"]


def test_the_environments_own_actions_are_judged_too() -> None:
    env, page, guard = guarded()
    env.reset()
    own = {
        "action_type": 2, "coords": np.array([40, 150], np.float32), "ref": 1, "key": 0, "text": "-", "field": 0
    }  # fmt: skip
    env.step(own)
    assert guard.last("judge").actions == (BESIDE,)
    assert page.taken == [own]
    element = {**own, "action_type": 8}
    *_, info = env.step(element)
    assert info["guard"]["verdict"] is None  # what is no place on the screen cannot be judged by its pixels
    assert guard.names().count("judge") == 1
    assert page.names()[-1] == "CLICK_ELEMENT"


def test_an_agent_that_ends_the_task_ends_the_episode() -> None:
    for last in (Action(Kind.TERMINATE, success=True), Proposal((Action(Kind.ANSWER, text="done"),), closing=True)):
        env, page, guard = guarded(objections=1)
        env.reset()
        *_, truncated, info = env.step(last)
        assert (truncated, info["guard"]["finished"]) == (False, False)  # objected to
        _, reward, terminated, truncated, info = env.step(last)
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["guard"]["finished"]
        assert info["guard"]["text"] == ""
        assert guard.names()[-1] == "finished"
        assert page.taken == []
    env, _, _ = guarded()
    env.reset()
    *_, truncated, info = env.step(Action(Kind.ANSWER, text="42"))
    assert (truncated, info["guard"]["finished"]) == (False, False)
    _, _, terminated, truncated, info = env.step(Proposal((BUTTON, Action(Kind.TERMINATE, success=True))))
    assert (terminated, truncated, info["guard"]["finished"]) == (True, False, True)


def test_a_step_may_be_secret() -> None:
    env, _, guard = guarded()
    env.reset()
    typed = Action(Kind.TYPE, text="hunter2")
    for action, secret, told in (
        (typed, False, False),
        (typed, True, True),
        (Proposal((typed,), secret=True), False, True),
    ):
        env.step(action, secret=secret)
        assert guard.last("judge").secret is told
        assert guard.last("executed").secret is told


def test_a_bad_action_leaves_the_environment_untouched() -> None:
    env, page, _ = guarded(preset="shi17")
    with pytest.raises(ScreenError, match="reset"):
        env.step(BUTTON)
    env.reset()
    for bad in (
        Action(Kind.CLICK, Point(5000, 1)),
        Action(Kind.TYPE, text="no typing here"),
        Action(Kind.RIGHT_CLICK, Point(1, 1)),
        Action(Kind.KEY, keys=("ctrl", "f7")),
        Action(Kind.CLICK, Point(1, 1), keys=("shift",)),
    ):
        with pytest.raises(ScreenError) as error:
            env.step(Proposal((BESIDE, bad)))
        assert error.value.fault is Fault.BAD_ACTION
    assert page.taken == []


@pytest.mark.parametrize("preset", ["all_supported", "shi17", "humphreys22"])
def test_every_translation_lies_in_the_action_space(preset: str) -> None:
    page = Page(preset)
    translator = MiniWobTranslator(page.config)
    known = 0
    for action in (
        Action(Kind.CLICK, Point(3, 4)),
        Action(Kind.DOUBLE_CLICK, Point(159.9, 209.9)),
        Action(Kind.MOVE, Point(3, 4)),
        Action(Kind.DRAG, Point(3, 4), Point(100, 100)),
        Action(Kind.SCROLL, dy=120.0),
        Action(Kind.SCROLL, Point(3, 4), dy=-10.0),
        Action(Kind.TYPE, text="x" * 150),
        Action(Kind.KEY, keys=("enter",)),
        Action(Kind.KEY, keys=("ctrl", "a")),
        Action(Kind.KEY, keys=("space",)),
        Action(Kind.WAIT),
        Action(Kind.ANSWER, text="x"),
    ):
        try:
            found = translator.theirs(action, (WIDTH, HEIGHT))
        except ScreenError as error:
            assert error.fault is Fault.BAD_ACTION
            continue
        known += 1
        for own in found:
            assert page.action_space.contains(own), (action, own)
    assert known >= 8


@given(st.floats(0, 479), st.floats(0, 629), st.sampled_from([Kind.CLICK, Kind.DOUBLE_CLICK, Kind.MOVE]))
def test_points_survive_there_and_back(x: float, y: float, kind: Kind) -> None:
    """At three times the environment's own size, as a sharper screenshot would be."""
    for preset, off_px in (("all_supported", 1e-3), ("humphreys22", 7.0)):
        translator = MiniWobTranslator(config(preset))
        (own,) = translator.theirs(Action(kind, Point(x, y)), (480, 630))
        again = translator.ours(own, (480, 630))
        assert again is not None
        assert again.kind is kind
        assert again.point is not None
        assert abs(again.point.x - x) <= off_px
        assert abs(again.point.y - y) <= off_px


def test_keys_and_texts_survive_there_and_back() -> None:
    translator = MiniWobTranslator(config())
    for action in (
        Action(Kind.KEY, keys=("ctrl", "a")),
        Action(Kind.KEY, keys=("enter",)),
        Action(Kind.KEY, keys=("down",)),
        Action(Kind.TYPE, text="hello"),
    ):
        (own,) = translator.theirs(action, (WIDTH, HEIGHT))
        assert translator.ours(own, (WIDTH, HEIGHT)) == action
    scrolled = translator.ours(translator.theirs(Action(Kind.SCROLL, dy=50.0), (WIDTH, HEIGHT))[0], (WIDTH, HEIGHT))
    assert scrolled is not None
    assert scrolled.dy == 50.0
    for senseless in (None, {}, {"action_type": 99}, {"action_type": 2}, "click"):
        assert translator.ours(senseless, (WIDTH, HEIGHT)) is None


@pytest.mark.parametrize(
    ("action", "calls"),
    [
        (Action(Kind.CLICK, Point(20, 40)), ["mouse_click(10.0, 20.0)"]),
        (Action(Kind.RIGHT_CLICK, Point(20, 40)), ["mouse_click(10.0, 20.0, 'right')"]),
        (Action(Kind.DOUBLE_CLICK, Point(20, 40)), ["mouse_dblclick(10.0, 20.0)"]),
        (Action(Kind.MOVE, Point(20, 40)), ["mouse_move(10.0, 20.0)"]),
        (Action(Kind.DRAG, Point(2, 4), Point(6, 8)), ["mouse_drag_and_drop(1.0, 2.0, 3.0, 4.0)"]),
        (Action(Kind.SCROLL, dy=100.0), ["scroll(0.0, 50.0)"]),
        (Action(Kind.TYPE, text='it\'s\n"x"'), ["keyboard_type('it\\'s\\n\"x\"')"]),
        (Action(Kind.KEY, keys=("ctrl", "a")), ["keyboard_press('Control+a')"]),
        (Action(Kind.WAIT, seconds=2.0), ["noop(2000.0)"]),
        (Action(Kind.NAVIGATE, text="https://x.org"), ["goto('https://x.org')"]),
        (Action(Kind.BACK), ["go_back()"]),
        (Action(Kind.ANSWER, text="42"), ["send_msg_to_user('42')"]),
    ],
)
def test_browsergym_calls_there_and_back(action: Action, calls: list[str]) -> None:
    translator = BrowserGymTranslator(scale=2.0)
    assert translator.theirs(action, (800, 600)) == calls
    assert translator.ours(calls[-1], (800, 600)) == action


def test_browsergym_holds_keys() -> None:
    translator = BrowserGymTranslator()
    click = Action(Kind.CLICK, Point(1, 2), keys=("ctrl", "shift"))
    down = ["keyboard_down('Control')", "keyboard_down('Shift')"]
    up = ["keyboard_up('Shift')", "keyboard_up('Control')"]
    assert translator.theirs(click, (800, 600)) == [*down, "mouse_click(1.0, 2.0)", *up]
    held = Action(Kind.KEY, keys=("a",), seconds=2.0)
    assert translator.theirs(held, (800, 600)) == ["keyboard_down('a')", "noop(2000.0)", "keyboard_up('a')"]


@given(st.text(max_size=60))
def test_no_text_becomes_code(text: str) -> None:
    translator = BrowserGymTranslator()
    if text:
        (call,) = translator.theirs(Action(Kind.TYPE, text=text), (800, 600))
        again = translator.ours(call, (800, 600))
        assert again == Action(Kind.TYPE, text=text)
    assert translator.ours(text, (800, 600)) is None or text.strip().endswith(")")


def test_browsergym_calls_that_say_nothing_in_pixels() -> None:
    translator = BrowserGymTranslator()
    assert translator.ours("mouse_click(y=2, x=1, button='middle')", (9, 9)) == Action(Kind.MIDDLE_CLICK, Point(1, 2))
    for own in (
        "click('a51')",
        "fill('3', 'x')",
        "mouse_click(1)",
        "mouse_click(1, z=2)",
        "x",
        "",
        None,
        "a()\nb()",
        "(" * 500,
    ):
        assert translator.ours(own, (9, 9)) is None
    for bad in (Action(Kind.OPEN, text="x"), Action(Kind.NAVIGATE, text="file:///etc/passwd")):
        with pytest.raises(ScreenError):
            translator.theirs(bad, (9, 9))
    assert translator.theirs(Action(Kind.TERMINATE, success=False), (9, 9)) == ["report_infeasible('not possible')"]
    with pytest.raises(ValueError, match="scale"):
        BrowserGymTranslator(0.0)


def test_an_environment_is_a_screen_for_the_loop() -> None:
    page = Page()
    screen = GymScreen(page, MiniWobTranslator(page.config))
    with pytest.raises(ScreenError, match="reset"):
        screen.observe()
    guard = NotingGuard(objections=1)

    def propose(observation: Observation, text: str) -> Proposal:
        assert observation.goal == "Press the button."
        return Proposal((BUTTON if "beside" in text else BESIDE,))

    outcomes = GuardedScreen(screen, guard, screen.reset(seed=3)).run(propose)
    assert len(outcomes) == 1
    assert screen.over
    assert screen.reward == 1.0
    assert len(page.taken) == 1
    with pytest.raises(ScreenError, match="over"):
        screen.perform(BUTTON)


def test_observations_are_read_or_told() -> None:
    rgba = np.zeros((4, 5, 4), np.uint8)
    assert picture({"screenshot": rgba}).shape == (4, 5, 3)
    for bad in ({}, None, {"screenshot": None}, {"screenshot": np.zeros((4, 5))}, {"screenshot": np.zeros((4, 5, 3))}):
        with pytest.raises(ScreenError) as error:
            picture(bad)
        assert error.value.fault is Fault.NO_PICTURE
    assert goal_of({"goal": "find it"}) == "find it"
    for senseless in ({}, {"goal": " "}, {"goal": 3}, None):
        with pytest.raises(ScreenError, match="goal"):
            goal_of(senseless)


def test_miniwobs_registered_environments_have_what_is_needed() -> None:
    """Without starting a browser: what `gymnasium.make` would call, and the observation it promises."""
    import inspect

    import miniwob
    from miniwob.environment import MiniWoBEnvironment
    from miniwob.observation import get_observation_space

    gymnasium.register_envs(miniwob)
    assert any(name.startswith("miniwob/click-test") for name in gymnasium.registry)
    assert "action_space_config" in inspect.signature(MiniWoBEnvironment.__init__).parameters
    space = get_observation_space(WIDTH, HEIGHT)
    assert isinstance(space, spaces.Dict)
    assert space["screenshot"].shape == (HEIGHT, WIDTH, 3)
    assert space["screenshot"].dtype == np.uint8
    assert "utterance" in space.spaces
