"""Tables about the run as a whole: itself, logged metrics, step times, notices."""

from __future__ import annotations

from miles_report.schema.columns import Column, Table

RUN = Table(
    "run",
    "run",
    (
        Column("run_name", "str", "Name of the run, from meta.json.", form="text"),
        Column("start_ts", "ts", "Start of the last attempt, from meta.json.", null="no telemetry was recorded", form="ts"),
        Column("t0", "ts", "First record of all streams.", null="no stream has a record", form="ts"),
        Column("t1", "ts", "Last record of all streams.", null="no stream has a record", form="ts"),
        Column("state", "str", "finished after a collector_stopped event that nothing follows, else unknown.", form="text"),
        Column("schema_version", "i64", "Version of the telemetry format.", null="no telemetry was recorded", form="id"),
        Column("args", "json", "The recorded subset of the run's arguments.", form="text"),
        Column("wandb_url", "str", "The run on Weights & Biases.", null="team, project or run id was not recorded", form="text"),
        Column("data_buffer_length", "i64", "Samples queued at the last report.", null="never reported", form="count"),
        Column("has_metrics", "bool", "Whether metrics were logged to the dump."),
        Column("has_timeline", "bool", "Whether phases or GPU samples were recorded."),
        Column("has_engine_series", "bool", "Whether engine metrics were scraped."),
        Column("has_tokenizer", "bool", "Whether the dump holds a tokenizer, so that tokens have text."),
        Column("n_steps", "i64", "Visible train steps.", form="count"),
        Column("n_eval_steps", "i64", "Visible evaluations.", form="count"),
    ),
    doc="One row: what this run is.",
)  # fmt: skip

METRICS = Table(
    "metrics",
    "logged value, in file order",
    (
        Column("ts", "ts", "When it was logged.", null="computed from the dumps", form="ts"),
        Column("attempt", "i64", "0-based attempt: a resumed run starts a new one.", null="computed from the dumps", form="id"),
        Column("step_key", "str", "The axis it was logged against, such as rollout/step.", null="logged without an axis", form="text"),
        Column("step", "i64", "The step on that axis.", null="logged without a step", form="id"),
        Column("key", "str", "Name of the metric; dump/* are computed from the dumps.", form="text"),
        Column("value", "f64", "The value; booleans are 0 or 1.", null="not finite, or text", form="number"),
        Column("nonfinite", "bool", "Whether the value was NaN or infinite."),
        Column("text", "str", "The value where it is text.", null="it is a number", form="text"),
    ),
    parameters=("step_key", "metric"),
    doc="Everything that was logged, as logged, and the eight aggregates of steps as dump/*.",
)  # fmt: skip

BUBBLES = Table(
    "bubbles",
    "step with timing metrics",
    (
        Column("step", "i64", "Rollout step.", null="logged without a step", form="id"),
        Column("ts", "ts", "When it was logged.", form="ts"),
        Column("step_time", "f64", "Wall clock of the step (perf/step_time).", unit="s", null="not logged", form="seconds"),
        Column("wait_ratio", "f64", "Share of the step in which training waited (perf/wait_time_ratio).", null="not logged", form="frac"),
    ),
    doc="How long each step took and how much of it training waited.",
)  # fmt: skip

DATA_BUFFER = Table(
    "data_buffer",
    "report",
    (
        Column("ts", "ts", "When it was reported.", form="ts"),
        Column("length", "i64", "Samples queued.", unit="samples", form="count"),
    ),
    doc="Length of the queue of samples between rollout and training.",
)  # fmt: skip

MFU = Table(
    "mfu",
    "run with MFU logged; no row otherwise",
    (
        Column("latest", "f64", "Last perf/actor_train_mfu.", form="frac"),
        Column("mean", "f64", "Mean without the first value, which holds warm-up.", form="frac"),
        Column("steps", "i64", "Values behind the mean.", form="count"),
        Column("peak", "f64", "The peak it refers to (perf/mfu_peak_tflops).", unit="TFLOP/s", null="not logged", form="number"),
    ),
    doc="Model FLOP utilisation of actor training.",
)  # fmt: skip

NOTICES = Table(
    "notices",
    "thing absent, skipped or broken in the input",
    (
        Column("code", "str", "Kind of trouble.", form="text"),
        Column("severity", "str", "info, warning or error.", form="text"),
        Column("source", "str", "File relative to the dump, with the line where there is one.", form="text"),
        Column("message", "str", "What is wrong and what it costs.", form="text"),
        Column("remedy", "str", "What to do.", form="text"),
    ),
    doc="Nothing is skipped silently: it stands here.",
)  # fmt: skip
