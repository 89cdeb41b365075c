"""Adapters that were trained here: what their card says, how their answers are corrected, and which base they fit.

Beside peft's files an adapter's folder has `foretell.json`, its card: the way to ask it, a mark of the base's weights,
and the calibration of its direct answers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.received import BadFile, check_folder, read_json

CARD_NAME = "foretell.json"
PEFT_CONFIG = "adapter_config.json"
_IMPORTING = ("megatron_config",)  # with it peft imports whatever module `megatron_core` names
_KINDS = ("LORA",)
_NAME = re.compile(r"[A-Za-z_][\w.]{0,99}")
_ALL_LINEAR = "all-linear"
_MOST_RANK = 4096
_LEAST = 1e-7
_MARKED_ROW, _MARKED_NUMBERS, _MAY_DIFFER = 100, 128, 0.1

FloatArray = NDArray[np.float64]


class WrongBase(ValueError):
    """An adapter was trained on other weights than those it is put on."""


@dataclass(frozen=True)
class Calibration:
    """Corrects the probabilities of choices: log p / temperature + bias, then normalised."""

    temperature: float = 1.0
    biases: tuple[float, ...] = ()

    def corrected(self, stated: FloatArray) -> FloatArray:
        """Corrected probabilities, the last axis summing to one."""
        logs = np.log(np.maximum(stated, _LEAST)) / self.temperature
        if self.biases:
            logs = logs + np.asarray(self.biases)
        found = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(found / found.sum(axis=-1, keepdims=True))

    def to_dict(self) -> dict[str, Any]:
        return {"temperature": self.temperature, "biases": list(self.biases)}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Calibration:
        """As `to_dict` gave it; KeyError, TypeError or ValueError where it is none."""
        temperature = float(data["temperature"])
        if temperature <= 0.0:
            raise ValueError("a temperature is not above zero")
        return Calibration(temperature, tuple(float(bias) for bias in data["biases"]))


@dataclass(frozen=True)
class Card:
    """What an adapter's card says; `about` is the rest of it (data, recipe, results)."""

    base: str
    base_mark: str
    style: str
    choices: tuple[str, ...]
    calibration: Calibration
    about: Mapping[str, Any]

    def write(self, folder: Path) -> None:
        found = {
            "base": self.base,
            "base_mark": self.base_mark,
            "style": self.style,
            "choices": list(self.choices),
            "calibration": self.calibration.to_dict(),
            **self.about,
        }
        (folder / CARD_NAME).write_text(json.dumps(found, indent=1) + "\n")

    @staticmethod
    def read(folder: Path) -> Card | None:
        """The card of an adapter; None where there is none. BadFile where it cannot be understood."""
        path = folder / CARD_NAME
        if not path.exists():
            return None
        try:
            data = dict(read_json(path))
            named = {key: data.pop(key) for key in ("base", "base_mark", "style")}
            choices = tuple(data.pop("choices"))
            if not all(isinstance(text, str) for text in (*named.values(), *choices)):
                raise TypeError("a text")
            return Card(
                **named,
                choices=choices,
                calibration=Calibration.from_dict(data.pop("calibration")),
                about=data,
            )
        except BadFile:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(f"{path} is no card of an adapter: {error} is missing or odd") from error


def check_adapter(folder: Path) -> None:
    """NotPlain if the folder links out of itself.

    ValueError if its settings would have peft import other modules, match names by patterns of the folder's own, which
    may take for ever, or make other layers than the base has.
    """
    check_folder(folder)
    settings = read_json(folder / PEFT_CONFIG)
    if not isinstance(settings, dict):
        raise ValueError(f"{folder / PEFT_CONFIG} holds no settings")
    named = sorted(name for name in _IMPORTING if settings.get(name))
    if named or settings.get("peft_type") not in _KINDS:
        what = f"sets {', '.join(named)}" if named else f"is of the kind {settings.get('peft_type')!r}"
        raise ValueError(f"{folder / PEFT_CONFIG} {what}: only LoRA adapters that bring no code are loaded")
    odd = next((name for name, check in _CHECKS.items() if not check(settings.get(name))), None)
    if odd is not None:
        what = f"{folder / PEFT_CONFIG} has an odd {odd}: expected names of modules as they are, and a rank up to"
        raise ValueError(f"{what} {_MOST_RANK}")


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _are_names(value: Any) -> bool:
    """A list of names, or none. A text by itself peft takes for a pattern."""
    return value is None or value == _ALL_LINEAR or (isinstance(value, list) and all(map(_is_name, value)))


def _is_by_name(value: Any) -> bool:
    return not value or (isinstance(value, dict) and all(map(_is_name, value)))


def _is_rank(value: Any) -> bool:
    return value is None or (type(value) is int and 0 < value <= _MOST_RANK)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "target_modules": _are_names, "exclude_modules": _are_names, "modules_to_save": _are_names,
    "rank_pattern": _is_by_name, "alpha_pattern": _is_by_name, "r": _is_rank,
    "layers_pattern": lambda value: not value, "layer_replication": lambda value: not value,
    "target_parameters": lambda value: not value,
}  # fmt: skip


def is_adapter(path: Path) -> bool:
    return (path / PEFT_CONFIG).is_file()


def check_base(adapter: Path, model: Any, base: str) -> None:
    """WrongBase where the adapter was trained on other weights; nothing is known of adapters of others."""
    card = Card.read(adapter)
    if card is not None and not alike(card.base_mark, mark_of(model)):
        raise WrongBase(f"the adapter in {adapter} was trained on {card.base}, and {base} has other weights")


def mark_of(model: Any) -> str:
    """A mark of a base's shape and of the signs of some of its weights: another base has another."""
    config = model.config
    shape = [getattr(config, name, None) for name in ("model_type", "hidden_size", "num_hidden_layers", "vocab_size")]
    weights = model.get_input_embeddings().weight
    row = weights[min(_MARKED_ROW, weights.shape[0] - 1)].detach().float().cpu()
    signs = [bool(value > 0) for value in row[:_MARKED_NUMBERS]]
    bits = sum(sign << place for place, sign in enumerate(signs))
    return f"{hashlib.sha256(repr(shape).encode()).hexdigest()[:8]}-{bits:0{-(-len(signs) // 4)}x}"


def alike(mark: str, other: str) -> bool:
    """Whether two marks are of one base. A few signs may differ: other types and quantisations round small numbers."""
    shape, _, bits = mark.partition("-")
    other_shape, _, other_bits = other.partition("-")
    if shape != other_shape or len(bits) != len(other_bits) or not bits:
        return mark == other
    try:
        return (int(bits, 16) ^ int(other_bits, 16)).bit_count() <= _MAY_DIFFER * 4 * len(bits)
    except ValueError:
        return False
