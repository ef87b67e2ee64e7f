"""Sampling with a key-value cache, many requests in one batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from site_example.model import pad_left
from site_example.tokenizer import END_ID


@dataclass
class Generation:
    """What became of one request.

    Attributes:
        tokens: what was drawn, with the end token if it came.
        log_probs: of these tokens, in nats, as computed in the model's precision.
        finish: stop or length.
    """

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    finish: str = ""


@torch.no_grad()
def generate(
    model: nn.Module,
    prompts: list[list[int]],
    *,
    most: int,
    temperature: float = 1.0,
    source: torch.Generator | None = None,
) -> list[Generation]:
    """Continues each prompt up to its end token.

    Args:
        model: a Policy.
        prompts: token ids.
        most: tokens of an answer.
        temperature: 0 takes the likeliest token.
        source: of randomness; null: torch's.
    """
    done = [Generation() for _ in prompts]
    tokens, padding = pad_left(prompts)
    logits, cache = model(tokens, padding)
    for _ in range(most):
        logp = logits[:, -1].log_softmax(-1)
        if temperature:
            drawn = torch.multinomial((logp.float() / temperature).softmax(-1), 1, generator=source)
        else:
            drawn = logp.argmax(-1, keepdim=True)
        taken = logp.gather(-1, drawn)[:, 0].tolist()
        for one, token, log_prob in zip(done, drawn[:, 0].tolist(), taken, strict=True):
            if not one.finish:
                one.tokens.append(token)
                one.log_probs.append(log_prob)
                one.finish = "stop" if token == END_ID else ""
        if all(one.finish for one in done):
            break
        padding = torch.cat([padding, torch.zeros_like(padding[:, :1])], dim=1)
        logits, cache = model(drawn, padding, cache)
    for one in done:
        one.finish = one.finish or "length"
    return done
