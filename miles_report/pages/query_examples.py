"""Questions for the query page, as SQL that runs on any run which has their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True)
class Example:
    """One question with the query that answers it.

    Attributes:
        question: shown.
        sql: the query; begins with the question as a comment.
    """

    question: str
    sql: str


@dataclass(frozen=True)
class _Question:
    """A question and the tables that it needs; `{step}` in the query stands for the newest train step."""

    words: str
    tables: tuple[str, ...]
    sql: str


_QUESTIONS = (
    _Question(
        "How does the reward depend on the length of the response?",
        ("samples",),
        """
SELECT min(response_length) AS from_length, count(*) AS samples,
       avg(reward_value) AS reward_value, avg(truncated::int) AS truncated_frac
FROM (
  SELECT response_length, reward_value, truncated, ntile(10) OVER (ORDER BY response_length) AS tenth
  FROM samples
  WHERE NOT evaluation
)
GROUP BY tenth ORDER BY from_length
""",
    ),
    _Question(
        "How far after a tool result do engine and trainer disagree?",
        ("tokens", "conversations"),
        """
SELECT least(position - last_masked, 12) AS after_tool,
       avg(abs(lp_diff)) AS mean_abs_lp_diff,
       count(*) AS tokens,
       avg((imp_ratio NOT BETWEEN 0.8 AND 1.28)::int) AS out_of_clip
FROM (
  SELECT position, loss_mask, lp_diff, imp_ratio,
         max(position) FILTER (WHERE loss_mask = 0) OVER (PARTITION BY row ORDER BY position) AS last_masked
  FROM tokens
  WHERE step = {step} AND NOT evaluation AND in_response
)
WHERE loss_mask = 1 AND last_masked IS NOT NULL
GROUP BY 1 ORDER BY 1
""",
    ),
    _Question(
        "Which prompts never got a reward?",
        ("samples", "texts"),
        """
SELECT t.prompt, count(*) AS samples, list(DISTINCT s.step ORDER BY s.step) AS steps,
       max(s.reward_value) AS best_reward, avg(s.response_length) AS response_length
FROM samples s JOIN texts t USING (step, evaluation, row)
WHERE NOT evaluation
GROUP BY t.prompt
HAVING max(s.reward_value) <= 0
ORDER BY samples DESC, t.prompt
LIMIT 100
""",
    ),
    _Question(
        "Which tokens exceed a ratio of 2, and what precedes them?",
        ("tokens",),
        """
SELECT step, row, position, imp_ratio, before, token_text
FROM (
  SELECT step, row, position, imp_ratio, token_text,
         string_agg(token_text, '') OVER (
           PARTITION BY row ORDER BY position ROWS BETWEEN 12 PRECEDING AND 1 PRECEDING) AS before
  FROM tokens
  WHERE step = {step} AND NOT evaluation
)
WHERE imp_ratio > 2 OR imp_ratio < 0.5
ORDER BY abs(ln(imp_ratio)) DESC
LIMIT 100
""",
    ),
    _Question(
        "How many groups teach nothing, over the steps?",
        ("groups",),
        """
SELECT step, avg(zero_std::int) AS zero_std_group_frac, count(*) AS groups
FROM groups
WHERE NOT evaluation
GROUP BY step ORDER BY step
""",
    ),
    _Question(
        "Are groups of mixed reward the more uncertain ones?",
        ("groups", "samples", "tokens"),
        """
SELECT group_index, any_value(g.reward_std) AS reward_std, count(DISTINCT row) AS samples,
       count(*) AS tokens, avg(t.entropy) AS mean_entropy, avg(abs(t.lp_diff)) AS mean_abs_lp_diff
FROM tokens t
JOIN samples s USING (step, evaluation, row)
JOIN groups g USING (step, evaluation, group_index)
WHERE step = {step} AND NOT evaluation AND t.loss_mask = 1
GROUP BY group_index ORDER BY reward_std DESC
""",
    ),
    _Question(
        "Which token texts are out of clip most often?",
        ("tokens", "token_texts"),
        """
SELECT token_text, count(*) AS tokens, avg((imp_ratio NOT BETWEEN 0.8 AND 1.28)::int) AS out_of_clip,
       avg(lp_diff) AS lp_diff
FROM tokens
WHERE step = {step} AND NOT evaluation AND loss_mask = 1
GROUP BY token_text
HAVING count(*) >= 20
ORDER BY out_of_clip DESC, tokens DESC
LIMIT 50
""",
    ),
    _Question(
        "Which engines are the slowest, hour by hour?",
        ("engine_series",),
        """
SELECT utc(floor(ts / 3600) * 3600) AS hour, addr, avg(value) AS tokens_per_s
FROM engine_series
WHERE metric = 'sglang_gen_throughput' AND dp_rank IS NULL
GROUP BY hour, addr ORDER BY hour, tokens_per_s
""",
    ),
    _Question(
        "Which tools took longest?",
        ("trajectories",),
        """
SELECT step, sample_index, turn, t1 - t0 AS seconds, utc(t0) AS since
FROM trajectories
WHERE kind = 'tool' AND t1 IS NOT NULL
ORDER BY seconds DESC
LIMIT 50
""",
    ),
    _Question(
        "Does staleness cost agreement, or the prefix cache?",
        ("samples",),
        """
SELECT staleness, count(*) AS samples, avg(mean_abs_lp_diff) AS mean_abs_lp_diff,
       avg(prefix_cache_hit_rate) AS prefix_cache_hit_rate, avg(reward_value) AS reward_value
FROM samples
WHERE NOT evaluation
GROUP BY staleness ORDER BY staleness
""",
    ),
    _Question(
        "How did samples end, step by step?",
        ("samples",),
        """
SELECT step, count(*) AS samples,
       count(*) FILTER (WHERE status = 'completed') AS completed,
       count(*) FILTER (WHERE status = 'truncated') AS truncated,
       count(*) FILTER (WHERE status NOT IN ('completed', 'truncated')) AS otherwise
FROM samples
WHERE NOT evaluation
GROUP BY step ORDER BY step
""",
    ),
    _Question(
        "Where do siblings of one prompt differ most?",
        ("groups",),
        """
SELECT step, group_index, n, reward_mean, reward_std, response_length_mean
FROM groups
WHERE NOT evaluation AND reward_std IS NOT NULL
ORDER BY reward_std DESC
LIMIT 50
""",
    ),
    _Question(
        "Which steps were slow, and how much of them was waiting?",
        ("bubbles",),
        """
SELECT step, step_time, wait_ratio, step_time * wait_ratio AS waited
FROM bubbles
ORDER BY step
""",
    ),
    _Question(
        "Which keys were logged, and how did they change?",
        ("metrics",),
        """
SELECT key, count(*) AS n, arg_min(value, step) AS first, arg_max(value, step) AS last, min(value), max(value)
FROM metrics
WHERE value IS NOT NULL
GROUP BY key ORDER BY key
""",
    ),
)


def examples(tables: Collection[str], newest_step: int | None) -> tuple[Example, ...]:
    """The questions that a run can answer.

    Args:
        tables: names of those that have rows.
        newest_step: newest train step that could be read; null without any.
    """
    return tuple(
        Example(one.words, _text(one, newest_step))
        for one in _QUESTIONS
        if set(one.tables) <= set(tables) and (newest_step is not None or "{step}" not in one.sql)
    )


def _text(question: _Question, newest_step: int | None) -> str:
    words = question.words[0].lower() + question.words[1:]
    return f"-- {words}\n{question.sql.strip()}".replace("{step}", str(newest_step))
