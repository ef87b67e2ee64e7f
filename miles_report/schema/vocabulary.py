"""Words with a fixed set of values: phases, statuses, roles, severities; each with label and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.schema.sample_columns import SAMPLE_GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PHASES", "ROLES", "SAMPLE_GROUPS", "SEVERITIES", "STATUSES", "Phase", "Word"]

DARK_LABEL = "#1a1b1e"
WHITE_LABEL = "#ffffff"


@dataclass(frozen=True)
class Word:
    """One value of a vocabulary.

    Attributes:
        name: as in the tables.
        label: as pages show it.
        doc: one sentence for the glossary.
    """

    name: str
    label: str
    doc: str


@dataclass(frozen=True)
class Phase:
    """One kind of work of a GPU lane.

    Attributes:
        name: as in the stream.
        label: as pages show it.
        doc: one sentence for the glossary.
        colours: of its band, light and dark.
        labels: of a text on the band, light and dark.
        hatch: of the lines over the band, light and dark; None for a plain band.
    """

    name: str
    label: str
    doc: str
    colours: tuple[str, str]
    labels: tuple[str, str]
    hatch: tuple[str, str] | None = None


PHASES: Mapping[str, Phase] = {
    phase.name: phase
    for phase in (
        Phase(
            "rollout",
            "Rollout",
            "Engines generate training samples.",
            ("#e69f00", "#cf8f10"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "eval_rollout",
            "Eval rollout",
            "Engines generate evaluation samples.",
            ("#a35c00", "#95580a"),
            (WHITE_LABEL, WHITE_LABEL),
        ),
        Phase(
            "actor_train",
            "Actor train",
            "Forward, backward and optimizer step of the policy.",
            ("#0072b2", "#2678b6"),
            (WHITE_LABEL, WHITE_LABEL),
        ),
        Phase(
            "data_preprocess",
            "Data preprocess",
            "Samples become batches of the trainer.",
            ("#a0d6f7", "#aee0fb"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "log_probs",
            "Log probs",
            "The policy scores the sampled tokens.",
            ("#50297a", "#5d3391"),
            (WHITE_LABEL, WHITE_LABEL),
        ),
        Phase(
            "ref_log_probs",
            "Ref log probs",
            "The reference model scores the sampled tokens.",
            ("#a586c4", "#b99cd8"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "train_log_probs",
            "Train log probs",
            "The policy scores the tokens again within the training step.",
            ("#dccbec", "#e6d9f4"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "update_weights",
            "Update weights",
            "New weights go to the engines.",
            ("#e97bb4", "#f08fc2"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "ref_model_update",
            "Ref model update",
            "The reference model takes over the weights of the policy.",
            ("#f5c0dc", "#f9d9ea"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "train_wait",
            "Train wait",
            "Training ranks wait for samples.",
            ("#e9e9e6", "#2a2d32"),
            (DARK_LABEL, WHITE_LABEL),
            hatch=("#a9a9a4", "#565b63"),
        ),
        Phase(
            "sleep",
            "Sleep",
            "The process gave its GPU memory away.",
            ("#8a8a86", "#9aa0a8"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "initialize",
            "Initialize",
            "From the start of the run to the first phase of the lane.",
            ("#b8b8b4", "#50565d"),
            (DARK_LABEL, WHITE_LABEL),
        ),
        Phase(
            "save_model",
            "Save model",
            "A checkpoint is written.",
            ("#006a66", "#13807a"),
            (WHITE_LABEL, WHITE_LABEL),
        ),
        Phase(
            "wake_up",
            "Wake up",
            "The process takes its GPU memory back.",
            ("#f7ee7a", "#f7ee7a"),
            (DARK_LABEL, DARK_LABEL),
        ),
        Phase(
            "unknown",
            "Unknown",
            "A phase that this version does not know by name.",
            ("#7b7264", "#978d7c"),
            (WHITE_LABEL, DARK_LABEL),
        ),
    )
}
"""In the order of keys; `unknown` stands for every other name."""

STATUSES: Mapping[str, Word] = {
    word.name: word
    for word in (
        Word("completed", "completed", "Generation ended by itself."),
        Word("truncated", "truncated", "Generation hit the limit of length."),
        Word(
            "aborted",
            "aborted",
            "Generation was stopped from outside; the sample may be tried again.",
        ),
        Word("failed", "failed", "Generation or its environment broke."),
        Word("pending", "pending", "Generation had not ended when the sample was dumped."),
    )
}
"""How generation of a sample ended."""

ROLES: Mapping[str, Word] = {
    word.name: word
    for word in (
        Word("system", "system", "Instructions that stand before the conversation."),
        Word("user", "user", "The task, and what the environment says in place of a person."),
        Word("assistant", "assistant", "What the policy wrote."),
        Word("tool", "tool", "The result of a tool call; never trained on."),
    )
}
"""Who speaks in a conversation; other roles are shown by their own name."""

SEVERITIES: Mapping[str, Word] = {
    word.name: word
    for word in (
        Word("error", "Error", "A file is broken; what it held is missing here."),
        Word("warning", "Warning", "Something was lost or looks wrong."),
        Word("info", "Info", "Absent by choice, or good to know."),
    )
}
"""Of notices, gravest first."""
