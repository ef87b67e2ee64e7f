from __future__ import annotations

import random

import polars as pl
import pytest
from builders.streams import T, life, stamp_of

from miles_report.schema.streams import TrajectoryEvent
from miles_report.schema.tables import TABLES
from miles_report.sources.stream_files import read_stream
from miles_report.streams.wire import encode
from miles_report.tables.trajectories import step_window, trajectories_table, unplaced_events


@pytest.fixture
def events(tmp_path):
    """Events as the stream's own reader gives them."""

    def read(*records: TrajectoryEvent) -> pl.DataFrame:
        content = b"".join(encode(record) for record in records)
        return read_stream([stamp_of(tmp_path / "t.jsonl", content)], "trajectories", notices=[])

    return read


def spans(table: pl.DataFrame) -> list[tuple]:
    return table.select("kind", "turn", "t0", "t1", "weight_version").rows()


def test_an_agentic_life(events):
    table = trajectories_table(
        events(
            *life(
                5,
                (1, "attempt_start", -1),
                (2, "gen_start", -1),
                (2, "gen_start", 1, "0"),
                (4, "gen_end", 1, "0", "100"),
                (4, "tool_start", 1, "0"),
                (7, "tool_end", 1, "0"),
                (7, "gen_start", 2, "1"),
                (9, "gen_end", 2, "1"),
                (10, "attempt_end", -1, "1", "completed"),
                group=3,
            )
        )
    )
    assert table.columns == [column.name for column in TABLES["trajectories"].columns]
    assert spans(table) == [
        ("attempt", -1, 1.0, 10.0, "1"),
        ("gen", 1, 2.0, 4.0, "0"),
        ("tool", 1, 4.0, 7.0, "0"),
        ("gen", 2, 7.0, 9.0, "1"),
    ]
    assert table.select(
        "sample_index", "group_index", "status", "first_ts", "last_ts"
    ).unique().rows() == [(5, 3, "completed", 1.0, 10.0)]


def test_a_coarse_generation_ends_with_the_attempt_and_takes_its_version(events):
    table = trajectories_table(
        events(
            *life(
                0,
                (1, "attempt_start", -1),
                (2, "gen_start", -1),
                (9, "attempt_end", -1, "7", "truncated"),
            )
        )
    )
    assert spans(table) == [("attempt", -1, 1.0, 9.0, "7"), ("gen", -1, 2.0, 9.0, "7")]


def test_an_attempt_s_end_closes_what_it_left_open_and_keeps_known_versions(events):
    table = trajectories_table(
        events(
            *life(
                0,
                (1, "attempt_start", -1),
                (2, "gen_start", 1, "3"),
                (3, "gen_end", 1, "3"),
                (3, "tool_start", 1),
                (4, "gen_start", 2, "4"),
                (9, "attempt_end", -1, "5", "aborted"),
            )
        )
    )
    assert spans(table) == [
        ("attempt", -1, 1.0, 9.0, "5"),
        ("gen", 1, 2.0, 3.0, "3"),
        ("tool", 1, 3.0, 9.0, "5"),
        ("gen", 2, 4.0, 9.0, "4"),
    ]


def test_what_never_ended_is_open_and_has_no_status(events):
    table = trajectories_table(
        events(*life(0, (1, "attempt_start", -1), (2, "gen_start", 1), (3, "tool_start", 1)))
    )
    assert spans(table) == [
        ("attempt", -1, 1.0, None, ""),
        ("gen", 1, 2.0, None, ""),
        ("tool", 1, 3.0, None, ""),
    ]
    assert table["status"].unique().to_list() == [""]


def test_an_end_that_finds_no_start_has_no_t0(events):
    table = trajectories_table(
        events(*life(0, (3, "gen_end", 1, "2"), (5, "tool_end", 1), (6, "gen_end", 1, "2")))
    )
    assert spans(table) == [
        ("gen", 1, None, 3.0, "2"),
        ("tool", 1, None, 5.0, ""),
        ("gen", 1, None, 6.0, "2"),
    ]


def test_retries_are_attempts_of_their_own_and_the_last_ended_gives_the_status(events):
    table = trajectories_table(
        events(
            *life(
                0,
                (1, "attempt_start", -1),
                (2, "gen_start", 1, "0"),
                (3, "attempt_end", -1, "0", "aborted"),
                (4, "attempt_start", -1),
                (5, "gen_start", 1, "1"),
                (6, "gen_end", 1, "1"),
                (7, "attempt_end", -1, "1", "completed"),
                (8, "attempt_start", -1),
            )
        )
    )
    assert spans(table) == [
        ("attempt", -1, 1.0, 3.0, "0"),
        ("gen", 1, 2.0, 3.0, "0"),
        ("attempt", -1, 4.0, 7.0, "1"),
        ("gen", 1, 5.0, 6.0, "1"),
        ("attempt", -1, 8.0, None, ""),
    ]
    assert table["status"].unique().to_list() == ["completed"]


def test_a_second_start_without_an_end_replaces_the_first(events):
    table = trajectories_table(
        events(
            *life(
                0,
                (1, "attempt_start", -1),
                (2, "gen_start", 1, "0"),
                (3, "attempt_start", -1),
                (4, "gen_start", 1, "1"),
                (5, "gen_end", 1, "1"),
                (6, "attempt_end", -1, "1", "completed"),
            )
        )
    )
    assert spans(table) == [("attempt", -1, 3.0, 6.0, "1"), ("gen", 1, 4.0, 5.0, "1")]


