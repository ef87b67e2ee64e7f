"""A data-parallel trainer rank: scores its share of a batch in float32, steps, and writes its train dump."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

import collector
from site_example.dumps import write_train
from site_example.grpo import policy_loss, score
from site_example.model import Policy

LEARNING_RATE = 4e-5
N_UPDATES = 2
"""Steps of the optimizer a batch; in the second the clipping matters."""


@dataclass(frozen=True)
class Row:
    """What a trainer has to know of a sample."""

    index: int
    tokens: list[int]
    loss_mask: list[int]
    rollout_log_probs: list[float]
    weight_versions: list[str]
    reward: float
    advantage: float
    truncated: int


class Trainer:
    """One rank. Its log probs before the first update, entropies and advantages go into the dump."""

    def __init__(self, rank: int, world: int, store: str, weights: bytes, args: Any) -> None:
        torch.set_num_threads(1)
        self.rank, self.dump = rank, Path(args.dump_details)
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
        self.model, self.reference = Policy(), Policy().requires_grad_(requires_grad=False)
        state = torch.load(io.BytesIO(weights), weights_only=True)
        self.model.load_state_dict(state)
        self.reference.load_state_dict(state)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, betas=(0.9, 0.98)
        )
        self.timer = collector.PhaseTimer()
        dashboard = collector.init_dashboard(args, primary=False)
        if dashboard is not None:
            dashboard.attach(self.timer)
        self._idle_since = time.time()

    def train(self, step: int, rows: list[Row], raw_reward: list[float]) -> dict[str, float]:
        """Learns from this rank's rows; every rank has to be called.

        Args:
            step: rollout id.
            rows: this rank's.
            raw_reward: of the whole batch in its order, for the dump.

        Returns:
            Means over the tokens of all ranks.
        """
        self._tell_wait()
        with self.timer.phase("train"):
            with self.timer.phase("ref_log_probs"), torch.no_grad():
                ref, ref_entropy = score(self.reference, [row.tokens for row in rows])
            with self.timer.phase("log_probs"), torch.no_grad():
                old, entropy = score(self.model, [row.tokens for row in rows])
            known = {
                "log_probs": _cut(old, rows),
                "ref_log_probs": _cut(ref, rows),
                "entropy": _cut(entropy, rows),
                "ref_entropy": _cut(ref_entropy, rows),
            }
            with self.timer.phase("actor_train"):
                told = self._update(rows, old, ref, entropy)
            write_train(self.dump, step, self.rank, _columns(rows, known, raw_reward))
        self._idle_since = time.time()
        return told

    def weights(self) -> bytes:
        """The policy in bfloat16, as engines take it."""
        packed = io.BytesIO()
        state = {name: value.to(torch.bfloat16) for name, value in self.model.state_dict().items()}
        torch.save(state, packed)
        return packed.getvalue()

    def close(self) -> None:
        """Hands over the last records."""
        collector.finish_dashboard()
        dist.destroy_process_group()

    def _tell_wait(self) -> None:
        """The time since the last step is a phase whose end is known only now."""
        now = time.time()
        for sink in self.timer.event_sinks:
            sink("train_wait", self._idle_since, now)

    def _update(
        self, rows: list[Row], old: Tensor, ref: Tensor, entropy: Tensor
    ) -> dict[str, float]:
        width = old.shape[1]
        mask = _padded([[float(bit) for bit in row.loss_mask] for row in rows], width)
        rollout = _padded([row.rollout_log_probs for row in rows], width)
        advantage = torch.tensor([row.advantage for row in rows])[:, None]
        n_all = _sum(mask.sum())
        for _ in range(N_UPDATES):
            new, _ = score(self.model, [row.tokens for row in rows])
            # placeholders of the tool's tokens are masked; they are replaced, as 0 times infinity is not 0
            parts = (new, old, torch.where(mask > 0, rollout, old), ref, advantage)
            loss = (policy_loss(*parts) * mask).sum() / n_all
            self.optimizer.zero_grad()
            loss.backward()
            for parameter in self.model.parameters():
                dist.all_reduce(parameter.grad)
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        gap = ((old - rollout).abs() * mask).sum()
        kl = ((old - ref) * mask).sum()
        return {
            "train/loss": _sum(loss.detach()).item(),
            "train/grad_norm": norm.item(),
            "train/entropy": (_sum((entropy * mask).sum()) / n_all).item(),
            "train/kl_ref": (_sum(kl) / n_all).item(),
            "train/train_rollout_logprob_abs_diff": (_sum(gap) / n_all).item(),
        }


def _sum(value: Tensor) -> Tensor:
    """Over all ranks."""
    total = value.clone()
    dist.all_reduce(total)
    return total


def _padded(rows: list[list[float]], width: int) -> Tensor:
    """Response-aligned rows at the right of `width` columns."""
    return torch.tensor([[0.0] * (width - len(row)) + row for row in rows])


def _cut(values: Tensor, rows: list[Row]) -> list[Tensor]:
    """Each row's response."""
    width = values.shape[1]
    return [
        value[width - len(row.loss_mask) :].clone() for value, row in zip(values, rows, strict=True)
    ]


def _columns(
    rows: list[Row], known: dict[str, list[Tensor]], raw_reward: list[float]
) -> dict[str, Any]:
    advantages = [torch.full((len(row.loss_mask),), row.advantage) for row in rows]
    masks = [torch.tensor(row.loss_mask, dtype=torch.int32) for row in rows]
    return {
        "tokens": [torch.tensor(row.tokens) for row in rows],
        "response_lengths": [len(row.loss_mask) for row in rows],
        "rewards": [row.advantage for row in rows],
        "truncated": [row.truncated for row in rows],
        "loss_masks": masks,
        "sample_indices": [row.index for row in rows],
        "rollout_ids": [row.index for row in rows],
        "rollout_mask_sums": torch.tensor([float(mask.sum()) for mask in masks]),
        "rollout_log_probs": [torch.tensor(row.rollout_log_probs) for row in rows],
        "weight_versions": [row.weight_versions for row in rows],
        "raw_reward": raw_reward,
        "total_lengths": [len(row.tokens) for row in rows],
        **known,
        "advantages": advantages,
        "returns": advantages,
    }
