"""The Prometheus text of engines into samples of the wanted metrics.

Nothing is guessed: a text that is cut off gives no sample at all, because a sum over half of the ranks would be a wrong number,
and a value that is not finite is left out, because one of them makes a whole file unreadable for Miles's own reader.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from miles_report.schema.streams import EngineSample

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

KEPT_LABELS = ("engine_type", "dp_rank")
WORKER_LABEL = "worker_addr"
"""How sglang's router says which engine a line is of."""

ENGINE_PREFIXES = ("sglang:", "sglang_")
"""What metrics of engines start with; those of the router itself do not."""

MEANS = frozenset({"sglang_token_usage", "sglang_cache_hit_rate", "sglang_kv_transfer_latency_ms"})
"""Samples that differ only in labels that are not kept become one: by mean for these, by sum for the others."""

HISTOGRAM_PARTS = ("_sum", "_count")

NAME_END = re.compile(r"[{\s]")
DP_SUFFIX = re.compile(r"@\d+$")


class ExpositionError(ValueError):
    """A text that is not a whole exposition; the message continues "it …"."""


@dataclass(frozen=True)
class Scrape:
    """What one text holds.

    Attributes:
        has_engine_metrics: whether any metric of an engine is in it, wanted or not.
        samples: of the wanted metrics, those with most labels first.
    """

    has_engine_metrics: bool
    samples: tuple[EngineSample, ...]

    @property
    def addrs(self) -> tuple[str, ...]:
        """The engines they are of, in order of address."""
        return tuple(sorted({sample.addr for sample in self.samples}))


def wanted_names(metrics: Iterable[str]) -> frozenset[str]:
    """Names to look for; the base name of a histogram stands for its sum and count."""
    names = {name.replace(":", "_") for name in metrics}
    return frozenset(names | {name + part for name in names for part in HISTOGRAM_PARTS})


def read_exposition(body: bytes, *, wanted: Collection[str], ts: float, addr: str | None) -> Scrape:
    """The samples in a text.

    Args:
        body: of a 200 answer.
        wanted: names with "_" for ":", see `wanted_names`.
        ts: when it was asked for, Unix seconds.
        addr: the engine it is of; null: each line names its own.

    Raises:
        ExpositionError: it is cut off, or a line of a wanted metric cannot be read.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise ExpositionError("sent something that is no text") from cause
    if text and not text.endswith("\n"):
        if text.lstrip()[:1] == "<":
            return Scrape(has_engine_metrics=False, samples=())
        raise ExpositionError("sent metrics that break off in the middle of a line")
    lines, has_engine_metrics = [], False
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        name = NAME_END.split(line, 1)[0]
        has_engine_metrics |= name.startswith(ENGINE_PREFIXES)
        if name.replace(":", "_") in wanted:
            lines.append(line)
            has_engine_metrics = True
    return Scrape(has_engine_metrics, _fold(_parse(lines), ts, addr))


def engine_addr(worker: str) -> str:
    """The address of an engine as the topology has it, from the router's label."""
    addr = DP_SUFFIX.sub("", worker.strip()).rstrip("/")
    return addr if "://" in addr or not addr else f"http://{addr}"


def _parse(lines: list[str]) -> list[tuple[str, Mapping[str, str], float]]:
    """(name, labels, value) of each line, exact repetitions once."""
    from prometheus_client.parser import (  # noqa: PLC0415 - an extra, wanted only where engines are scraped
        text_string_to_metric_families,
    )

    found: dict[tuple[str, frozenset[tuple[str, str]]], tuple[str, Mapping[str, str], float]] = {}
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                name = sample.name.replace(":", "_")
                labels = dict(sample.labels)
                if WORKER_LABEL in labels:
                    labels[WORKER_LABEL] = engine_addr(labels[WORKER_LABEL])
                found[name, frozenset(labels.items())] = name, labels, float(sample.value)
    except (ValueError, KeyError, IndexError, TypeError) as cause:
        raise ExpositionError("sent metrics with a line that cannot be read") from cause
    return list(found.values())


def _fold(
    parsed: Iterable[tuple[str, Mapping[str, str], float]], ts: float, addr: str | None
) -> tuple[EngineSample, ...]:
    values: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[float]] = defaultdict(list)
    for name, labels, value in parsed:
        of = labels.get(WORKER_LABEL, "") if addr is None else addr
        if of and math.isfinite(value):
            kept = tuple((label, labels[label]) for label in KEPT_LABELS if labels.get(label))
            values[of, name, kept].append(value)
    samples = [
        EngineSample(
            ts, of, name, dict(kept), sum(several) / (len(several) if name in MEANS else 1)
        )
        for (of, name, kept), several in values.items()
    ]
    samples.sort(key=lambda sample: -len(sample.labels))
    return tuple(samples)
