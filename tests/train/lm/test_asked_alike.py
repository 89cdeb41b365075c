"""A model is trained on the very tokens that it is asked with, and knows its base again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from foretell.lm import Message, Request
from foretell.lm.adapter import Calibration, WrongBase, alike, mark_of
from foretell.lm.local import LocalModel, Weights, _Session, end_tokens
from foretell.train.lm import base
from foretell.train.lm.sampling import sample
from foretell.train.lm.world import Example
from tests.train.lm.tiny import Letters, model, pair, tokenizer

torch.set_num_threads(1)
THINKING = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]"
    "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
)


@pytest.mark.parametrize("template", [None, THINKING])
def test_questions_are_the_same_tokens_in_training_and_in_use(template: str | None) -> None:
    one, words = pair()
    words.chat_template = template
    student = base.load("tiny", Letters.choices, base.LoraSettings(4), dtype="float32", loaded=(one, words))
    told = (Message("user", "say A <|end|> now"),)
    use = _Session(one, words, Weights("tiny"))._encoded([Request(told, None, Letters.choices, 1)], {})
    assert [ids for _, ids in use] == student.asked([Example(told, "direct", (1.0, 0.0, 0.0), "g")])


@pytest.mark.parametrize(
    "made",
    [
        lambda size: transformers.GraniteForCausalLM(transformers.GraniteConfig(**size, logits_scaling=8.0)),
        lambda size: transformers.Gemma2ForCausalLM(
            transformers.Gemma2Config(**size, head_dim=12, final_logit_softcapping=2.0)
        ),
    ],
)
def test_logits_are_those_that_the_model_itself_gives(made: Any) -> None:
    words = tokenizer()
    size = {"vocab_size": len(words), "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}
    torch.manual_seed(0)
    one = made(size | {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}).eval()
    student = base.load("tiny", Letters.choices, dtype="float32", loaded=(one, words))
    ids = torch.tensor([[5, 6, 7, 8]])
    assert torch.allclose(student.logits(student.hidden(ids)), one(ids).logits, atol=1e-4)


def test_a_base_is_known_again_whatever_its_type_and_another_is_not() -> None:
    one = model(300, seed=1)
    mark = mark_of(one)
    assert alike(mark, mark_of(one.to(torch.bfloat16)))
    assert not alike(mark, mark_of(model(300, seed=2)))
    assert not alike(mark, mark_of(model(301, seed=1)))


def test_an_adapter_on_another_base_is_no_forecast_of_something_else(tmp_path: Path) -> None:
    student = base.load("tiny", Letters.choices, base.LoraSettings(4), dtype="float32", loaded=pair())
    base.save(student, tmp_path / "adapter", "letters-1", Calibration(), {})
    other, words = pair(seed=5)
    other.save_pretrained(tmp_path / "other")
    words.save_pretrained(tmp_path / "other")
    asked = LocalModel(Weights(str(tmp_path / "other"), str(tmp_path / "adapter"), device="cpu"))
    with pytest.raises(WrongBase, match="was trained on tiny"):
        asked.ask([Request((Message("user", "say A"),), None, Letters.choices, 1)])


def test_a_gguf_file_is_computed_in_bfloat16_on_a_gpu_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    file = tmp_path / "a.gguf"
    file.touch()

    def read(*_: Any, dtype: Any, **__: Any) -> None:
        asked.append(dtype)
        raise OSError("enough was seen")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: None)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", read)
    for path, device in ((file, "cuda"), (file, "cpu"), ("folder", "cuda")):
        with pytest.raises(OSError, match="enough"):
            LocalModel(Weights(str(path), device=device)).load()
    assert asked == [torch.bfloat16, "auto", "auto"]


def test_answers_are_written_without_attention_that_plans() -> None:
    one, words = pair()
    planning: list[bool] = []
    one.register_forward_pre_hook(lambda *_: planning.append(torch.backends.cuda.cudnn_sdp_enabled()))
    one.model.register_forward_pre_hook(lambda *_: planning.append(torch.backends.cuda.cudnn_sdp_enabled()))
    before = torch.backends.cuda.cudnn_sdp_enabled()
    LocalModel(Weights("tiny"), (one, words)).ask([Request((Message("user", "say A"),), None, (), 4)])
    in_use = len(planning)
    student = base.load("tiny", Letters.choices, base.LoraSettings(4), dtype="float32", loaded=(one, words))
    sample(student, [student.encode("say A")], 2, 4, 0)
    assert 0 < in_use < len(planning)
    assert not any(planning)
    assert torch.backends.cuda.cudnn_sdp_enabled() == before


def test_tokens_that_end_answers_are_those_of_the_files_and_those_that_are_known_to() -> None:
    one, words = pair()
    words.add_special_tokens({"additional_special_tokens": ["<|endoftext|>", "<|other|>"]})
    known = words.get_added_vocab()
    assert end_tokens(one, words) >= {words.eos_token_id, known["<|endoftext|>"]}
    assert known["<|other|>"] not in end_tokens(one, words)