def test_coarse_generations_go_only_if_turns_are_told_apart(events):
    one = life(
        1, (1, "gen_start", -1), (1, "gen_start", 1), (5, "gen_end", 1), (6, "attempt_end", -1)
    )
    other = life(2, (1, "gen_start", -1), (2, "tool_start", 1), (6, "attempt_end", -1))
    table = trajectories_table(events(*one, *other))
    assert table.select("sample_index", "kind", "turn").rows() == [
        (1, "gen", 1),
        (2, "gen", -1),
        (2, "tool", 1),
    ]


def test_events_are_ordered_by_time_and_ties_by_file_order(events):
    table = trajectories_table(
        events(
            *life(0, (4, "gen_end", 1)),
            *life(0, (2, "gen_start", 1), (4, "gen_start", 2), (4, "gen_end", 2)),
        )
    )
    assert spans(table) == [("gen", 1, 2.0, 4.0, ""), ("gen", 2, 4.0, 4.0, "")]


def test_the_window_is_inclusive_and_cuts_before_pairing(events):
    stream = events(
        *life(0, (1, "gen_start", 1), (2, "gen_end", 1), (3, "gen_start", 2), (4, "gen_end", 2))
    )
    table = trajectories_table(stream, t0=2.0, t1=3.0)
    assert spans(table) == [("gen", 1, None, 2.0, ""), ("gen", 2, 3.0, None, "")]
    assert table.row(0)[-2:] == (2.0, 3.0)


def test_samples_are_selected_and_events_without_one_are_told(events):
    stream = events(
        *life(1, (1, "gen_start", 1), (2, "gen_end", 1)),
        *life(2, (1, "gen_start", 1), (2, "gen_end", 1), group=-1),
        *life(-1, (1, "gen_start", 1)),
    )
    assert trajectories_table(stream)["sample_index"].to_list() == [1, 2]
    assert trajectories_table(stream, samples=[2, 2, 9])["sample_index"].to_list() == [2]
    assert trajectories_table(stream, samples=[])["sample_index"].to_list() == []
    assert trajectories_table(stream, samples=[2])["group_index"].to_list() == [None]
    (notice,) = unplaced_events(stream)
    assert notice.message.startswith("1 lifecycle events")
    assert unplaced_events(stream.filter(pl.col("sample_index") >= 0)) == []


def test_without_events_there_are_no_spans(events):
    table = trajectories_table(events())
    assert table.height == 0
    assert table.columns == [column.name for column in TABLES["trajectories"].columns]


def test_unknown_kinds_are_in_no_span(events):
    table = trajectories_table(
        events(
            *life(0, (1, "paused", 1), (2, "gen_start", 1), (3, "gen_end", 1), (9, "resumed", 1))
        )
    )
    assert spans(table) == [("gen", 1, 2.0, 3.0, "")]
    assert table.row(0)[-2:] == (1.0, 9.0)


def test_a_step_is_looked_for_in_the_four_hours_before_its_first_timing_row():
    bubbles = pl.DataFrame({"step": [0, 1, 1], "ts": [T, T + 50, T + 99]})
    assert step_window(1, bubbles, T + 500) == (T + 50 - 14400, T + 50)
    assert step_window(7, bubbles, T + 500) == (T + 500 - 14400, T + 500)
    assert step_window(7, bubbles, None) is None


def by_hand(records: list[TrajectoryEvent]) -> list[tuple]:
    """The rules of pairing as one loop over one sample."""
    found, open_spans, attempt = [], {}, None
    for event in sorted(records, key=lambda record: record.ts):
        kind, _, edge = event.kind.partition("_")
        if kind == "attempt" and edge == "start":
            attempt = event
        elif kind == "attempt":
            for (span, turn), start in open_spans.items():
                version = start.weight_version or event.weight_version
                found.append((span, turn, start.ts, event.ts, version))
            open_spans = {}
            if attempt is not None:
                version = event.weight_version or attempt.weight_version
                found.append(("attempt", -1, attempt.ts, event.ts, version))
            attempt = None
        elif edge == "start":
            open_spans[kind, event.turn] = event
        else:
            start = open_spans.pop((kind, event.turn), None)
            version = (start.weight_version if start else "") or event.weight_version
            found.append((kind, event.turn, start and start.ts, event.ts, version))
    found += [(kind, turn, e.ts, None, e.weight_version) for (kind, turn), e in open_spans.items()]
    if attempt is not None:
        found.append(("attempt", -1, attempt.ts, None, attempt.weight_version))
    if any(kind == "gen" and turn > 0 for kind, turn, *_ in found):
        found = [span for span in found if span[:2] != ("gen", -1)]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_columns_pair_as_the_loop_does(events, seed):
    rng = random.Random(seed)
    kinds = ["attempt_start", "attempt_end", "gen_start", "gen_end", "tool_start", "tool_end"]
    records = [
        TrajectoryEvent(
            float(rng.randrange(40)),
            rng.choice(kinds),
            sample,
            0,
            rng.choice([-1, 1, 2]),
            rng.choice(["", "0", "1"]),
            rng.choice(["completed", "aborted"]),
        )
        for sample in range(4)
        for _ in range(60)
    ]
    rng.shuffle(records)
    table = trajectories_table(events(*records))
    for sample in range(4):
        mine = spans(table.filter(pl.col("sample_index") == sample))
        wanted = by_hand([record for record in records if record.sample_index == sample])
        assert sorted(mine, key=repr) == sorted(wanted, key=repr)
