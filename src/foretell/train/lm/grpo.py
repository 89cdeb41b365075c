"""The policy stage: answers are sampled in groups, each is rewarded by what measuring says, and what did better than
its group is made likelier.

The answers to one question are learnt from in one pass over `question answer answer ...`, with a mask that hides the
answers from each other: the question, which is most of the tokens, is read once and not once an answer.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foretell.lm.attention import unplanned
from foretell.train.lm import losses, rewards
from foretell.train.lm.base import Student
from foretell.train.lm.course import Course, Pace
from foretell.train.lm.errors import OutOfMemory, TrainingTrouble
from foretell.train.lm.sampling import Sampled, sample
from foretell.train.lm.world import Example, World

COLLAPSED_SHARE = 0.9  # of the readable answers of a step state the same confidence


@dataclass(frozen=True)
class GrpoSettings:
    """`questions` a step with `answers` each. `weights` are those of the reward's parts, by name."""

    reward: str = "correctness+brier"
    weights: tuple[tuple[str, float], ...] = ()
    steps: int = 140
    questions: int = 32
    answers: int = 8
    longest: int = 48
    longest_prompt: int = 2_048
    rate: float = 2e-4
    clip: float = 0.2
    kl_weight: float = 0.0
    answer_only: bool = False
    groups_at_once: int = 8
    seed: int = 0


@dataclass(frozen=True)
class Group:
    """A question with its sampled answers and their advantages."""

    prompt: tuple[int, ...]
    answers: tuple[Sampled, ...]
    advantages: tuple[float, ...]


def improve(
    student: Student,
    world: World,
    into: Path,
    settings: GrpoSettings,
    seconds: float,
    say: Callable[[str], None],
    save_every_s: float = 120.0,
) -> dict[str, Any]:
    """Train until the steps or the seconds are used up; what was done, with rewards first and last."""
    reward = rewards.make(settings.reward, dict(settings.weights) or None)
    unreadable = rewards.unreadable(settings.reward, dict(settings.weights) or None)
    # Before a cut run's checkpoint is put in: strays are measured from where the run began.
    start = [p.detach().clone() for _, p in student.learning()] if settings.kl_weight > 0.0 else None
    course = Course(
        student,
        into,
        Pace(settings.steps, settings.rate, seconds, warmup=0.1, save_every_s=save_every_s),
        asdict(settings) | {"stage": "grpo", "--data": world.name},
    )
    mark = world.mark if settings.answer_only else None
    figures: list[dict[str, float]] = []
    sampled_tokens, sampling_s, collapsed, silent = 0, 0.0, 0, 0
    with course.kept(say):
        while not course.over:
            step_seed = settings.seed * 1_000_003 + course.step
            questions = _questions(student, world, settings, step_seed)
            drawn = sample(student, [p for _, p in questions], settings.answers, settings.longest, step_seed)
            sampled_tokens, sampling_s = sampled_tokens + drawn.tokens, sampling_s + drawn.seconds
            told = [[world.read(one.text) for one in group] for group in drawn.answers]
            won = [
                [unreadable if probs is None else reward(probs, example.target) for probs in group]
                for (example, _), group in zip(questions, told, strict=True)
            ]
            gained = losses.advantages(won)
            groups = [
                Group(tuple(prompt), tuple(answers), tuple(advantage))
                for (_, prompt), answers, advantage in zip(questions, drawn.answers, gained, strict=True)
                if any(advantage)
            ]
            skipped = len(questions) - len(groups)
            loss = _learn(student, groups, settings, start, mark) if groups else 0.0
            norm = course.learn(loss, skipped=skipped)
            one = _figures(told, won)
            collapsed = collapsed + 1 if one["same_confidence"] > COLLAPSED_SHARE else 0
            silent = silent + 1 if one["unreadable"] == 1.0 else 0
            course.totals.setdefault("reward_first", one["reward"])
            figures.append(one)
            course.log(loss=round(loss, 5), norm=round(norm, 4), skipped=skipped, **one)
            say(
                f"step {course.step} of {settings.steps}: reward {one['reward']:.3f}, "
                f"{one['unreadable']:.0%} unreadable, "
                f"confidence {one['confidence']:.2f} +- {one['confidence_spread']:.2f}"
            )
            if silent == 3:
                say("warning: no answer can be read, so nothing is learnt: train the supervised stage for longer")
            if collapsed == 3:
                stated = f"nearly all answers state one confidence ({one['confidence']:.2f})"
                say(f"warning: {stated}: the reward does not ask for more")
    course.save()
    last = figures[-5:]
    return {
        "steps": course.step,
        "reward_first": course.totals.get("reward_first"),
        "reward_last": float(np.mean([f["reward"] for f in last])) if last else None,
        "collapsed": collapsed >= 3,
        "skipped_groups": int(course.totals.get("skipped", 0)),
        "sampled_tokens_per_s": round(sampled_tokens / max(1e-9, sampling_s)),
        "seconds": round(course.spent_s + course.elapsed_s, 1),
    }


