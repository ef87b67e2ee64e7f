"""What the metrics that Miles logs mean, in one line each, with unit and way of writing.

Keys that are not here are shown as logged. `dump/*` come from the schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.schema.sample_columns import STEP_AGGREGATES, STEPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from miles_report.schema.columns import Form


@dataclass(frozen=True)
class MetricWords:
    """What is known of a key.

    Attributes:
        text: one line of plain words, without a full stop; "" if the key is not known.
        unit: beside the number; "" where the form already carries it, or there is none.
        form: how values are written.
    """

    text: str = ""
    unit: str = ""
    form: Form = "number"


UNKNOWN = MetricWords()

_STATISTICS = {
    "mean": "mean",
    "median": "median",
    "max": "largest",
    "min": "smallest",
    "std": "standard deviation",
}
"""A last part of a key that names a statistic."""

_WORDS: Mapping[str, MetricWords] = {
    "perf/step_time": MetricWords("wall clock of a step", form="seconds"),
    "perf/wait_time_ratio": MetricWords("share of a step in which training waited", form="frac"),
    "perf/train_wait_time": MetricWords("time training waited for the next batch", form="seconds"),
    "perf/train_time": MetricWords("time of the training half of a step", form="seconds"),
    "perf/rollout_time": MetricWords("time to generate the batch", form="seconds"),
    "perf/actor_train_time": MetricWords("forward and backward passes of the actor", form="seconds"),
    "perf/log_probs_time": MetricWords("log probs under the current policy", form="seconds"),
    "perf/ref_log_probs_time": MetricWords("log probs under the reference policy", form="seconds"),
    "perf/data_preprocess_time": MetricWords("packing and sharding the batch", form="seconds"),
    "perf/update_weights_time": MetricWords("new weights sent to the engines", form="seconds"),
    "perf/save_model_time": MetricWords("writing a checkpoint", form="seconds"),
    "perf/sleep_time": MetricWords("offloading, so that the other half gets the memory", form="seconds"),
    "perf/wake_up_time": MetricWords("loading back after an offload", form="seconds"),
    "perf/actor_train_mfu": MetricWords("share of the GPUs' peak FLOPs in actor training", form="frac"),
    "perf/mfu_peak_tflops": MetricWords("peak that MFU refers to, a GPU", unit="TFLOP/s"),
    "perf/actor_train_tflops": MetricWords("FLOPs of actor training, a GPU", unit="TFLOP/s"),
    "perf/log_probs_tflops": MetricWords("FLOPs of the log prob pass, a GPU", unit="TFLOP/s"),
    "perf/ref_log_probs_tflops": MetricWords("FLOPs of the reference pass, a GPU", unit="TFLOP/s"),
    "perf/actor_train_tok_per_s": MetricWords("tokens trained a second", unit="tok/s"),
    "perf/tokens_per_gpu_per_sec": MetricWords("generated tokens a second and rollout GPU", unit="tok/s"),
    "perf/effective_tokens_per_gpu_per_sec": MetricWords("the same, only tokens that enter the loss", unit="tok/s"),
    "perf/longest_sample_tokens_per_sec": MetricWords("speed of the longest sample of a batch", unit="tok/s"),
    "perf/non_generation_time": MetricWords("time of a sample outside the model", form="seconds"),
    "rollout/raw_reward": MetricWords("mean reward before normalisation"),
    "rollout/rewards": MetricWords("mean reward after normalisation within groups"),
    "rollout/rewards_mean": MetricWords("mean reward"),
    "rollout/response_len": MetricWords("response length", unit="tokens"),
    "rollout/response_lengths": MetricWords("mean response length", unit="tokens"),
    "rollout/total_lengths": MetricWords("mean length of prompt and response", unit="tokens"),
    "rollout/truncated": MetricWords("samples that hit the length limit", form="frac"),
    "rollout/truncated_ratio": MetricWords("samples that hit the length limit", form="frac"),
    "rollout/repetition_frac": MetricWords("samples that repeat themselves", form="frac"),
    "rollout/advantages": MetricWords("mean advantage over trained tokens"),
    "rollout/returns": MetricWords("mean return over trained tokens"),
    "rollout/values": MetricWords("mean value of the critic"),
    "rollout/kl": MetricWords("KL to the reference policy", unit="nats"),
    "rollout/log_probs": MetricWords("mean log prob under the trainer", unit="nats", form="logprob"),
    "rollout/ref_log_probs": MetricWords("mean log prob under the reference", unit="nats", form="logprob"),
    "rollout/rollout_log_probs": MetricWords("mean log prob under the engine", unit="nats", form="logprob"),
    "rollout/entropy": MetricWords("policy entropy over trained tokens", unit="nats"),
    "rollout/spec_accept_rate": MetricWords("drafted tokens that were accepted", form="frac"),
    "rollout/spec_accept_length": MetricWords("tokens accepted a draft", unit="tokens"),
    "rollout/prefix_cache_hit_rate": MetricWords("prompt tokens found in the prefix cache", form="frac"),
    "rollout/avg_cached_tokens_per_sample": MetricWords("prompt tokens found in the prefix cache, a sample", unit="tokens"),
    "rollout/step": MetricWords("the rollout axis itself", form="id"),
    "train/loss": MetricWords("loss that is minimised"),
    "train/pg_loss": MetricWords("policy gradient part of the loss"),
    "train/value_loss": MetricWords("loss of the critic"),
    "train/entropy_loss": MetricWords("policy entropy", unit="nats"),
    "train/kl_loss": MetricWords("KL to the reference policy", unit="nats"),
    "train/ppo_kl": MetricWords("KL of the updated to the old policy", unit="nats"),
    "train/pg_clipfrac": MetricWords("tokens whose ratio was clipped", form="frac"),
    "train/value_clipfrac": MetricWords("tokens whose value was clipped", form="frac"),
    "train/grad_norm": MetricWords("norm of the gradient before clipping"),
    "train/lr": MetricWords("learning rate"),
    "train/lr-pg_0": MetricWords("learning rate, first parameter group"),
    "train/lr-pg_1": MetricWords("learning rate, second parameter group"),
    "train/train_rollout_logprob_abs_diff": MetricWords("mean |train − rollout| log prob", unit="nats", form="logprob"),
    "train/train_rollout_kl": MetricWords("KL between trainer and engine", unit="nats"),
    "train/ois": MetricWords("mean ratio of the updated to the old policy"),
    "train/tis": MetricWords("mean importance ratio of trainer to engine"),
    "train/tis_abs": MetricWords("mean distance of that ratio from 1"),
    "train/tis_clipfrac": MetricWords("tokens whose importance ratio was clipped", form="frac"),
    "train/step": MetricWords("the training axis itself: one an optimiser step", form="id"),
    "train/global_batch_size": MetricWords("samples an optimiser step", unit="samples", form="count"),
    "eval/step": MetricWords("the evaluation axis itself", form="id"),
    "multi_turn/round_number": MetricWords("turns of a sample", unit="turns"),
    "multi_turn/raw_response_length": MetricWords("response length, tool output included", unit="tokens"),
}  # fmt: skip

_PATTERNS: tuple[tuple[re.Pattern[str], MetricWords], ...] = (
    (re.compile(r"rollout/zero_std/count_.*"), MetricWords("groups whose rewards are all this value", "groups", "count")),
    (re.compile(r"rollout/error_cat/.*"), MetricWords("share of samples that ended with this error", form="frac")),
    (re.compile(r"(?:passrate|rollout)/pass@\d+"), MetricWords("prompts solved in that many tries", form="frac")),
    (re.compile(r"eval/.*[-/]pass@\d+"), MetricWords("evaluation prompts solved in that many tries", form="frac")),
    (re.compile(r"eval/.*[-/]truncated(?:_ratio)?"), MetricWords("evaluation samples that hit the length limit", form="frac")),
    (re.compile(r"eval/.*[-/]response_len(?:gths?)?(?:[-/].*)?"), MetricWords("response length in evaluation", unit="tokens")),
    (re.compile(r"eval/[^/]+"), MetricWords("mean reward on this evaluation set")),
    (re.compile(r"perf/.*_time"), MetricWords("time of this phase in a step", form="seconds")),
    (re.compile(r"perf/.*_tflops"), MetricWords("FLOPs of this phase, a GPU", unit="TFLOP/s")),
)  # fmt: skip


def metric_words(key: str) -> MetricWords:
    """What is known of a logged key, `UNKNOWN` if nothing.

    A statistic at the end (`/mean`, `_max`, ...) is told in words beside the key before it.
    """
    known = _plain_words(key)
    if known is not UNKNOWN:
        return known
    base, separator, last = _split_statistic(key)
    known = _plain_words(base) if separator and last in _STATISTICS else UNKNOWN
    if known is UNKNOWN:
        return UNKNOWN
    return MetricWords(f"{known.text}, {_STATISTICS[last]}", known.unit, known.form)


def _plain_words(key: str) -> MetricWords:
    if key.startswith("dump/") and key.removeprefix("dump/") in STEP_AGGREGATES:
        column = STEPS.column(key.removeprefix("dump/"))
        text = column.doc[0].lower() + column.doc[1:].rstrip(".")
        return MetricWords(text, column.unit, column.form)
    known = _WORDS.get(key)
    if known:
        return known
    return next((words for pattern, words in _PATTERNS if pattern.fullmatch(key)), UNKNOWN)


def _split_statistic(key: str) -> tuple[str, str, str]:
    return max((key.rpartition(mark) for mark in "/_-"), key=lambda parts: len(parts[0]))
