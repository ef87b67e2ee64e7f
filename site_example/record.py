"""Records the example: `python -m site_example.record -o DIR`.

The driver overlaps rollouts with training: while the trainers learn from one batch, the engines write the next, so new weights
arrive in the middle of it.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray
import torch

import collector
import faulttol
from site_example.dumps import write_rollout
from site_example.faults import FAULTS
from site_example.fleet import Fleet
from site_example.grpo import group_advantages
from site_example.rollout import Rollouts
from site_example.tokenizer import make_tokenizer, save_tokenizer
from site_example.trainer import Row, Trainer
from site_example.warmup import warm_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from site_example.rollout import Sample

logger = logging.getLogger(__name__)

EVALUATIONS = {"short": 2, "long": 4}
"""Name of a set and the most steps of its problems; nothing longer than 2 is trained."""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Arguments with the names of Miles, so that they appear in the report."""
    parser = argparse.ArgumentParser(description="Records a small reinforcement-learning run.")
    parser.add_argument("-o", "--dump-details", type=Path, required=True)
    parser.add_argument("--num-rollout", type=int, default=60)
    parser.add_argument("--rollout-batch-size", type=int, default=8, help="groups a step")
    parser.add_argument("--n-samples-per-prompt", type=int, default=8)
    parser.add_argument("--warmup-steps", type=int, default=400)
    parser.add_argument("--load", type=Path, help="weights of an earlier warm-up")
    parser.add_argument("--eval-interval", type=int, default=10)
    parser.add_argument("--rollout-num-engines", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    collector.add_arguments(parser)
    faulttol.add_arguments(parser)
    parser.set_defaults(
        use_fault_tolerance=True,
        rollout_health_check_interval=2.0,
        rollout_health_check_timeout=5.0,
        rollout_restart_budget=3,
        p2p_transfer_timeout=10.0,
    )
    args = parser.parse_args(arguments)
    args.use_miles_dashboard = True
    args.dashboard_flush_interval = 1.0
    args.dashboard_sglang_scrape_mode = "direct"
    args.use_rollout_entropy = True
    args.wandb_group = "calculator-grpo"
    args.colocate = False
    args.global_batch_size = args.rollout_batch_size * args.n_samples_per_prompt
    args.eps_clip = 0.2
    args.hf_checkpoint = "calculator-1m"
    args.dump_details = str(args.dump_details.resolve())
    return args


class Run:
    """The driver."""

    def __init__(self, args: argparse.Namespace, weights: bytes, scratch: str) -> None:
        self.args, self.dump = args, Path(args.dump_details)
        self.dashboard = collector.init_dashboard(args, primary=True)
        self.timer = collector.PhaseTimer()
        sink = None
        if self.dashboard is not None:
            self.dashboard.attach(self.timer, role="rollout_manager")
            sink = self.dashboard.trajectory_sink()
        self.fleet = Fleet(args, self.dashboard)
        self.fleet.start()
        self.fleet.update_weights(weights, 0)
        self.rollouts = Rollouts(self.fleet.addresses, sink, seed=args.seed)
        start = ray.remote(Trainer).options(num_cpus=0)
        float_weights = ray.put(weights)
        self.trainers = [
            start.remote(rank, 2, f"{scratch}/gloo", float_weights, args) for rank in range(2)
        ]
        self.rewards: list[float] = []
        self._ahead = ThreadPoolExecutor(max_workers=1)

    def run(self, tell: Callable[[str], object]) -> None:
        """All steps, and an evaluation every few of them."""
        n = self.args.num_rollout
        faults = {round(share * n): name for share, name in FAULTS.items()}
        coming = self._ahead.submit(self._generate)
        for step in range(n):
            begun = time.time()
            samples = coming.result()
            waited = time.time() - begun
            if step % self.args.eval_interval == 0 or step == n - 1:
                self._evaluate(step)
            if step + 1 < n:
                coming = self._ahead.submit(self._generate)
            if step in faults:
                self.fleet.break_engine(1 if faults[step] == "SIGSTOP" else 0, faults[step])
            told = self._train(step, samples)
            self._log(step, samples, told, waited, time.time() - begun)
            tell(f"step {step}: reward {self.rewards[-1]:.3f}, {time.time() - begun:.1f} s")

    def close(self) -> None:
        """Ends everything that this process has started."""
        self._ahead.shutdown()
        self.rollouts.close()
        ray.get([trainer.close.remote() for trainer in self.trainers])
        self.fleet.close()
        collector.finish_dashboard()

    def _generate(self) -> list[Sample]:
        with self.timer.phase("rollout"):
            size, each = self.args.rollout_batch_size, self.args.n_samples_per_prompt
            return self.rollouts.train_batch(size, each)

    def _evaluate(self, step: int) -> None:
        with self.timer.phase("eval_rollout"):
            sets = {
                name: self.rollouts.evaluation(24, most_steps=most)
                for name, most in EVALUATIONS.items()
            }
        write_rollout(
            self.dump, step, [one for each in sets.values() for one in each], evaluation=True
        )
        means = {
            f"eval/{name}": statistics.fmean(one.total for one in each)
            for name, each in sets.items()
        }
        collector.dashboard_log({**means, "eval/step": step}, step=step, step_key="eval/step")

    def _train(self, step: int, samples: list[Sample]) -> dict[str, float]:
        write_rollout(self.dump, step, samples, evaluation=False)
        if self.dashboard is not None:
            self.dashboard.data_buffer(len(samples))
        rows = make_rows(samples, self.args.n_samples_per_prompt)
        raw = [one.total for one in samples]
        order = sorted(rows, key=lambda row: len(row.tokens))
        told = ray.get(
            [
                trainer.train.remote(step, order[rank::2], raw)
                for rank, trainer in enumerate(self.trainers)
            ]
        )
        with self.timer.phase("update_weights"):
            weights = ray.get(self.trainers[0].weights.remote())
            self.fleet.update_weights(weights, step + 1)
        if self.dashboard is not None:
            self.dashboard.data_buffer(0)
        return dict(told[0])

    def _log(
        self, step: int, samples: list[Sample], told: dict[str, float], waited: float, total: float
    ) -> None:
        rewards = [one.reward for one in samples]
        mean = {name: statistics.fmean(one[name] for one in rewards) for name in rewards[0]}
        self.rewards.append(sum(mean.values()))
        length = statistics.fmean(one.response_length for one in samples)
        stale = [
            step - min(map(int, one.weight_versions)) for one in samples if one.weight_versions
        ]
        collector.dashboard_log(
            {
                "rollout/raw_reward": self.rewards[-1],
                "rollout/correctness": mean["correctness"],
                "rollout/format": mean["format"],
                "rollout/response_len/mean": length,
                "rollout/staleness/mean": statistics.fmean(stale or [0]),
                "rollout/step": step,
            },
            step=step,
            step_key="rollout/step",
        )
        perf = {"perf/step_time": total, "perf/train_wait_time": waited}
        perf["perf/wait_time_ratio"] = waited / total
        collector.dashboard_log({**perf, "rollout/step": step}, step=step, step_key="rollout/step")
        collector.dashboard_log({**told, "train/step": step}, step=step, step_key="train/step")


def make_rows(samples: list[Sample], n_per_group: int) -> list[Row]:
    """Samples for the trainer, with the advantage that each has in its group."""
    rows = []
    for at in range(0, len(samples), n_per_group):
        group = samples[at : at + n_per_group]
        advantages = group_advantages([one.total for one in group])
        rows += [
            Row(
                one.index,
                one.tokens,
                one.loss_mask,
                one.rollout_log_probs,
                one.weight_versions,
                one.total,
                advantage,
                int(one.status == "truncated"),
            )
            for one, advantage in zip(group, advantages, strict=True)
        ]
    return rows


def rise(rewards: list[float], n: int = 10) -> dict[str, float]:
    """Means of the first and the last n steps, and the larger of their standard deviations."""
    first, last = rewards[:n], rewards[-n:]
    means = {"first": statistics.fmean(first), "last": statistics.fmean(last)}
    return {**means, "deviation": max(statistics.stdev(first), statistics.stdev(last))}


def warm_state(args: argparse.Namespace) -> dict[str, torch.Tensor]:
    """Weights after the warm-up, which is done unless there are some to load."""
    if args.load is not None:
        state: dict[str, torch.Tensor] = torch.load(args.load, weights_only=True)
        return state
    model = warm_up(
        seed=args.seed,
        n_steps=args.warmup_steps,
        tell=lambda step, loss: step % 50 or logger.info("warm-up %d: loss %.3f", step, loss),
    )
    return model.state_dict()


def main(arguments: list[str] | None = None) -> None:
    """Warms up, trains, and says how the reward has risen."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    args: Any = parse(arguments)
    collector.check_options(args)
    faulttol.check_options(args)
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    packed = io.BytesIO()
    torch.save(warm_state(args), packed)
    save_tokenizer(make_tokenizer(), Path(args.dump_details) / "tokenizer")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True, logging_level="WARNING")
    with tempfile.TemporaryDirectory(prefix="site-example-") as scratch:
        run = Run(args, packed.getvalue(), scratch)
        try:
            run.run(logger.info)
        finally:
            run.close()
            ray.shutdown()
    risen = rise(run.rewards, min(10, len(run.rewards) // 2))
    logger.info("reward %(first).3f -> %(last).3f (deviation of steps %(deviation).3f)", risen)


if __name__ == "__main__":
    main()
