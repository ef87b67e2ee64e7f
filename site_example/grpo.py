"""The mathematics of GRPO: rewards of a group become advantages, advantages a clipped loss."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from site_example.model import pad_left

if TYPE_CHECKING:
    from collections.abc import Sequence

EPS_CLIP = 0.2
KL_WEIGHT = 0.005
MOST_RATIO = 2.0
"""Bound of the weight that corrects for what the engines' policy was."""


def group_advantages(rewards: Sequence[float]) -> list[float]:
    """Rewards of one group, less their mean, in units of their sample deviation; zeros if all are equal."""
    mean = statistics.fmean(rewards)
    deviation = statistics.stdev(rewards) if len(rewards) > 1 else 0.0
    return [(reward - mean) / (deviation + 1e-6) for reward in rewards]


def policy_loss(
    new: Tensor, old: Tensor, rollout: Tensor, ref: Tensor, advantage: Tensor
) -> Tensor:
    """The loss of each token, all tensors of one shape.

    Args:
        new: log probs by the policy that is trained; gradients flow here only.
        old: by the trainer before this step's first update.
        rollout: by the engine that has drawn the token.
        ref: by the policy after the warm-up.
        advantage: of the token's sample.
    """
    ratio = (new - old).exp()
    clipped = ratio.clamp(1 - EPS_CLIP, 1 + EPS_CLIP)
    weight = (old - rollout).exp().clamp(max=MOST_RATIO)
    away = ref - new
    kl = away.exp() - away - 1
    return -weight * torch.minimum(ratio * advantage, clipped * advantage) + KL_WEIGHT * kl


def score(model: nn.Module, rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Log probs and entropies (nats) of every token of left-padded rows given those before it; column 0 is 0."""
    tokens, padding = pad_left(rows)
    logits, _ = model(tokens, padding)
    logp = logits[:, :-1].float().log_softmax(-1)
    taken = logp.gather(-1, tokens[:, 1:, None])[..., 0]
    entropy = -(logp.exp() * logp).sum(-1)
    return nn.functional.pad(taken, (1, 0)), nn.functional.pad(entropy, (1, 0))
