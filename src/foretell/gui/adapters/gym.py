"""Gymnasium environments that show a screenshot and a goal: MiniWoB++, BrowserGym and those like them.

`GuardedEnv` is a wrapper: a step that the guard objects to is not taken, and the agent finds the guard's feedback in
`info`. `GymScreen` is the same environment as a screen for the loop that the other adapters share. A translator turns
our actions into the environment's own, and those back into ours as far as they speak of pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import gymnasium
import numpy as np

from foretell.gui.actions import Action, Platform
from foretell.gui.adapters.browsergym import evidence_in
from foretell.gui.adapters.loop import GuardLike
from foretell.gui.adapters.screen import Fault, ScreenError, checked
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.verdict import Verdict

GOALS = ("utterance", "goal", "instruction")
GUARD = "guard"  # where a wrapper's info holds what the guard says


class Translator(Protocol):
    """Between our actions and an environment's own. `theirs` raises ScreenError for what the environment lacks."""

    def theirs(self, action: Action, size: tuple[int, int]) -> list[Any]:
        """The environment's actions that do ours, one after the other."""
        ...

    def ours(self, action: Any, size: tuple[int, int]) -> Action | None:
        """Our action that an environment's own means; None where it cannot be said in pixels.

        A translator with a method `look` is shown the observation before, to learn where elements are.
        """
        ...


def picture(observation: Any) -> Pixels:
    """The screenshot of an environment's observation, or ScreenError."""
    image = observation.get("screenshot") if isinstance(observation, Mapping) else None
    pixels = np.asarray(image) if image is not None else None
    if pixels is None or pixels.ndim != 3 or pixels.shape[2] not in (3, 4) or pixels.dtype != np.uint8:
        raise ScreenError(Fault.NO_PICTURE, "the environment's observation has no screenshot of 8-bit RGB pixels")
    return np.ascontiguousarray(pixels[:, :, :3])


def goal_of(observation: Any) -> str:
    """What the environment asks for, or ScreenError."""
    for name in GOALS:
        said = observation.get(name) if isinstance(observation, Mapping) else None
        if isinstance(said, str) and said.strip():
            return said
    raise ScreenError(Fault.FAILED, f"the environment's observation states no goal: one of {', '.join(GOALS)}")


class GymScreen:
    """An environment as a screen. `reset` first; `reward` sums up the episode's, `over` says that it has ended."""

    def __init__(self, env: Any, translator: Translator, platform: Platform = "web") -> None:
        self.env, self.platform = env, platform
        self.goal, self.reward, self.over = "", 0.0, True
        self.info: Mapping[str, Any] = {}
        self._translator = translator
        self._image: Pixels | None = None

    def reset(self, **options: Any) -> str:
        """Begin an episode; its goal."""
        observation, self.info = self.env.reset(**options)
        self._image, self.goal = picture(observation), goal_of(observation)
        self.reward, self.over = 0.0, False
        return self.goal

    def observe(self) -> Pixels:
        if self._image is None:
            raise ScreenError(Fault.FAILED, "reset the environment first")
        return self._image

    def perform(self, action: Action) -> None:
        image = self.observe()
        size = (image.shape[1], image.shape[0])
        checked(action, self.platform, size)
        for own in self._translator.theirs(action, size):
            if self.over:
                raise ScreenError(Fault.FAILED, "the episode is over: reset the environment")
            observation, reward, terminated, truncated, self.info = self.env.step(own)
            self.reward += float(reward)
            self.over = bool(terminated or truncated)
            if not self.over or (isinstance(observation, Mapping) and observation.get("screenshot") is not None):
                self._image = picture(observation)


class GuardedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):  # type: ignore[misc, unused-ignore]
    """An environment whose steps are judged before they are taken.

    `step` takes our `Action`, a `Proposal`, or an action of the environment's own. `info["guard"]` holds `text` (what
    the agent should be told before it proposes), and after a step `verdict`, `feedback`, `executed` and `finished`. A
    step that was not executed changes nothing: the same observation comes again, with no reward, and the agent proposes
    anew. What cannot be said in pixels is taken unjudged, with `verdict` None. Where the agent ends the task and the
    environment does not, the episode is truncated.
    """

    def __init__(
        self,
        env: Any,
        guard: GuardLike,
        translator: Translator,
        platform: Platform = "web",
        evidence: bool = False,
    ) -> None:
        """`evidence` also uses the accessibility tree, where observations have one as BrowserGym's do."""
        super().__init__(env)
        self.guard = guard
        self._evidence = evidence
        self._translator, self._platform = translator, platform
        self._observation: Any = None
        self._step = 0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self._observation, info = self.env.reset(**options)
        self._step = 0
        self.guard.reset()
        return self._observation, {**info, GUARD: {"text": self.guard.before_action(self._seen())}}

    def step(self, action: Any, secret: bool = False) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Judge an action and take it. `secret` says that what it types must not be seen, as a `Proposal` may too."""
        seen = self._seen()
        proposal = self._proposal(action, seen)
        if proposal is not None and secret:
            proposal = replace(proposal, secret=True)
        if proposal is not None and self._evidence:
            points = [one.point for one in proposal.actions if one.point is not None]
            scale = float(getattr(self._translator, "scale", 1.0))
            seen = replace(seen, evidence=evidence_in(self._observation, points, scale))
        verdict: Verdict | None = None if proposal is None else self.guard.after_proposal(seen, proposal)
        told: dict[str, Any] = {"verdict": verdict, "feedback": "" if verdict is None else verdict.feedback}
        if verdict is not None and verdict.intervene:
            told |= {"executed": False, "finished": False, "text": verdict.feedback}
            return self._observation, 0.0, False, False, {GUARD: told}
        total, terminated, truncated, info = 0.0, False, False, dict[str, Any]()
        for own in self._own(action, proposal, seen):
            self._observation, reward, terminated, truncated, info = self.env.step(own)
            total += float(reward)
            if terminated or truncated:
                break
        if proposal is not None:
            self.guard.executed(proposal)
        self._step += 1
        finished = proposal is not None and proposal.ends
        truncated = truncated or (finished and not terminated)
        over = terminated or truncated
        told |= {"executed": True, "finished": finished}
        told["text"] = "" if over else self.guard.before_action(self._seen())
        if over:
            self.guard.finished(self._last_image())
        return self._observation, total, terminated, truncated, {**info, GUARD: told}

    def _seen(self) -> Observation:
        if self._observation is None:
            raise ScreenError(Fault.FAILED, "reset the environment first")
        return Observation(goal_of(self._observation), picture(self._observation), self._step, self._platform)

    def _last_image(self) -> Pixels | None:
        try:
            return picture(self._observation)
        except ScreenError:  # environments may show nothing once an episode is over
            return None

    def _proposal(self, action: Any, seen: Observation) -> Proposal | None:
        if isinstance(action, Proposal):
            return action
        look = getattr(self._translator, "look", None)
        if look is not None:
            look(self._observation)
        meant = action if isinstance(action, Action) else self._translator.ours(action, seen.size)
        return None if meant is None else Proposal((meant,))

    def _own(self, action: Any, proposal: Proposal | None, seen: Observation) -> Sequence[Any]:
        """What the environment is to do; worked out as a whole, so that a bad action leaves it untouched."""
        if proposal is None or not isinstance(action, Action | Proposal):
            return [action]
        found: list[Any] = []
        for ours in proposal.actions:
            checked(ours, self._platform, seen.size)
            found += self._translator.theirs(ours, seen.size)
        return found
