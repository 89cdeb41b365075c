"""The adapter that is shipped: whole, small enough, and asked as this version asks."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file

from foretell.kernels.forecast import brief
from foretell.lm.adapter import PEFT_CONFIG, Card
from foretell.train.lm.pairs import CHOICES

SHIPPED = Path("adapters/kernels-0.5b")


def test_its_card_is_that_of_questions_as_they_are_asked_now() -> None:
    card = Card.read(SHIPPED)
    assert card is not None
    assert card.style == brief.TOLD
    assert card.choices == CHOICES
    assert len(card.calibration.biases) == len(CHOICES)
    assert card.base.endswith(".gguf")
    assert "/" not in card.base


def test_it_is_in_the_standard_form_and_small_enough() -> None:
    config = json.loads((SHIPPED / PEFT_CONFIG).read_text())
    assert config["peft_type"] == "LORA"
    assert config["base_model_name_or_path"] == "Qwen/Qwen2.5-Coder-0.5B-Instruct"
    assert sum(file.stat().st_size for file in SHIPPED.iterdir()) <= 25e6
    weights = load_file(SHIPPED / "adapter_model.safetensors")
    # What vLLM asks of an adapter beyond peft: nothing saved beside the two factors, and names under the model's own.
    assert (config["bias"], config["modules_to_save"], config["use_dora"]) == ("none", None, False)
    assert all(name.startswith("base_model.model.model.layers.") for name in weights)
    assert {name.split(".lora_")[-1] for name in weights} == {"A.weight", "B.weight"}
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())
    assert any(tensor.abs().max() > 0 for name, tensor in weights.items() if "lora_B" in name)