def _questions(student: Student, world: World, settings: GrpoSettings, seed: int) -> list[tuple[Example, list[int]]]:
    """Questions in the structured form that are short enough."""
    found: list[tuple[Example, list[int]]] = []
    for attempt in range(8):
        examples = [e for e in world.train(settings.questions, seed * 8 + attempt) if e.form == "structured"]
        for example, ids in zip(examples, student.asked(examples), strict=True):
            if len(ids) <= settings.longest_prompt and len(found) < settings.questions:
                found.append((example, ids))
        if len(found) >= settings.questions:
            break
    if not found:
        raise TrainingTrouble(f"no question has at most {settings.longest_prompt} tokens: raise --longest")
    return found


def _learn(
    student: Student, groups: Sequence[Group], settings: GrpoSettings, start: list[Any] | None, mark: str | None = None
) -> float:
    """Gradients of the policy loss over all groups; the loss.

    Fused attention has been seen to give gradients that are no numbers (torch 2.11 on an H200, one question at a time,
    where plain arithmetic and other numbers of questions gave sound ones). cuDNN's is therefore not used, and should it
    happen all the same, the step is done again in plain arithmetic.
    """
    torch: Any = importlib.import_module("torch")
    with unplanned():
        loss = _gradients(student, groups, settings, start, mark)
    if math.isfinite(loss) and not _sound(student):
        _forget(student)
        attention: Any = importlib.import_module("torch.nn.attention")
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            loss = _gradients(student, groups, replace(settings, groups_at_once=1), start, mark)
        torch.cuda.empty_cache()
    return loss


def _sound(student: Student) -> bool:
    torch: Any = importlib.import_module("torch")
    return all(p.grad is None or bool(torch.isfinite(p.grad).all()) for _, p in student.learning())


def _forget(student: Student) -> None:
    for _, parameter in student.learning():
        parameter.grad = None


