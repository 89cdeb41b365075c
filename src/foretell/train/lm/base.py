"""A base model with a low-rank adapter on it: loading, and saving in the standard peft form with a card beside it."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from foretell.lm.adapter import PEFT_CONFIG, Calibration, Card, check_adapter, check_base, mark_of
from foretell.lm.local import LocalModel, Weights, choice_tokens, end_tokens, rendered, special_words
from foretell.train.lm.errors import NoChoiceTokens
from foretell.train.lm.world import Example

ALL_LINEAR = "all-linear"


@dataclass(frozen=True)
class LoraSettings:
    rank: int = 16
    alpha: int = 32
    targets: str = ALL_LINEAR


@dataclass
class Student:
    """A model that learns: the whole with its adapter, its tokenizer, and the answers it chooses from."""

    model: Any
    tokenizer: Any
    choices: tuple[str, ...]
    base_mark: str
    base_path: str
    start_mark: str = ""  # of the adapter that is gone on from

    @cached_property
    def choice_ids(self) -> list[int]:
        """The token that is trained for each choice: the one without a blank before it, where there is one."""
        tokens = choice_tokens(self.tokenizer, self.choices)
        if isinstance(tokens, str):
            raise NoChoiceTokens(tokens)
        bare = {choice: self.encode(choice) for choice in self.choices}
        return [bare[choice][0] if len(bare[choice]) == 1 else tokens[choice][0] for choice in self.choices]

    @cached_property
    def ends(self) -> list[int]:
        """Tokens that end an answer."""
        return sorted(end_tokens(self.model, self.tokenizer))

    @property
    def device(self) -> Any:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> Any:
        """What the model computes in."""
        return self._inner().get_input_embeddings().weight.dtype

    def learning(self) -> list[tuple[str, Any]]:
        """The adapter's parameters by name."""
        return [(name, p) for name, p in self.model.named_parameters() if p.requires_grad]

    def hidden(self, ids: Any, mask: Any = None, positions: Any = None, cache: Any = None) -> Any:
        """The last hidden states; the vocabulary is large, so logits are worked out only where they are wanted.

        With a `cache`, what it holds was read before, and what is read now is added to it.
        """
        named = {"attention_mask": mask, "position_ids": positions, "past_key_values": cache}
        given = {name: value for name, value in named.items() if value is not None}
        return self.decoder(input_ids=ids, use_cache=cache is not None, **given).last_hidden_state

    def logits(self, hidden: Any) -> Any:
        inner = self._inner()
        found = inner.get_output_embeddings()(hidden).float()
        scaling, cap = (getattr(inner.config, name, None) for name in ("logits_scaling", "final_logit_softcapping"))
        if scaling:  # Granite's
            found = found / scaling
        return found if not cap else cap * (found / cap).tanh()  # Gemma's

    @property
    def decoder(self) -> Any:
        return self._inner().get_decoder()

    def _inner(self) -> Any:
        return self.model.get_base_model() if hasattr(self.model, "get_base_model") else self.model

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def asked(self, examples: Sequence[Example]) -> list[list[int]]:
        """The tokens of each example's question, up to where the answer begins, as in use."""
        special = special_words(self.tokenizer)
        texts = [rendered(self.tokenizer, example.messages, special) for example in examples]
        adding = bool(texts) and texts[0][1]
        return (
            list(self.tokenizer([text for text, _ in texts], add_special_tokens=adding)["input_ids"]) if texts else []
        )


def load(
    base: str,
    choices: Sequence[str],
    lora: LoraSettings | None = None,
    adapter: Path | None = None,
    dtype: str = "bfloat16",
    device: str = "auto",
    loaded: tuple[Any, Any] | None = None,
    seed: int = 0,
) -> Student:
    """The base with a new adapter (`lora`, by the seed), with a trained one to learn on (`adapter`), or as it is.

    NoChoiceTokens, WrongBase, or what reading the weights raises.
    """
    model, tokenizer = loaded or LocalModel(Weights(base, dtype=dtype, device=device)).load()
    torch: Any = importlib.import_module("torch")
    tokens = choice_tokens(tokenizer, choices)
    if isinstance(tokens, str):
        raise NoChoiceTokens(f"{tokens}. Choose a base whose tokenizer has them ({', '.join(choices)})")
    mark, start = mark_of(model), ""
    if adapter is not None:
        check_adapter(adapter)
        check_base(adapter, model, base)
        start = _content(adapter)
        peft: Any = importlib.import_module("peft")
        model = peft.PeftModel.from_pretrained(model, str(adapter), is_trainable=True)
    elif lora is not None:
        peft = importlib.import_module("peft")
        torch.manual_seed(seed)
        config = peft.LoraConfig(
            r=lora.rank, lora_alpha=lora.alpha, target_modules=lora.targets, task_type="CAUSAL_LM", bias="none"
        )
        model = peft.get_peft_model(model, config)
    if dtype != "auto":
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.to(getattr(torch, dtype))
    return Student(model, tokenizer, tuple(choices), mark, base, start)


def _content(adapter: Path) -> str:
    """A mark of an adapter's weights, wherever it lies."""
    files = sorted(adapter.glob("adapter_model.*"))
    return " ".join(f"{zlib.crc32(file.read_bytes()):08x}" for file in files)


def save(student: Student, into: Path, style: str, calibration: Calibration, about: Mapping[str, Any]) -> None:
    """The adapter with its card; files of an older one in that folder are replaced only once the new ones are whole."""
    partial = into.with_name(f"{into.name}.partial")
    student.model.save_pretrained(str(partial))
    card = Card(Path(student.base_path).name, student.base_mark, style, student.choices, calibration, about)
    card.write(partial)
    config = partial / PEFT_CONFIG
    told = json.loads(config.read_text()) | {"base_model_name_or_path": student.base_path}  # peft knows a GGUF's folder
    config.write_text(json.dumps(told, indent=1) + "\n")
    for stray in partial.glob("README.md"):
        stray.unlink()
    into.mkdir(parents=True, exist_ok=True)
    for file in partial.iterdir():
        file.replace(into / file.name)
    partial.rmdir()


@contextmanager
def merged(student: Student) -> Iterator[None]:
    """The adapter added to the base's weights: less work than having it beside them. They come back bit for bit."""
    torch: Any = importlib.import_module("torch")
    apart = [m for m in student.model.modules() if hasattr(m, "get_base_layer") and not m.merged]
    layers = [m.get_base_layer() for m in apart]
    kept = [layer.weight.detach().clone() for layer in layers]
    try:
        if layers:
            student.model.merge_adapter()
        yield
    finally:
        if layers:
            student.model.unmerge_adapter()
        with torch.no_grad():
            for layer, weight in zip(layers, kept, strict=True):
                layer.weight.copy_(weight)
