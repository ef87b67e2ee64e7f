"""Tables below the sample: tokens, conversations and lifecycle spans."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table
from miles_report.schema.sample_columns import EVALUATION, GROUP_INDEX, ROW, SAMPLE_INDEX, STEP

MASKED = "in the prompt, masked, or not recorded"

TOKENS = Table(
    "tokens",
    "token of a sample, by position",
    (
        STEP,
        EVALUATION,
        ROW,
        SAMPLE_INDEX,
        Column("position", "i64", "0-based position in prompt and response.", form="id"),
        Column("token_id", "i64", "Id in the tokenizer's vocabulary.", form="id"),
        Column("token_text", "str", "The id decoded alone; bytes that are no character appear as U+FFFD.", null="the dump has no tokenizer", form="text"),
        Column("in_response", "bool", "Whether the token belongs to the response."),
        Column("loss_mask", "i64", "1 where the token enters the loss, 0 where it does not (tool output).", null="in the prompt, or no mask recorded", form="id"),
        Column("rollout_log_probs", "f32", "Log prob the engine reported while generating.", unit="nats", null=MASKED, form="logprob", rounding="2^-14"),
        Column("train_log_probs", "f32", "Log prob the trainer computed for the same token.", unit="nats", null=MASKED, form="logprob", rounding="2^-14"),
        Column("lp_diff", "f32", "train − rollout log prob; positive: the trainer likes the token more.", unit="nats", null=MASKED, form="logprob", rounding="13 bits"),
        Column("imp_ratio", "f32", "exp(lp_diff), the importance ratio of the token.", null=MASKED, form="number", rounding="13 bits"),
        Column("entropy", "f32", "Policy entropy at the token.", unit="nats", null=MASKED, form="number", rounding="2^-14"),
        Column("ref_entropy", "f32", "Entropy of the reference policy at the token.", unit="nats", null=MASKED, form="number", rounding="2^-14"),
        Column("ref_log_probs", "f32", "Log prob of the reference policy.", unit="nats", null=MASKED, form="logprob", rounding="2^-14"),
        Column("advantages", "f32", "Advantage the trainer assigned to the token.", null=MASKED, form="number", rounding="13 bits"),
        Column("returns", "f32", "Return the trainer assigned to the token.", null=MASKED, form="number", rounding="13 bits"),
    ),
    parameters=("step", "row", "sample", "evaluation", "start", "end"),
    doc="Tokens with every per-token series of the run; series are null where the token was not trained. A run may add series of its own.",
    open_ended=True,
)  # fmt: skip

CONVERSATIONS = Table(
    "conversations",
    "sample with a recorded conversation",
    (
        STEP,
        EVALUATION,
        ROW,
        SAMPLE_INDEX,
        GROUP_INDEX,
        Column("status", "str", "Status at the time the conversation was written.", null="not recorded", form="text"),
        Column("reward", "f64", "Reward at the time the conversation was written.", null="none, or a dict", form="number"),
        Column("prompt", "json", "The prompt: a string or a list of chat messages.", form="text"),
        Column("messages", "json", "The messages in order, as recorded.", form="text"),
    ),
    parameters=("step", "row", "sample", "evaluation"),
    doc="What was said, with roles, thinking and tool calls, from the conversation sidecar.",
)  # fmt: skip

TRAJECTORIES = Table(
    "trajectories",
    "span in the life of a request",
    (
        SAMPLE_INDEX,
        GROUP_INDEX,
        Column("kind", "str", "attempt (the whole request), gen (generating) or tool (waiting on a tool).", form="text"),
        Column("t0", "ts", "Start.", null="its start was not recorded", form="ts"),
        Column("t1", "ts", "End.", null="not ended when the record stops", form="ts"),
        Column("turn", "i64", "1-based turn; −1 where spans are not told apart by turn.", form="id"),
        Column("weight_version", "str", "Weight version that generated; empty if unknown.", form="text"),
        Column("status", "str", "Status of the sample's last ended attempt; empty if none ended.", form="text"),
        Column("first_ts", "ts", "First event of the sample in the selection.", form="ts"),
        Column("last_ts", "ts", "Last event of the sample in the selection.", form="ts"),
    ),
    parameters=("step", "t0", "t1", "row", "sample"),
    doc="When each request was queued, generating, or waiting on a tool.",
)  # fmt: skip

TEXTS = Table(
    "texts",
    "sample, in file order",
    (
        STEP,
        EVALUATION,
        ROW,
        SAMPLE_INDEX,
        Column("prompt", "json", "The prompt as recorded: a string or a list of chat messages.", null="not recorded", form="text"),
        Column("response", "str", "The response as recorded by the engine.", null="not recorded", form="text"),
    ),
    parameters=("step", "row", "sample", "evaluation"),
    doc="Prompt and response of every sample as text.",
)  # fmt: skip
