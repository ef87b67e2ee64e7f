"""A decoder of about a million parameters with rotary positions and a key-value cache.

Rows of a batch are padded on the left: rotary positions are relative, so only the padding has to be masked.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from site_example.tokenizer import PAD_ID, TOKENS

WIDTH, LAYERS, HEADS = 128, 5, 4
CONTEXT = 160
"""Tokens of prompt and response."""

Cache = list[tuple[Tensor, Tensor]]


class Block(nn.Module):
    """Attention and a feed-forward part, both on a residual stream."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_attention, self.norm_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(
        self,
        x: Tensor,
        turn: tuple[Tensor, Tensor],
        mask: Tensor,
        past: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(batch, n, width) and the keys and values so far, (batch, heads, past + n, head)."""
        batch, n, _ = x.shape
        shape = (batch, n, 3, HEADS, WIDTH // HEADS)
        q, k, v = self.qkv(self.norm_attention(x)).view(shape).permute(2, 0, 3, 1, 4)
        q, k = _turn(q, turn), _turn(k, turn)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, n, WIDTH))
        return x + self.mlp(self.norm_mlp(x)), (k, v)


class Policy(nn.Module):
    """Tokens in, logits of the next token out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(len(TOKENS), WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(TOKENS), bias=False)
        rates = 10_000.0 ** (-torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS))
        angles = torch.outer(torch.arange(2 * CONTEXT), rates)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(
        self, tokens: Tensor, padding: Tensor, cache: Cache | None = None
    ) -> tuple[Tensor, Cache]:
        """Logits (batch, n, vocabulary) of `tokens` (batch, n).

        Args:
            tokens: what comes after the cache.
            padding: (batch, past + n), true where a column of a row is padding.
            cache: of all earlier columns; null: there are none.
        """
        n, total = tokens.shape[1], padding.shape[1]
        past = total - n
        x = self.embed(tokens)
        causal = torch.ones(n, total, dtype=torch.bool).tril(past)
        itself = torch.eye(total, dtype=torch.bool)[past:]  # no row of the mask is empty
        mask = ((causal & ~padding[:, None, :]) | itself)[:, None]
        turn = (self.cos[past:total].to(x.dtype), self.sin[past:total].to(x.dtype))
        grown: Cache = []
        for index, block in enumerate(self.blocks):
            x, pair = block(x, turn, mask, None if cache is None else cache[index])
            grown.append(pair)
        return self.head(self.norm(x)), grown


def pad_left(rows: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Rows as one tensor (batch, longest), and where it is padding."""
    longest = max(map(len, rows))
    tokens = torch.tensor([[PAD_ID] * (longest - len(row)) + row for row in rows])
    padding = torch.tensor([[True] * (longest - len(row)) + [False] * len(row) for row in rows])
    return tokens, padding


def _turn(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = turn
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
