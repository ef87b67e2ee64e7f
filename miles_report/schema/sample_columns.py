"""The samples table: what was generated and what the trainer computed from it, one row a sample."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table

IDENTITY = "Identity and shape"
REWARD = "Reward"
ADVANTAGE = "Advantage and return"
AGREEMENT = "Train versus rollout agreement"
ENTROPY = "Entropy"
STALENESS = "Staleness"
SERVING = "Serving efficiency"
PROVENANCE = "Provenance"
SAMPLE_GROUPS = (IDENTITY, REWARD, ADVANTAGE, AGREEMENT, ENTROPY, STALENESS, SERVING, PROVENANCE)

NO_TRAIN_ROW = "no train row of this sample was dumped, or its values could not be placed"
NOT_TRAINED = "no trained token, or the trainer did not record it"

STEP = Column("step", "i64", "Rollout step: the number in the dump's file name.", form="id")
EVALUATION = Column(
    "evaluation", "bool", "Whether the sample belongs to an evaluation instead of training."
)
ROW = Column(
    "row",
    "i64",
    "0-based position in the rollout file; with step and evaluation the key of a sample.",
    label="Row",
    form="id",
    group=IDENTITY,
)
SAMPLE_INDEX = Column(
    "sample_index",
    "i64",
    "Miles's index of the sample; eval sets restart it and sub-agent siblings share it.",
    label="Sample",
    null="the sample carries no index",
    form="id",
    group=IDENTITY,
)
GROUP_INDEX = Column(
    "group_index",
    "i64",
    "Samples of one prompt share it.",
    label="Group",
    null="the sample belongs to no group",
    form="id",
    group=IDENTITY,
)

SAMPLES = Table(
    "samples",
    "sample, in file order",
    (
        STEP,
        EVALUATION,
        ROW,
        SAMPLE_INDEX,
        GROUP_INDEX,
        Column("eval_set", "i64", "Number of the evaluation set, counted up where the index restarts.", label="Eval set", null="a train sample", form="id", group=IDENTITY),
        Column("status", "str", "How generation ended: completed, truncated, aborted, failed or pending.", label="Status", null="not recorded", form="text", group=IDENTITY),
        Column("remove_sample", "bool", "Whether the rollout asked to keep the sample out of the loss.", label="Removed", null="not recorded", group=IDENTITY),
        Column("response_length", "i64", "Tokens after the prompt, tool output included.", label="Length", unit="tokens", null="not recorded", form="count", group=IDENTITY),
        Column("total_length", "i64", "Tokens of prompt and response.", label="Total length", unit="tokens", null="not recorded", form="count", group=IDENTITY),
        Column("reward", "f64", "Reward of the rollout when it is a single number.", label="Reward (rollout)", null="none given, or a dict of components", form="number", group=REWARD),
        Column("raw_reward", "f64", "Reward before normalisation as the trainer received it; the rollout's own where the step has no train file.", label="Raw reward", null=NO_TRAIN_ROW, form="number", group=REWARD),
        Column("normalized_reward", "f64", "Reward after normalisation within the group, from the train row.", label="Normalised reward", null=NO_TRAIN_ROW, form="number", group=REWARD),
        Column("reward_value", "f64", "The reward that pages show: reward, else raw_reward, else the configured key of a dict, else the sum of its numeric components.", label="Reward", null="no reward was given", form="number", group=REWARD),
        Column("weight_version", "str", "Last weight version that generated for this sample.", label="Version", null="no version recorded", form="text", group=STALENESS),
        Column("weight_version_min", "i64", "Smallest numeric weight version that generated for this sample.", label="Oldest version", null="no numeric version recorded", form="id", group=STALENESS),
        Column("mixed_version", "bool", "Whether more than one weight version generated for this sample.", label="Mixed versions", null="no version recorded", group=STALENESS),
        Column("staleness", "i64", "Step minus the oldest weight version used.", label="Staleness", unit="versions", null="no numeric version recorded", form="count", group=STALENESS),
        Column("turns", "i64", "Number of recorded weight versions: one a turn or request.", label="Turns", null="not recorded", form="count", group=STALENESS),
        Column("tool_calls", "i64", "Messages of role tool in a chat prompt.", label="Tools", null="the prompt is plain text", form="count", group=SERVING),
        Column("non_generation_time", "f64", "Wall clock of the sample spent outside the model.", label="Outside the model", unit="s", null="not recorded", form="seconds", group=SERVING),
        Column("spec_accept_rate", "f64", "Accepted over drafted tokens of speculative decoding.", label="Spec. accepted", null="nothing was drafted", form="frac", group=SERVING),
        Column("prefix_cache_hit_rate", "f64", "Cached over all prompt tokens.", label="Prefix cache hits", null="no prompt tokens were counted", form="frac", group=SERVING),
        Column("truncated", "bool", "Whether the response hit the length limit: the train column, else status = truncated.", label="Truncated", null="not recorded", group=IDENTITY),
        Column("dumped_rank", "i64", "Lowest train rank that holds the sample.", label="Train rank", null=NO_TRAIN_ROW, form="id", group=PROVENANCE),
        Column("mean_entropy", "f64", "Policy entropy, mean over trained tokens.", label="Entropy", unit="nats", null=NOT_TRAINED, form="number", group=ENTROPY),
        Column("max_entropy", "f64", "Policy entropy, largest over trained tokens.", label="Max entropy", unit="nats", null=NOT_TRAINED, form="number", group=ENTROPY),
        Column("ref_entropy_mean", "f64", "Entropy of the reference policy, mean over trained tokens.", label="Ref. entropy", unit="nats", null=NOT_TRAINED, form="number", group=ENTROPY),
        Column("mean_abs_lp_diff", "f64", "|train − rollout log prob|, mean over trained tokens.", label="|lp diff|", unit="nats", null=NOT_TRAINED, form="logprob", group=AGREEMENT),
        Column("max_abs_lp_diff", "f64", "|train − rollout log prob|, largest over trained tokens.", label="Max |lp diff|", unit="nats", null=NOT_TRAINED, form="logprob", group=AGREEMENT),
        Column("mean_imp_ratio", "f64", "exp(train − rollout log prob), mean over trained tokens.", label="Ratio", null=NOT_TRAINED, form="number", group=AGREEMENT),
        Column("adv_mean", "f64", "Advantage, mean over trained tokens.", label="Advantage", null=NOT_TRAINED, form="number", group=ADVANTAGE),
        Column("adv_std", "f64", "Advantage, sample standard deviation over trained tokens.", label="Advantage sd", null="fewer than two trained tokens, or not recorded", form="number", group=ADVANTAGE),
        Column("return_mean", "f64", "Return, mean over trained tokens.", label="Return", null=NOT_TRAINED, form="number", group=ADVANTAGE),
        Column("alignment_failed", "bool", "Whether the context-parallel slices of the sample could not be put together.", label="Unplaceable", group=PROVENANCE),
        Column("label", "str", "The expected answer, as recorded.", label="Label", null="not recorded", form="text", group=PROVENANCE),
        Column("adapter", "str", "Name of the LoRA adapter the sample belongs to.", label="Adapter", null="a run without adapters", form="text", group=PROVENANCE),
    ),
    parameters=("step", "evaluation"),
    doc="Every sample of a step: the rollout dump joined with the trainer's rows. Dict rewards add one column `reward.<key>` a component.",
    open_ended=True,
)  # fmt: skip

GROUPS = Table(
    "groups",
    "group of samples of one prompt, by group_index, null last",
    (
        STEP,
        EVALUATION,
        GROUP_INDEX,
        Column("n", "i64", "Samples in the group.", label="Samples", form="count"),
        Column("reward_mean", "f64", "Mean raw_reward (eval: reward) over samples that have one.", label="Reward mean", null="no sample has a reward", form="number"),
        Column("reward_std", "f64", "Sample standard deviation of that reward.", label="Reward sd", null="fewer than two rewards", form="number"),
        Column("response_length_mean", "f64", "Mean response length over samples.", label="Length mean", unit="tokens", null="no lengths", form="count"),
        Column("truncated_frac", "f64", "Share of samples that hit the length limit.", label="Truncated", null="not recorded", form="frac"),
        Column("zero_std", "bool", "Whether all rewards are equal, so that the group gives no gradient.", label="Zero std"),
        Column("adv_mean", "f64", "Mean of the samples' adv_mean.", label="Advantage mean", null="no advantages", form="number"),
        Column("adv_std", "f64", "Sample standard deviation of the samples' adv_mean.", label="Advantage sd", null="fewer than two advantages", form="number"),
    ),
    parameters=("step", "evaluation"),
    doc="Groups of a step; a zero-std group has one reward and teaches nothing.",
)  # fmt: skip

STEPS = Table(
    "steps",
    "visible train step",
    (
        STEP,
        Column("n_samples", "i64", "Samples in the rollout file.", label="Samples", null="the step cannot be read", form="count"),
        Column("n_trained", "i64", "Samples with a train row.", label="Train rows", null="the step cannot be read", form="count"),
        Column("reward_mean", "f64", "Mean raw_reward over samples that have one.", label="Reward", null="no rewards", form="number"),
        Column("reward_std", "f64", "Sample standard deviation of raw_reward.", label="Reward sd", null="fewer than two rewards", form="number"),
        Column("response_length_mean", "f64", "Mean response length over samples.", label="Length", unit="tokens", null="no samples", form="count"),
        Column("truncated_frac", "f64", "Share of samples that hit the length limit.", label="Truncated", null="no samples", form="frac"),
        Column("zero_std_group_frac", "f64", "Share of groups whose rewards are all equal.", label="Zero-std groups", null="no groups", form="frac"),
        Column("mean_abs_lp_diff", "f64", "Mean over samples of their mean_abs_lp_diff.", label="|lp diff|", unit="nats", null="not recorded", form="logprob"),
        Column("mean_entropy", "f64", "Mean over samples of their mean_entropy.", label="Entropy", unit="nats", null="not recorded", form="number"),
        Column("mixed_version_frac", "f64", "Share of samples generated by more than one weight version.", label="Mixed versions", null="no versions recorded", form="frac"),
        Column("staleness_mean", "f64", "Mean staleness over samples.", label="Staleness", unit="versions", null="no numeric versions recorded", form="number"),
        Column("n_rewarded_groups", "i64", "Groups in which a sample has a reward.", label="Groups with rewards", null="the step cannot be read", form="count"),
        Column("n_zero_std_groups", "i64", "Groups whose rewards are all equal.", label="Zero-std groups, counted", null="the step cannot be read", form="count"),
        Column("n_alignment_failed", "i64", "Samples whose context-parallel slices could not be put in place.", label="Not placed", null="the step cannot be read", form="count"),
        Column("state", "str", "ok, broken (the file cannot be read) or writing (not yet complete).", label="State", form="text"),
    ),
    doc="One row a train step: unweighted means over its samples.",
)  # fmt: skip

STEP_AGGREGATES = (
    "reward_mean",
    "reward_std",
    "response_length_mean",
    "truncated_frac",
    "zero_std_group_frac",
    "mean_abs_lp_diff",
    "mean_entropy",
    "mixed_version_frac",
)
"""The eight columns of `steps` that also appear in `metrics` as `dump/<name>`."""

NOTABLE = Table(
    "notable",
    "sample worth reading",
    (
        STEP,
        EVALUATION,
        ROW,
        SAMPLE_INDEX,
        Column("kind", "str", "Kind of reason, a stable word.", form="text"),
        Column("why", "str", "What makes the sample worth reading, in words.", label="Why", form="text"),
        Column("value", "f64", "The number behind it.", label="Value", null="it has none", form="number"),
    ),
    parameters=("step",),
    doc="A short reading list, chosen from the samples table by fixed rules.",
)  # fmt: skip
