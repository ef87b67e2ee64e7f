"""The command line: thin commands; with `cli_build` the only place that prints, exits and sets up logging."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from miles_report import __version__
from miles_report.cli_build import build_command, check_command, demo_command, preview_command
from miles_report.errors import MilesReportError, NotFoundError, UsageError

FORMATS = ("json", "ndjson", "csv", "parquet")

HELP = {
    "step": "Steps, such as 3 or 0-4,9. Omitted: all visible steps.",
    "evaluation": "Samples of evaluations instead of training.",
    "row": "0-based position of the sample in its rollout file.",
    "sample": "Sample index, as Miles numbers samples.",
    "start": "First token position.",
    "end": "Token position after the last.",
    "t0": "Start of the window, Unix seconds.",
    "t1": "End of the window, Unix seconds.",
    "metric": "One metric key; of a carpet: phase, util, mem_mb, power_w or lifecycle.",
    "lanes": "GPU lanes, such as g:0-7, rank:3, node:10.0.0.1, role:train, every:8, all; joined by commas.",
    "buckets": "Buckets of time, 2 to 4000.",
    "points": "Keep at most this many points of each lane or series, with their extremes.",
    "by": "What makes a lane stand out: lowest_util, slowest_phase:<name> or latest_start:<name>.",
    "top": "How many lanes to name, 1 to 256.",
    "per_dp_rank": "Keep the data-parallel ranks of an engine apart.",
    "step_key": "One axis, such as rollout/step.",
}
KINDS: dict[str, Any] = {"step": str, "row": int, "sample": int, "start": int, "end": int}
KINDS |= {"t0": float, "t1": float, "metric": str, "step_key": str}
KINDS |= {"lanes": str, "buckets": int, "points": int, "by": str, "top": int}
SWITCHES = ("per_dp_rank", "evaluation")


class Commands(click.Group):
    """A group that turns this package's errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; exit 2 for bad use, 1 for input that cannot be trusted."""
        try:
            return super().invoke(ctx)
        except (UsageError, NotFoundError) as error:
            click.echo(f"miles-report: {error}", err=True)
            ctx.exit(2)
        except MilesReportError as error:
            click.echo(f"miles-report: {error}", err=True)
            ctx.exit(1)
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - the reader left; nothing more can be said
            ctx.exit(0)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="miles-report")
@click.option("-v", "--verbose", is_flag=True, help="Log what is read, stage by stage.")
def main(*, verbose: bool) -> None:
    """Compiles a Miles RL post-training dump into a static, self-contained report."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


def table_options(command: Any) -> Any:
    """Adds every table parameter as a flag of the same name."""
    for name in SWITCHES:
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, is_flag=True, default=None, help=HELP[name])(command)
    for name in reversed(KINDS):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, type=KINDS[name], default=None, help=HELP[name])(command)
    return command


@main.command("export")
@click.argument("dump", type=click.Path(path_type=Path))
@click.argument("table")
@table_options
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="json",
    show_default=True,
    help="Form of the output.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write to this file instead of standard output.",
)
def export_command(
    dump: Path, table: str, form: str, output: Path | None, **parameters: Any
) -> None:
    """Writes one TABLE of DUMP as json, ndjson, csv or parquet, never rounded.

    The tables and their columns are those of the report's glossary: run, metrics, steps, samples, groups, tokens,
    conversations, texts, trajectories, lanes, topology, phases, step_phases, gpu_util, gpu_processes, engine_series,
    engine_metrics, fleet, carpet, outliers, advisories, health, incidents, bubbles, data_buffer, mfu, notable, notices.
    """
    from miles_report.export import encode
    from miles_report.run import open_run

    data = encode(open_run(dump).table(table, **parameters), form)
    if output is None:
        click.echo(data, nl=False)
        return
    try:
        output.write_bytes(data)
    except OSError as error:
        raise UsageError(f"Cannot write {output}: {error.strerror or error}.") from error
    click.echo(f"Wrote {output}: {len(data)} bytes", err=True)


for command in (build_command, check_command, demo_command, preview_command):
    main.add_command(command)
