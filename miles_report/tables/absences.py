"""What a run did not record at all: told once, with the flag that would have recorded it."""

from __future__ import annotations

from dataclasses import dataclass

from miles_report.notices import Notice


@dataclass(frozen=True)
class Recorded:
    """Which parts of a dump hold anything.

    Attributes:
        telemetry: any stream.
        metrics: the metrics stream.
        lifecycles: the trajectories stream.
        rollouts: any rollout file, of training or evaluation.
        train: any train file.
        conversations: any conversation sidecar.
        tokenizer: a tokenizer.
    """

    telemetry: bool
    metrics: bool
    lifecycles: bool
    rollouts: bool
    train: bool
    conversations: bool
    tokenizer: bool


def absences(recorded: Recorded) -> list[Notice]:
    """One info notice for each part that is absent and would have been shown."""
    found = []
    if not recorded.telemetry:
        found.append(
            Notice(
                "no-collector",
                "info",
                "dashboard",
                "No telemetry was recorded: there are no logged metrics, step times or lifecycles of requests.",
                "Start the run with --use-miles-dashboard.",
            )
        )
    elif not recorded.metrics:
        found.append(
            Notice(
                "no-metrics",
                "info",
                "dashboard/metrics.jsonl",
                "No metrics were logged: only the dump/* aggregates are charted.",
                "None, if the run ended before its first step.",
            )
        )
    if not recorded.rollouts:
        found.append(
            Notice(
                "no-rollouts",
                "info",
                "rollout_data",
                "No rollouts were dumped: there are no samples, tokens or conversations.",
                "Start the run with --dump-details.",
            )
        )
        return found
    if not recorded.train:
        found.append(
            Notice(
                "no-train-data",
                "info",
                "train_data",
                "No train rows were dumped: there are no train log probs, advantages or entropies.",
                "Start the run with --dump-details on the trainer; runs that only generate have none.",
            )
        )
    if not recorded.tokenizer:
        found.append(
            Notice(
                "no-tokenizer",
                "info",
                "tokenizer",
                "The dump holds no tokenizer: tokens are shown by their ids.",
                "Copy tokenizer.json of the checkpoint into the dump's tokenizer folder.",
            )
        )
    if not recorded.conversations:
        found.append(
            Notice(
                "no-conversations",
                "info",
                "trajectory",
                "No conversations were recorded: prompts and responses are shown as plain text.",
                "Conversations are written for session and multi-turn runs.",
            )
        )
    if recorded.telemetry and not recorded.lifecycles:
        found.append(
            Notice(
                "no-lifecycles",
                "info",
                "dashboard/trajectories",
                "No lifecycle events were recorded: when requests queued, generated or waited on tools is not known.",
                "None: the rollout function in use reports none.",
            )
        )
    return found
