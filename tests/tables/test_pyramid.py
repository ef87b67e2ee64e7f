from __future__ import annotations

import polars as pl
import pytest
from builders.streams import T
from builders.timeline import open_telemetry, readings, scrape

from miles_report.tables.pyramid import (
    LATE_S,
    MOST_ROWS,
    RAW_TILE_S,
    Series,
    level_widths,
    sampling_interval,
    tiles,
)
from miles_report.tables.telemetry_tiles import engine_tiles, gpu_tiles, lanes_a_tile

SERIES = Series(keys=("lane",), values=("v",), group=lambda _level: pl.col("lane") // 2)


def rows(*samples: tuple) -> pl.DataFrame:
    """(lane, ts, v)."""
    return pl.DataFrame(
        list(samples), schema={"lane": pl.Int64, "ts": pl.Float64, "v": pl.Int64}, orient="row"
    )


def test_buckets_hold_least_mean_and_most_over_samples():
    made = list(
        tiles(
            [
                rows((0, 0.0, 1), (0, 7.9, 5), (0, 8.0, 3)),
                rows((0, 15.0, None), (0, 17.0, 2), (1, 2.0, None)),
            ],
            SERIES,
            widths=(8, 64),
        )
    )
    assert [(tile.level, tile.width_s, tile.group, tile.t0, tile.t1) for tile in made] == [
        (0, 0, 0, 0.0, 4096.0),
        (1, 8, 0, 0.0, 4096.0),
        (2, 64, 0, 0.0, 32768.0),
    ]
    raw, eight, sixty_four = (tile.rows for tile in made)
    assert raw.rows()[0] == (0, 0.0, 1)
    assert raw.height == 6
    assert eight.columns == ["lane", "ts", "v_min", "v_mean", "v_max"]
    assert eight.rows() == [
        (0, 0.0, 1, 3.0, 5),
        (0, 8.0, 3, 3.0, 3),
        (0, 16.0, 2, 2.0, 2),
        (1, 0.0, None, None, None),
    ]
    # 1, 5, 3 and 2 weigh the same: not the mean of the three means
    assert sixty_four.rows() == [(0, 0.0, 1, 2.75, 5), (1, 0.0, None, None, None)]


def test_tiles_are_cut_by_group_and_time_at_multiples_of_their_length():
    start = 10 * RAW_TILE_S
    made = list(
        tiles(
            [
                rows(
                    (0, start - 1.0, 1),
                    (0, start + 0.0, 2),
                    (2, start + 1.0, 3),
                    (1, start + 2.0, 4),
                )
            ],
            SERIES,
            widths=(),
        )
    )
    assert [(tile.t0, tile.group, tile.rows["v"].to_list()) for tile in made] == [
        (start - RAW_TILE_S, 0, [1]),
        (start, 0, [2, 4]),
        (start, 1, [3]),
    ]


def test_complete_stretches_come_out_while_later_ones_are_read():
    blocks = [rows((0, float(k * 2048), k)) for k in range(12)]
    seen: list[int] = []

    def watched():
        for number, block in enumerate(blocks):
            seen.append(number)
            yield block

    made = tiles(watched(), SERIES, widths=(8,), most_held=0)
    first = next(made)
    assert (first.t0, len(seen)) == (
        0.0,
        4,
    )  # 3 x 2048 s less the grace is the first moment behind 4096 s
    assert 3 * 2048 - LATE_S > RAW_TILE_S
    rest = list(made)
    whole = list(tiles(blocks, SERIES, widths=(8,)))
    key = lambda tile: (tile.level, tile.t0)  # noqa: E731 - of a sort
    for got, want in zip(sorted([first, *rest], key=key), sorted(whole, key=key), strict=True):
        assert key(got) == key(want)
        assert got.rows.equals(want.rows)


def test_a_sample_that_comes_very_late_makes_another_tile():
    blocks = [rows((0, 0.0, 1)), rows((0, 9000.0, 2)), rows((0, 1.0, 3)), rows((0, 9001.0, 4))]
    made = [tile for tile in tiles(blocks, SERIES, widths=(), most_held=0) if tile.t0 == 0.0]
    assert [tile.rows["v"].to_list() for tile in made] == [[1], [3]]


def test_a_tile_with_too_many_rows_is_split_by_time():
    many = pl.DataFrame({"lane": 0, "ts": [k / 100 for k in range(MOST_ROWS + 10)], "v": 1})
    made = list(tiles([many], SERIES, widths=()))
    assert [(tile.t0, tile.t1) for tile in made] == [(0.0, 1024.0), (1024.0, 2048.0)]
    assert sum(tile.rows.height for tile in made) == MOST_ROWS + 10


def test_levels_follow_from_how_often_was_sampled():
    assert level_widths(1.0) == (8, 64, 512, 4096)
    assert level_widths(2.0) == (8, 64, 512, 4096)
    assert level_widths(2.1) == (64, 512, 4096)
    assert level_widths(5000.0) == ()
    samples = rows((0, 0.0, 1), (1, 0.5, 1), (0, 2.0, 1), (1, 2.5, 1), (0, 4.0, 1), (0, 9.0, 1))
    assert sampling_interval(samples, ["lane"]) == 2.0
    assert sampling_interval(samples.head(1), ["lane"]) == 1.0
    assert list(tiles([], SERIES)) == []


def test_gpu_tiles_hold_every_sample_once_and_every_extreme(tmp_path):
    utils = [(k * 37) % 101 for k in range(200)]
    run = open_telemetry(
        tmp_path, gpu_util=[one for gpu in range(10) for one in readings("a", gpu, utils, t0=gpu)]
    )
    timeline = run.timeline
    lanes = timeline.lanes
    made = list(gpu_tiles(timeline.gpu_samples(None, None), timeline.coded(), lanes))
    raw = pl.concat([tile.rows for tile in made if tile.level == 0])
    table = run.table("gpu_util")
    assert (
        raw.sort("index", "ts").select("util", "mem_mb", "power_w").rows()
        == table.select("util", "mem_mb", "power_w").rows()
    )
    assert {tile.group for tile in made if tile.level == 0} == {0, 1}
    for level in (1, 2, 3, 4):
        part = pl.concat([tile.rows for tile in made if tile.level == level])
        assert (part["util_min"].min(), part["util_max"].max()) == (0, 100)
    (bucket,) = (
        pl.concat([tile.rows for tile in made if tile.level == 1])
        .filter(index=3, ts=(T + 40) // 8 * 8)
        .to_dicts()
    )
    inside = table.filter(gpu=3).filter(
        pl.col("ts").is_between(bucket["ts"], bucket["ts"] + 8, closed="left")
    )
    assert bucket["util_mean"] == pytest.approx(inside["util"].mean())
    assert bucket["mem_mb_max"] == inside["mem_mb"].max()


def test_engine_tiles_hold_what_the_table_holds_also_across_stretches(tmp_path):
    times = [k * 10.0 for k in range(1300)]
    run = open_telemetry(
        tmp_path,
        engine_series=sorted(
            (
                one
                for rank in ("0", "1")
                for one in (
                    *scrape(
                        "sglang_num_running_reqs", *((t, (t // 10) % 7) for t in times), rank=rank
                    ),
                    *scrape(
                        "sglang_num_requests_total", *((t, t * 3 % 9000) for t in times), rank=rank
                    ),
                    *scrape(
                        "sglang_time_to_first_token_seconds_sum",
                        *((t, t * 2) for t in times),
                        rank=rank,
                    ),
                    *scrape(
                        "sglang_time_to_first_token_seconds_count",
                        *((t, t) for t in times),
                        rank=rank,
                    ),
                )
            ),
            key=lambda one: one.ts,
        ),
    )
    blocks = [
        block
        for frame in run.timeline.engine_blocks(None, None)
        for block in frame.iter_slices(500)
    ]
    made = list(engine_tiles(blocks))
    raw = pl.concat([tile.rows for tile in made if tile.level == 0])
    metrics = run.table("engine_metrics")["metric"].to_list()
    assert set(raw["metric"]) == {tile.group for tile in made} == set(metrics)
    assert len({tile.t0 for tile in made if tile.level == 0}) > 2
    assert {tile.width_s for tile in made} == {0, 64, 512, 4096}
    is_apart = pl.col("dp_rank").is_not_null()
    for metric in metrics:
        for per_dp_rank in (False, True):
            want = run.table("engine_series", metric=metric, per_dp_rank=per_dp_rank)
            got = (
                raw.filter(pl.col("metric") == metric, is_apart if per_dp_rank else ~is_apart)
                .select(want.columns)
                .sort("addr", "engine_type", "dp_rank", "ts")
            )
            assert got.equals(want)


def test_times_beyond_any_calendar_have_their_own_tiles():
    made = list(tiles([rows((0, 1e300, 1), (0, -1e300, 2), (0, 5.0, 3))], SERIES, widths=(8,)))
    assert [tile.rows["v"].to_list() for tile in made if tile.level == 0] == [[2], [3], [1]]


@pytest.mark.parametrize(
    ("interval_s", "lanes"), [(0.1, 8), (1, 8), (1.9, 8), (2, 16), (5, 32), (10, 64), (3600, 64)]
)
def test_rare_samples_of_more_lanes_share_a_tile(interval_s, lanes):
    assert lanes_a_tile(interval_s) == lanes
