"""Losses, as functions of tensors: of direct answers, of written ones, and of sampled ones with their advantages."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

MOST_LOG_RATIO = 20.0  # beyond the clip anyway; without a bound its exponential could overflow, and spoil the gradients


def direct(logits: Any, choice_ids: Sequence[int], targets: Any, crps_weight: float) -> Any:
    """Mean cross-entropy of the choices as next tokens, plus the squared distance of the cumulative distributions.

    `logits` (n, vocabulary) at the places where the answer begins, `targets` (n, choices). Mass that the model has on
    other tokens counts against it in the first part alone.
    """
    torch: Any = importlib.import_module("torch")
    chosen = logits[:, list(choice_ids)]
    logs = chosen - torch.logsumexp(logits, dim=-1, keepdim=True)
    entropy = -(targets * logs).sum(dim=-1).mean()
    probs = torch.softmax(chosen, dim=-1)
    steps = torch.cumsum(probs - targets, dim=-1)[:, :-1]
    return entropy + crps_weight * (steps**2).mean()


def written(logits: Any, tokens: Any) -> Any:
    """Mean cross-entropy of the tokens of written answers; `logits` (n, vocabulary), `tokens` (n)."""
    torch: Any = importlib.import_module("torch")
    return torch.nn.functional.cross_entropy(logits, tokens)


def advantages(rewards: Sequence[Sequence[float]], least_spread: float = 1e-4) -> list[list[float]]:
    """Each reward less its group's mean; a group without spread has nothing to say and gets zeros."""
    found = []
    for group in rewards:
        mean = sum(group) / len(group)
        spread = max(group) - min(group)
        found.append([reward - mean if spread > least_spread else 0.0 for reward in group])
    return found


def policy(
    logs: Any, old_logs: Any, advantage: Any, clip: float, kl_weight: float = 0.0, reference_logs: Any = None
) -> Any:
    """Group-relative policy loss over the tokens of all answers, each token weighing the same.

    `logs` (n) of the sampled tokens now, `old_logs` when they were sampled, `advantage` (n) of the answer that each
    belongs to. The ratio is clipped as in PPO. With `kl_weight`, the divergence from `reference_logs` is added by the
    estimator exp(d) - d - 1 with d = reference - now, which is never negative.
    """
    torch: Any = importlib.import_module("torch")
    ratio = torch.exp(torch.clamp(logs - old_logs, max=MOST_LOG_RATIO))
    bounded = torch.clamp(ratio, 1.0 - clip, 1.0 + clip)
    loss = -torch.minimum(ratio * advantage, bounded * advantage)
    if kl_weight > 0.0 and reference_logs is not None:
        apart = reference_logs - logs
        loss = loss + kl_weight * (torch.exp(apart) - apart - 1.0)
    return loss.mean()
