"""The supervised warm-up: demonstrations with flaws teach the form of a solution, and leave room to learn."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch

from site_example.grpo import score
from site_example.model import Policy
from site_example.task import calculate, demonstration, draw
from site_example.tokenizer import END, make_tokenizer, prompt_text, tool_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

FLAWS = 0.5
BATCH = 48


def warm_up(
    *, seed: int, n_steps: int, tell: Callable[[int, float], object] = lambda _step, _loss: None
) -> Policy:
    """A policy that has seen n_steps * BATCH demonstrations.

    Args:
        seed: of weights and demonstrations.
        n_steps: of Adam.
        tell: gets step and loss, in nats a token.
    """
    torch.manual_seed(seed)
    source, tokenizer, model = random.Random(seed), make_tokenizer(), Policy()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
    for step in range(n_steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1.0, (step + 1) / 30) * (1 - 0.9 * step / n_steps)
        rows, masks = zip(*(_example(tokenizer, source) for _ in range(BATCH)), strict=True)
        logp, _ = score(model, list(rows))
        width = logp.shape[1]
        mask = torch.tensor([[0.0] * (width - len(row)) + row for row in masks])
        loss = -(logp * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tell(step, loss.item())
    return model


def _example(tokenizer: Tokenizer, source: random.Random) -> tuple[list[int], list[float]]:
    """Tokens of a demonstration, and 1 where the model is to write."""
    problem = draw(source)
    tokens = tokenizer.encode(prompt_text(problem.text)).ids
    mask = [0.0] * len(tokens)
    for message in demonstration(problem, source, flaws=FLAWS):
        written = tokenizer.encode(message + END).ids
        result = calculate(message)
        read = [] if result is None else tokenizer.encode(tool_text(result)).ids
        tokens += written + read
        mask += [1.0] * len(written) + [0.0] * len(read)
    return tokens, mask
