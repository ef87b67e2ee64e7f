"""The `lanes` table: every GPU that was seen, by whatever saw it.

The collector's catalogue knows only what passed through it: a run that was resumed with it lacks the lanes of the time
before. So it is completed by what phases, topology and GPU samples show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from miles_report.tables.frames import conform

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from miles_report.sources.meta import CatalogLane

FACTS = pl.Schema(
    {
        "node": pl.String,
        "gpu": pl.Int64,
        "rank": pl.Int64,
        "engine_addr": pl.String,
        "role": pl.String,
    }
)
"""One thing known of a lane a row; null where the row says nothing about it."""


def lanes_table(
    catalog: Sequence[CatalogLane],
    *,
    phase_lanes: pl.DataFrame,
    topology: pl.DataFrame,
    gpu_lanes: pl.DataFrame,
) -> pl.DataFrame:
    """All lanes by node (as text) and GPU.

    Args:
        catalog: the collector's catalogue.
        phase_lanes: node, gpu, rank, role of processes that reported phases.
        topology: the `topology` table.
        gpu_lanes: node and gpu of GPUs that were sampled.

    Returns:
        Columns of the `lanes` table. Only processes of role train give a lane a rank; only engines give it the role rollout.
    """
    trained = phase_lanes.filter(pl.col("role") == "train")
    rank = pl.when(pl.col("rank") >= 0).then("rank").alias("rank")
    facts = [
        _catalog_facts(catalog),
        _facts(phase_lanes.select("node", "gpu")),
        _facts(trained.select("node", "gpu", rank, "role")),
        _facts(engine_lanes(topology).with_columns(role=pl.lit("rollout"))),
        _facts(gpu_lanes.select("node", "gpu")),
    ]
    lanes = (
        pl.concat(facts)
        .group_by("node", "gpu")
        .agg(
            _sorted("rank").alias("ranks"),
            _sorted("engine_addr").alias("engine_addrs"),
            _sorted("role").alias("roles"),
        )
        .sort("node", "gpu")
        .with_row_index("index")
    )
    return conform("lanes", lanes)


def engine_lanes(topology: pl.DataFrame) -> pl.DataFrame:
    """Columns node, gpu and engine_addr of every GPU of every engine, each once.

    Args:
        topology: rows of the `topology` table.
    """
    return (
        topology.select(pl.col("addr").alias("engine_addr"), "gpus")
        .explode("gpus")
        .filter(pl.col("gpus").is_not_null())
        .with_columns(**split_place("gpus"))
        .filter(pl.col("gpu").is_not_null())
        .select("node", "gpu", "engine_addr")
        .unique(maintain_order=True)
    )


def split_place(column: str) -> dict[str, pl.Expr]:
    """Columns node and gpu of texts node:gpu, split at the last colon, since nodes may be IPv6 addresses."""
    parts = pl.col(column).str.extract_groups(r"^(.*):([0-9]+)$")
    return {
        "node": parts.struct.field("1"),
        "gpu": parts.struct.field("2").cast(pl.Int64, strict=False),
    }


def _sorted(name: str) -> pl.Expr:
    return pl.col(name).drop_nulls().unique().sort()


def _facts(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with all columns of `FACTS`."""
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in FACTS.items()
    )


def _catalog_facts(catalog: Iterable[CatalogLane]) -> pl.DataFrame:
    rows: list[tuple[str, int, int | None, str | None, str | None]] = []
    for lane in catalog:
        rows.append((lane.node, lane.gpu, None, None, None))
        rows += [(lane.node, lane.gpu, rank, None, None) for rank in lane.ranks]
        rows += [(lane.node, lane.gpu, None, addr, None) for addr in lane.engine_addrs]
        rows += [(lane.node, lane.gpu, None, None, role) for role in lane.roles]
    return pl.DataFrame(rows, schema=FACTS, orient="row")
