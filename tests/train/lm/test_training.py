"""Training on a tiny model of random weights: what it learns, that it goes on after a cut, and what can go wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foretell.lm import attention
from foretell.lm.adapter import Calibration, Card, WrongBase
from foretell.train.lm import base, calibrate, grpo, losses, sampling, supervised
from foretell.train.lm.errors import NoChoiceTokens, OutOfMemory, TrainingTrouble
from foretell.train.lm.sampling import Sampled, sample
from tests.train.lm.tiny import Letters, model, pair, tokenizer

torch.set_num_threads(1)
LORA = base.LoraSettings(rank=8, alpha=32)
SFT = supervised.SftSettings(examples=800, batch_tokens=2048, rate=2e-2, seed=1)


def student(seed: int = 0, loaded: Any = None) -> base.Student:
    torch.manual_seed(seed)
    return base.load("tiny", Letters.choices, LORA, dtype="float32", loaded=loaded or pair())


def quiet(_: str) -> None:
    pass


def test_the_supervised_stage_learns_direct_answers(tmp_path: Path) -> None:
    one = student()
    before, came = calibrate.choice_probs(one, Letters(), Letters().check(60, 0))
    supervised.supervise(one, Letters(form="direct"), tmp_path, SFT, 1e9, quiet)
    after, _ = calibrate.choice_probs(one, Letters(), Letters().check(60, 0))
    assert (before * came).sum(axis=1).mean() < 0.5
    assert (after * came).sum(axis=1).mean() > 0.9


def test_rewards_teach_what_examples_did_not(tmp_path: Path) -> None:
    """Examples name any letter; only the reward says that it is to be the second."""
    one = student()
    supervised.supervise(one, Letters(blind=True), tmp_path / "sft", SFT, 1e9, quiet)
    settings = grpo.GrpoSettings("correctness", steps=30, questions=12, answers=8, longest=3, rate=5e-3)
    done = grpo.improve(one, Letters(always=1), tmp_path / "grpo", settings, 1e9, quiet)
    assert done["reward_first"] < -0.2
    assert done["reward_last"] > 0.5
    rows = [json.loads(line) for line in (tmp_path / "grpo" / "log.jsonl").read_text().splitlines()]
    assert {"reward", "unreadable", "confidence_spread", "same_confidence"} <= set(rows[0])


@pytest.mark.full
def test_collapse_to_one_confidence_is_told(tmp_path: Path) -> None:
    """Letters are always stated with certainty: every answer has the same confidence."""
    one, said = student(), list[str]()
    supervised.supervise(one, Letters(blind=True), tmp_path / "sft", SFT, 1e9, quiet)
    settings = grpo.GrpoSettings("correctness", steps=4, questions=4, answers=4, longest=3)
    done = grpo.improve(one, Letters(), tmp_path / "grpo", settings, 60.0, said.append)
    assert done["collapsed"]
    assert any("one confidence" in words for words in said)


def test_answers_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    said: list[str] = []
    settings = grpo.GrpoSettings("crps", steps=3, questions=2, answers=2, longest=2)
    done = grpo.improve(student(), Letters(), tmp_path, settings, 60.0, said.append)
    assert "no answer can be read" in said[-1]
    assert not done["collapsed"]


def test_an_adapter_added_to_the_weights_says_the_same_and_leaves_them_as_they_were() -> None:
    one, ids = student(), torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        for _, p in one.learning():
            p.add_(0.3 * torch.randn_like(p))
    before = {name: p.detach().clone() for name, p in one.model.named_parameters()}
    beside = one.logits(one.hidden(ids)).detach()
    with base.merged(one), base.merged(one):  # once is enough, and the inner one does not take it away
        layers = [m for m in one.model.modules() if hasattr(m, "get_base_layer")]
        assert layers
        assert all(layer.merged for layer in layers)
        assert torch.allclose(one.logits(one.hidden(ids)), beside, atol=1e-4)
    assert not any(layer.merged for layer in layers)
    assert all(torch.equal(p, before[name]) for name, p in one.model.named_parameters())
    with pytest.raises(RuntimeError, match="cut"), base.merged(one):
        raise RuntimeError("cut")
    assert torch.equal(one.logits(one.hidden(ids)), beside)


def drawn_groups(one: base.Student) -> list[grpo.Group]:
    prompts = [one.encode(text) for text in ("say A", "B", "now say C")]
    drawn = sample(one, prompts, 4, 5, 3)
    gains = [(0.5, -0.25, 0.75, -1.0), (0.1, 0.2, -0.3, 0.0), (-0.5, 0.5, 0.25, -0.25)]
    return [grpo.Group(tuple(p), tuple(a), g) for p, a, g in zip(prompts, drawn.answers, gains, strict=True)]


def gradients(one: base.Student) -> dict[str, torch.Tensor]:
    found = {name: p.grad.clone() for name, p in one.learning()}
    for _, p in one.learning():
        p.grad = None
    return found


def test_packed_answers_have_the_gradients_of_answers_one_by_one() -> None:
    """The loss over `question answer answer ...` against plain forward passes over each `question answer`."""
    one = student()
    with torch.no_grad():
        for _, p in one.learning():
            p.add_(0.05 * torch.randn_like(p))
    groups = drawn_groups(one)
    logs, old, gains = grpo.packed_logs(one, groups)
    assert torch.allclose(logs.detach(), old, atol=1e-4)  # as they were when sampled
    losses.policy(logs, old, gains, clip=0.2).backward()
    packed = gradients(one)
    total, count = torch.zeros(()), 0
    for group in groups:
        for answer, gain in zip(group.answers, group.advantages, strict=True):
            ids = torch.tensor([[*group.prompt, *answer.tokens]])
            said = torch.log_softmax(one.model(ids).logits[0].float(), dim=-1)
            for k, token in enumerate(answer.tokens):
                now = said[len(group.prompt) + k - 1, token]
                total = total - gain * torch.exp(now - now.detach())  # ratio 1, gradient gain * d log p
                count += 1
    (total / count).backward()
    plain = gradients(one)
    for name, expected in plain.items():
        assert torch.allclose(packed[name], expected, atol=1e-5), name


def test_prompts_read_a_few_at_a_time_are_answered_as_if_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    one, folds = student(), list[int]()
    plainly = attention.attend

    def counted(*given: Any, **named: Any) -> Any:
        folds.append(given[1].shape[2])
        return plainly(*given, **named)

    monkeypatch.setattr(attention, "attend", counted)
    monkeypatch.setattr(sampling, "READ_AT_ONCE", 2)
    prompts = [one.encode(text) for text in ("say B, and say it twice", "A", "now say C", "what", "say A or B")]
    drawn = sample(one, prompts, 3, 6, 5)
    assert set(folds) == {3}  # all answers of a prompt at once, in every layer
    assert one.decoder.config._attn_implementation == "sdpa"
    for prompt, answers in zip(prompts, drawn.answers, strict=True):
        for answer in answers:
            said = torch.log_softmax(one.model(torch.tensor([[*prompt, *answer.tokens]])).logits[0], dim=-1)
            alone = [said[len(prompt) - 1 + k, token].item() for k, token in enumerate(answer.tokens)]
            assert np.allclose(alone, answer.logs, atol=1e-4)


def test_gradients_that_are_no_numbers_are_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = student()
    groups, settings = drawn_groups(one), grpo.GrpoSettings(groups_at_once=4)
    grpo._learn(one, groups, settings, None)
    sound = gradients(one)
    plainly, tried = grpo._gradients, []

    def poisoned(student: base.Student, groups: Any, settings: grpo.GrpoSettings, start: Any, mark: Any) -> float:
        loss = plainly(student, groups, settings, start, mark)
        fused = torch.backends.cuda.mem_efficient_sdp_enabled() or torch.backends.cuda.flash_sdp_enabled()
        tried.append((settings.groups_at_once, fused))
        if len(tried) == 1:
            student.learning()[0][1].grad.fill_(float("nan"))
        return loss

    monkeypatch.setattr(grpo, "_gradients", poisoned)
    grpo._learn(one, groups, settings, None)
    assert tried == [(4, True), (1, False)]
    for name, found in gradients(one).items():
        assert torch.allclose(found, sound[name], atol=1e-5), name


def test_answers_do_not_see_each_other() -> None:
    one = student()
    groups = drawn_groups(one)[:1]
    whole, _, _ = grpo.packed_logs(one, groups)
    alone = grpo.Group(groups[0].prompt, groups[0].answers[-1:], groups[0].advantages[-1:])
    last, _, _ = grpo.packed_logs(one, [alone])
    assert torch.allclose(whole[-len(last) :], last, atol=1e-5)


def test_reasoning_before_the_answer_can_be_left_out() -> None:
    one = student()
    tokens = tuple(one.encode("hm. Answer: A? No. Answer: B"))
    group = grpo.Group((1, 2), (Sampled(tokens, (0.0,) * len(tokens), ""),), (1.0,))
    assert grpo.packed_logs(one, [group])[0].shape[0] == len(tokens)
    assert grpo.packed_logs(one, [group], "Answer:")[0].shape[0] == len("Answer: B")
    assert grpo.packed_logs(one, [group], "{")[0].shape[0] == len(tokens)


def test_groups_without_spread_say_nothing() -> None:
    assert losses.advantages([[0.5, 0.5, 0.5], [0.0, 1.0, 0.5]]) == [[0.0, 0.0, 0.0], [-0.5, 0.5, 0.0]]


def test_staying_near_the_start_costs_nothing_at_the_start() -> None:
    logs = torch.tensor([-1.0, -2.0], requires_grad=True)
    free = losses.policy(logs, logs.detach(), torch.tensor([1.0, -1.0]), 0.2)
    held = losses.policy(logs, logs.detach(), torch.tensor([1.0, -1.0]), 0.2, 0.5, logs.detach())
    far = losses.policy(logs, logs.detach(), torch.tensor([1.0, -1.0]), 0.2, 0.5, logs.detach() - 1.0)
    assert free.item() == pytest.approx(held.item())
    assert far.item() > held.item()


def test_memory_that_does_not_suffice_is_met_by_smaller_pieces_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, settings = student(), replace(SFT, examples=8)
    examples = supervised.encode(one, Letters(), Letters(form="direct").train(8, 0), 512)
    whole, _ = supervised._step(one, examples, settings)
    expected = gradients(one)
    hidden, asked = base.Student.hidden, list[int]()

    def scarce(self: base.Student, ids: Any) -> Any:
        asked.append(ids.shape[0])
        if ids.shape[0] > 2:
            raise torch.OutOfMemoryError("too much")
        return hidden(self, ids)

    monkeypatch.setattr(base.Student, "hidden", scarce)
    pieces, _ = supervised._step(one, examples, settings)
    assert max(asked) == 8
    assert pieces == pytest.approx(whole, rel=1e-4)
    for name, grad in gradients(one).items():
        assert torch.allclose(grad, expected[name], atol=1e-5), name

    def none(self: base.Student, ids: Any) -> Any:
        raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr(base.Student, "hidden", none)
    with pytest.raises(OutOfMemory, match="lower --longest"):
        supervised._step(one, examples, settings)


def test_questions_to_calibrate_by_come_in_smaller_batches_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    one, asked, plainly = student(), Letters().check(40, 0), calibrate._probs
    whole, came = calibrate.choice_probs(one, Letters(), asked)

    def scarce(student: base.Student, asked: Any) -> Any:
        if len(asked) > 3:
            raise torch.OutOfMemoryError
        return plainly(student, asked)

    monkeypatch.setattr(calibrate, "_probs", scarce)
    pieces, same = calibrate.choice_probs(one, Letters(), asked)
    assert np.allclose(pieces, whole, atol=1e-6)
    assert np.array_equal(same, came)
    few, _ = calibrate.choice_probs(one, Letters(), asked, batch_tokens=128, most_s=0.0)
    assert 0 < len(few) < 40
    assert calibrate.fit(few[:0], came[:0]) == Calibration()


def test_any_token_that_ends_answers_ends_one() -> None:
    """Files of one model name different ones, and one may have been learnt under another."""
    one = student()
    prompts = [one.encode("say A")]
    other = sample(one, prompts, 1, 12, 0).answers[0][0].tokens[4]
    one.ends.append(other)
    answer = sample(one, prompts, 1, 12, 0).answers[0][0]
    assert answer.tokens.index(other) == len(answer.tokens) - 1 < 11
    assert answer.text == one.tokenizer.decode(answer.tokens[:-1])


def test_answers_that_do_not_fit_are_sampled_in_smaller_pieces_then_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one, plainly = student(), sampling._sample
    prompts = [one.encode(text) for text in ("say A", "B", "now say C")]

    def small(student: base.Student, prompts: Any, answers: int, longest: int, seed: int) -> sampling.Samples:
        if len(prompts) * answers > 4:
            raise torch.OutOfMemoryError
        return plainly(student, prompts, answers, longest, seed)

    monkeypatch.setattr(sampling, "_sample", small)
    drawn = sample(one, prompts, 4, 3, 0)
    assert [len(group) for group in drawn.answers] == [4, 4, 4]
    assert drawn.tokens == sum(len(answer.tokens) for group in drawn.answers for answer in group)
    with pytest.raises(OutOfMemory, match="lower --answers"):
        sample(one, prompts, 5, 3, 0)


def test_questions_that_are_all_too_long_are_told(tmp_path: Path) -> None:
    with pytest.raises(TrainingTrouble, match="raise --longest"):
        supervised.supervise(student(), Letters(form="direct"), tmp_path / "a", replace(SFT, longest=2), 60.0, quiet)
    with pytest.raises(TrainingTrouble, match="raise --longest"):
        settings = grpo.GrpoSettings("crps", steps=1, questions=2, longest_prompt=2)
        grpo.improve(student(), Letters(), tmp_path / "b", settings, 60.0, quiet)


def test_a_tokenizer_without_the_letters_is_refused() -> None:
    words = tokenizer([letter for letter in tokenizer().get_vocab() if letter not in "ABC" and len(letter) == 1])
    with pytest.raises(NoChoiceTokens, match="Choose a base"):
        base.load("tiny", Letters.choices, LORA, dtype="float32", loaded=(model(len(words)), words))


def test_an_adapter_is_saved_with_its_card_and_refuses_another_base(tmp_path: Path) -> None:
    one = student()
    with torch.no_grad():
        for _, p in one.learning():
            p.add_(0.1)
    base.save(one, tmp_path / "a", "letters-1", Calibration(1.5, (0.1, 0.0, -0.1)), {"data": "none"})
    card = Card.read(tmp_path / "a")
    assert card is not None
    assert (card.style, card.calibration.temperature, card.about["data"]) == ("letters-1", 1.5, "none")
    again = base.load("tiny", Letters.choices, adapter=tmp_path / "a", dtype="float32", loaded=pair())
    ids = torch.tensor([[1, 2, 3]])
    assert torch.allclose(one.model(ids).logits, again.model(ids).logits, atol=1e-5)
    with pytest.raises(WrongBase, match="other weights"):
        base.load("other", Letters.choices, adapter=tmp_path / "a", dtype="float32", loaded=pair(seed=5))


def test_calibration_finds_how_common_answers_are() -> None:
    rng = np.random.default_rng(0)
    right = rng.choice(3, size=3000, p=(0.7, 0.2, 0.1))
    noise = rng.normal(size=(3000, 3))
    logs = 2.0 * (np.eye(3)[right] + 0.5 * noise)
    stated = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    came = np.eye(3)[right]
    found = calibrate.fit(stated, came)
    better = found.corrected(stated)
    assert np.allclose(better.mean(axis=0), came.mean(axis=0), atol=0.02)
    loss = [-np.log((p * came).sum(axis=1)).mean() for p in (stated, better)]
    assert loss[1] < loss[0]
