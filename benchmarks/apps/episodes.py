"""Episodes of a language-model agent on real applications, with the guard and without, with injected mistakes.

    python -m benchmarks.apps.episodes check FOLDER DATA/dev INTO [NAME ...]   # which walks a script can repeat
    python -m benchmarks.apps.episodes play FOLDER DATA/dev INTO [NAME ...]    # asks INTO/agent (requests as files)
    python -m benchmarks.apps.episodes pending INTO                            # what waits for an answer
    python -m benchmarks.apps.episodes answer INTO < ANSWERS                   # ID | sentence | action
    python -m benchmarks.apps.episodes figures INTO [INTO ...]                 # writes results/apps_episodes.json

The goals are those of the recorded walks; walks that a script cannot repeat are left out. At a stated rate a right
click is replaced, before the guard sees it, by one beside its target or on something else. An action is right if it
acts on what the walk acted on next.

The guard has the page's evidence (`evidence=True` of the adapter). What a guard by pixels alone would have said of the
same proposals is noted beside it.

Until the guard first objects both variants of an episode are one and the same: the guard judges, and the agent is told
nothing. Then they part. The guarded agent is told of the objection, and from there on what the guard knows of the
achievements; the application is started anew for the other, what was done is done again, and it goes on with the action
that was objected to. Both meet the same mistakes: they are drawn by what is left to do and how many there were.
Applications are played side by side. Episodes that were played are not played again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.apps.application import Application
from benchmarks.apps.browser import BrowserStage, browser
from benchmarks.apps.browser import stage as in_browser
from benchmarks.apps.episode_figures import write
from benchmarks.apps.episode_player import AGENT, OVER, answer, pending, proposal_of, question
from benchmarks.apps.episode_truth import Task, completes, is_right, recorded_step, slip, tasks, top_at
from benchmarks.apps.episode_watch import Judged, Watch
from benchmarks.apps.install import by_name
from benchmarks.apps.moment import FOLDER, Moment
from benchmarks.apps.server import NotStarted, started
from benchmarks.apps.split import is_held_out
from benchmarks.apps.walk import Seen, settled
from foretell.gui.actions import Point
from foretell.gui.adapters.screen import ScreenError
from foretell.gui.observation import Observation, Proposal
from foretell.lm.files import FileModel
from foretell.lm.model import Failure, Reply, Request

RATE = 0.3  # of right clicks that become mistakes
PROPOSALS = 3  # in one step; the step is lost after as many objections
EPISODES, REPEATABLE = "episodes.jsonl", "repeatable.json"
POLL_S = 0.5

Asking = Generator[Request, Reply, Any]


@dataclass
class Outcome:
    """How an episode went: counts of proposals, and what the guard did about them.

    `parted` is the step at which the guard first objected, if it did; `wrong_done` counts wrong actions that were
    carried out; `pixels_caught` and `pixels_interrupted` count mistakes and right proposals that a guard by pixels
    alone would have objected to.
    """

    application: str
    episode: str
    guarded: bool
    rate: float
    held_out: bool
    seed: str = ""
    parted: int | None = None
    solved: bool = False
    steps: int = 0
    right: int = 0
    interrupted: int = 0
    slips: int = 0
    caught: int = 0
    other: int = 0
    other_stopped: int = 0
    wrong_done: int = 0
    pixels_caught: int = 0
    pixels_interrupted: int = 0
    log: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class State:
    """An episode under way: what is left of the plan, what was executed, and how many questions were asked."""

    todo: list[Moment]
    outcome: Outcome
    executed: list[Proposal] = field(default_factory=list)
    turn: int = 0

    def copy(self) -> State:
        return State(list(self.todo), deepcopy(self.outcome), list(self.executed), self.turn)

    def done(self, proposal: Proposal, right: bool | None) -> None:
        """Note that a proposal was executed."""
        self.executed.append(proposal)
        self.outcome.steps += 1
        self.outcome.wrong_done += right is False
        if completes(proposal, right, self.todo):
            self.todo.pop(0)
        self.outcome.solved = not self.todo


def proposed(task: Task, observation: Observation, seen: Seen, text: str, state: State) -> Asking:
    """Ask for a proposal; returns it or the mistake it became, whether it is right, and what kind of mistake it is."""
    done = [one.intent or "an action" for one in state.executed]
    reply = yield question(task.goal, observation, done, text, state.turn)
    state.turn += 1
    proposal, outcome = proposal_of(reply, observation), state.outcome
    right = is_right(proposal, seen, state.todo)
    rng = random.Random(f"{task.name} {len(state.todo)} {outcome.slips} slip{outcome.seed}")
    if right and rng.random() < outcome.rate:
        wrong = slip(proposal, seen, observation.size, rng)
        if wrong is not None and is_right(wrong, seen, state.todo) is False:
            outcome.slips += 1
            return wrong, False, "beside" if top_at(seen, _point(wrong)) is None else "another element"
    outcome.right += right is True
    outcome.other += right is False
    return proposal, right, ""


def episode(task: Task, stage: BrowserStage, guard: Watch | None, state: State) -> Asking:
    """Play an episode to its end, after repeating what was executed: yields questions, is sent the replies.

    Returns the state from which the unguarded variant goes on, None if the guard never objected.
    """
    stage.reset(task.path)
    for before in state.executed:
        settled(stage)
        _perform(stage, before)
    parted: State | None = None
    outcome = state.outcome
    while outcome.steps < task.most_steps and not (state.executed and state.executed[-1].ends):
        observation = Observation(task.goal, settled(stage), outcome.steps)
        seen = stage.see()
        text = "" if guard is None else guard.before_action(observation)
        prompt = text if parted is not None else ""
        for _ in range(PROPOSALS):
            proposal, right, slipped = yield from proposed(task, observation, seen, prompt, state)
            verdict = None if guard is None else guard.judge(observation, proposal, stage)
            outcome.log.append(_note(proposal, right, slipped, verdict))
            if verdict is not None:
                outcome.pixels_caught += verdict.by_pixels and bool(slipped)
                outcome.pixels_interrupted += verdict.by_pixels and right is True
            if verdict is None or not verdict.intervene:
                _perform(stage, proposal)
                state.done(proposal, right)
                if guard is not None:
                    guard.executed(observation, proposal)
                break
            if parted is None:
                outcome.parted = outcome.steps
                parted = state.copy()
                parted.done(proposal, right)
            outcome.caught += bool(slipped)
            outcome.interrupted += right is True
            outcome.other_stopped += right is False and not slipped
            prompt = "\n\n".join(part for part in (text, verdict.feedback) if part)
        else:
            outcome.steps += 1
    return parted


def _note(proposal: Proposal, right: bool | None, slipped: str, verdict: Judged | None) -> dict[str, Any]:
    actions = [one.to_dict() for one in proposal.actions]
    known = None if verdict is None else asdict(verdict)
    return {"actions": actions, "intent": proposal.intent, "right": right, "slip": slipped, "verdict": known}


def _point(proposal: Proposal) -> Point:
    point = proposal.actions[0].point
    assert point is not None
    return point


def _perform(stage: BrowserStage, proposal: Proposal) -> None:
    for action in proposal.actions:
        try:
            stage.perform(action)
        except ScreenError as error:
            print(f"  {error}", flush=True)


@contextmanager
def running(task: Task, folder: Path, chromium: Any) -> Generator[BrowserStage]:
    """The application of a task, started anew."""
    with (
        started(task.application, folder) as root,
        in_browser(chromium, root, task.application, task.size, task.theme) as stage,
    ):
        yield stage


def both(task: Task, folder: Path, chromium: Any, rate: float, seed: str) -> Asking:
    """The outcomes of a task with the guard and without it."""
    name = task.application.name
    state = State(list(task.plan), Outcome(name, task.episode, True, rate, is_held_out(name), seed))
    with running(task, folder, chromium) as stage:
        alone = yield from episode(task, stage, Watch(), state)
    if alone is None:
        alone = state.copy()
    else:
        alone.outcome.parted = state.outcome.parted
        with running(task, folder, chromium) as stage:
            yield from episode(task, stage, None, alone)
    alone.outcome.guarded = False
    return [alone.outcome, state.outcome]


def played(todo: Sequence[Task], folder: Path, chromium: Any, rate: float, seed: str, into: Path) -> Asking:
    """The episodes of one application, one after the other; outcomes are written down."""
    from playwright.sync_api import Error

    for task in todo:
        try:
            outcomes = yield from both(task, folder, chromium, rate, seed)
        except (NotStarted, ScreenError, Error) as error:
            print(f"  {task.name}: {str(error)[:200]}", flush=True)
            continue
        with (into / EPISODES).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in outcomes)
        for one in outcomes:
            print({name: value for name, value in asdict(one).items() if name != "log"}, flush=True)


def play(options: argparse.Namespace) -> None:
    """Play all that was not played yet, the applications side by side."""
    into, model = options.into, FileModel(options.into / AGENT, pictures=True)
    into.mkdir(parents=True, exist_ok=True)
    (into / OVER).unlink(missing_ok=True)
    finished = {(one["application"], one["episode"]) for one in read_outcomes([into])}
    repeatable = read_repeatable(into)
    with browser() as chromium:
        games: dict[str, tuple[Asking, Request]] = {}
        for application in applications(options):
            walks = tasks(options.data, application, options.seed)
            walks = [one for one in walks if repeatable.get(one.name, True)]
            todo = (walks[::-1] if options.last else walks)[: options.tasks]
            todo = [one for one in todo if (application.name, one.episode) not in finished]
            game = played(todo, options.folder, chromium, options.rate, options.seed, into)
            if (request := next(game, None)) is not None:
                games[application.name] = game, request
                model.ask([request])
        while games:
            for name, (game, request) in list(games.items()):
                (reply,) = model.ask([request])
                if isinstance(reply, Failure):
                    continue
                try:
                    games[name] = game, game.send(reply)
                    model.ask([games[name][1]])
                except StopIteration:
                    del games[name]
            time.sleep(POLL_S)
    (into / OVER).write_text("all episodes have been played\n", encoding="utf-8")


def check(options: argparse.Namespace) -> None:
    """Note which walks a script can repeat, one step after the other."""
    from playwright.sync_api import Error

    options.into.mkdir(parents=True, exist_ok=True)
    found = read_repeatable(options.into)
    with browser() as chromium:
        for application in applications(options):
            for task in (one for one in tasks(options.data, application) if one.name not in found):
                try:
                    with running(task, options.folder, chromium) as stage:
                        found[task.name] = _repeats(task, stage)
                except (NotStarted, ScreenError, Error) as error:
                    print(f"  {task.name}: {str(error)[:200]}", flush=True)
                    found[task.name] = False
                print(f"{task.name}: {'repeatable' if found[task.name] else 'not repeatable'}", flush=True)
    (options.into / REPEATABLE).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def read_repeatable(into: Path) -> dict[str, bool]:
    """Which walks can be repeated, as far as that was checked."""
    path = into / REPEATABLE
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def _repeats(task: Task, stage: BrowserStage) -> bool:
    stage.reset(task.path)
    todo = list(task.plan)
    while todo:
        settled(stage)
        seen = stage.see()
        proposal = recorded_step(seen, todo)
        if proposal is None or not is_right(proposal, seen, todo):
            return False
        stage.perform(proposal.actions[0])
        todo.pop(0)
    return True


def applications(options: argparse.Namespace) -> list[Application]:
    """The web applications that were named, or all that were recorded."""
    names = options.names or sorted(path.stem for path in (options.data / FOLDER).glob("*.jsonl"))
    if not options.held_out and any(map(is_held_out, names)):
        raise SystemExit("these are held-out applications: use --held-out")
    return [one for one in by_name(names) if not one.desktop]


def read_outcomes(folders: Sequence[Path]) -> list[dict[str, Any]]:
    """The outcomes of all episodes that were played in some folders."""
    paths = [folder / EPISODES for folder in folders if (folder / EPISODES).is_file()]
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("check", "play"):
        verb = verbs.add_parser(name)
        verb.add_argument("folder", type=Path)
        verb.add_argument("data", type=Path)
        verb.add_argument("into", type=Path)
        verb.add_argument("names", nargs="*")
        verb.add_argument("--held-out", action="store_true")
        if name == "play":
            verb.add_argument("--tasks", type=int, default=3, help="tasks of each application")
            verb.add_argument("--last", action="store_true", help="take the last walks of each application first")
            verb.add_argument("--seed", default="", help="for other words of the goals and other mistakes")
            verb.add_argument("--rate", type=float, default=RATE, help="share of right clicks that become mistakes")
    waiting = verbs.add_parser("pending")
    waiting.add_argument("into", type=Path)
    waiting.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="for a question")
    verbs.add_parser("answer").add_argument("into", type=Path)
    verbs.add_parser("figures").add_argument("into", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    if options.verb == "play":
        play(options)
    elif options.verb == "check":
        check(options)
    elif options.verb == "pending":
        print(pending(options.into, options.wait))
    elif options.verb == "answer":
        faults = answer(options.into, sys.stdin)
        print("\n".join(faults) or "taken")
    else:
        write(read_outcomes(options.into))


if __name__ == "__main__":
    main()