def _gradients(
    student: Student, groups: Sequence[Group], settings: GrpoSettings, start: list[Any] | None, mark: str | None
) -> float:
    """Gradients of a few groups at once; of fewer where the memory asks for it."""
    torch: Any = importlib.import_module("torch")
    at_once = settings.groups_at_once
    counted = sum(len(_learnt(a, student, mark)) for g in groups for a in g.answers)
    while True:
        try:
            total = 0.0
            parts = -(-len(groups) // at_once)
            for part in (groups[at::parts] for at in range(parts)):
                reference = _reference_logs(student, part, mark, start)  # first: it changes the parameters for a while
                logs, old, gains = packed_logs(student, part, mark)
                loss = losses.policy(logs, old, gains, settings.clip, settings.kl_weight, reference)
                share = logs.shape[0] / max(1, counted)
                (share * loss).backward()
                total += share * float(loss.detach())
            return total
        except torch.OutOfMemoryError:
            pass  # handled outside, where the exception no longer keeps the memory alive
        _forget(student)
        torch.cuda.empty_cache()
        if at_once == 1:
            raise OutOfMemory("one question with its answers does not fit the device: lower --answers or --longest")
        at_once //= 2


def packed_logs(student: Student, groups: Sequence[Group], mark: str | None = None) -> tuple[Any, Any, Any]:
    """Log probabilities now of all learnt tokens of all answers, those at sampling, and their advantages.

    With a `mark`, reasoning before it is not learnt from.
    """
    torch: Any = importlib.import_module("torch")
    device = student.device
    width = max(len(g.prompt) + sum(len(a.tokens) for a in g.answers) for g in groups)
    width = -(-width // 64) * 64
    pad = student.tokenizer.pad_token_id or 0
    ids = torch.full((len(groups), width), pad, dtype=torch.long)
    positions = torch.zeros((len(groups), width), dtype=torch.long)
    owner = torch.full((len(groups), width), -2, dtype=torch.long)
    rows, columns, tokens, old, gains = [], [], [], [], []
    for row, group in enumerate(groups):
        n = len(group.prompt)
        ids[row, :n] = torch.tensor(group.prompt)
        positions[row, :n] = torch.arange(n)
        owner[row, :n] = -1
        at = n
        for number, answer in enumerate(group.answers):
            length = len(answer.tokens)
            ids[row, at : at + length] = torch.tensor(answer.tokens)
            positions[row, at : at + length] = torch.arange(n, n + length)
            owner[row, at : at + length] = number
            for k in _learnt(answer, student, mark):
                rows.append(row)
                columns.append(n - 1 if k == 0 else at + k - 1)  # the place whose next token this is
                tokens.append(answer.tokens[k])
                old.append(answer.logs[k])
                gains.append(group.advantages[number])
            at += length
    owner = owner.to(device)
    order = torch.arange(width, device=device)
    seen = (order[None, :, None] >= order[None, None, :]) & (
        (owner[:, None, :] == -1) | (owner[:, :, None] == owner[:, None, :])
    )
    # Added to the scores; a large number in place of infinity, which some kernels cannot differentiate through.
    hiding = torch.zeros(seen.shape, device=device, dtype=student.dtype)
    hiding.masked_fill_(~seen, torch.finfo(student.dtype).min / 2)
    hidden = student.hidden(ids.to(device), hiding[:, None], positions.to(device))
    chosen = hidden[torch.tensor(rows, device=device), torch.tensor(columns, device=device)]
    logits = torch.log_softmax(student.logits(chosen), dim=-1)
    logs = logits.gather(1, torch.tensor(tokens, device=device)[:, None]).squeeze(1)
    return logs, torch.tensor(old, device=device), torch.tensor(gains, device=device)


def _learnt(answer: Sampled, student: Student, mark: str | None) -> list[int]:
    """Places of the answer's tokens that are learnt from: all, or those from the last mark on where there is one."""
    count = len(answer.tokens)
    text = "" if mark is None else student.tokenizer.decode(answer.tokens)
    begin = text.rfind(mark) if mark else -1
    first = 0
    while begin > 0 and first < count and len(student.tokenizer.decode(answer.tokens[: first + 1])) <= begin:
        first += 1
    return list(range(first, count))


def _reference_logs(student: Student, groups: Sequence[Group], mark: str | None, start: list[Any] | None) -> Any:
    """The same log probabilities by the adapter that training began with; None where nobody asks."""
    if start is None:
        return None
    torch: Any = importlib.import_module("torch")
    now = [p.detach().clone() for _, p in student.learning()]
    with torch.no_grad():
        try:
            for (_, parameter), old in zip(student.learning(), start, strict=True):
                parameter.copy_(old)
            logs, _, _ = packed_logs(student, groups, mark)
        finally:
            for (_, parameter), own in zip(student.learning(), now, strict=True):
                parameter.copy_(own)
    return logs.detach()


def _figures(told: Sequence[Sequence[Sequence[float] | None]], won: Sequence[Sequence[float]]) -> dict[str, float]:
    """What a step's answers were like: their reward, how many could not be read, and the confidence they state."""
    flat = [probs for group in told for probs in group]
    stated = [round(max(probs), 2) for probs in flat if probs is not None]
    commonest = Counter(stated).most_common(1)
    return {
        "reward": float(np.mean([r for group in won for r in group])),
        "unreadable": 1.0 - len(stated) / max(1, len(flat)),
        "confidence": float(np.mean(stated)) if stated else 0.0,
        "confidence_spread": float(np.std(stated)) if stated else 0.0,
        "same_confidence": commonest[0][1] / len(stated) if commonest else 0.0,
    }
