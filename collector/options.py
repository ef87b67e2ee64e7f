"""The collector's flags for argparse and click, and the checks of their values."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, TypeVar

from collector.flags import FLAGS, SCRAPE_MODES
from miles_report.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

logger = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the flags as a group of their own; returns the parser."""
    group = parser.add_argument_group("miles dashboard", "live telemetry for miles-report")
    for flag in FLAGS:
        options: dict[str, Any] = {"default": flag.default, "help": flag.help}
        if flag.kind == "switch":
            options["action"] = "store_true"
        elif flag.kind == "seconds":
            options |= {"type": float, "metavar": "SECONDS"}
        elif flag.kind == "mode":
            options["choices"] = SCRAPE_MODES
        else:
            options["metavar"] = "NAMES"
        group.add_argument(flag.name, **options)
    return parser


def click_options(command: F) -> F:
    """Decorates a click command with the same flags; its parameters have the names that argparse gives them."""
    import click  # noqa: PLC0415 - only trainers with click have it

    for flag in reversed(FLAGS):
        options: dict[str, Any] = {"default": flag.default, "help": flag.help}
        if flag.kind == "switch":
            options["is_flag"] = True
        elif flag.kind == "mode":
            options |= {"type": click.Choice(SCRAPE_MODES), "show_default": True}
        elif flag.kind == "seconds":
            options |= {"type": float, "show_default": True, "metavar": "SECONDS"}
        command = click.option(flag.name, flag.attribute, **options)(command)
    return command


def check_options(args: Any) -> None:
    """Checks the flags against each other and against the trainer's own.

    Args:
        args: parsed arguments of the whole command line; those of the trainer may be absent.

    Raises:
        UsageError: the telemetry has no place to go, a value makes no sense, or a flag needs another one.
    """
    if not getattr(args, "use_miles_dashboard", False):
        return
    if not getattr(args, "dump_details", None):
        raise UsageError(
            "--use-miles-dashboard needs --dump-details: the telemetry lives in that directory."
        )
    for flag in FLAGS:
        value = getattr(args, flag.attribute, flag.default)
        if flag.kind == "seconds" and not _is_interval(value):
            raise UsageError(f"{flag.name} takes a positive number of seconds, not {value!r}.")
        if flag.kind == "mode" and value not in SCRAPE_MODES:
            raise UsageError(f"{flag.name} is one of {', '.join(SCRAPE_MODES)}, not {value!r}.")
        if flag.kind == "names" and value is not None and not metric_names(str(value)):
            raise UsageError(f"{flag.name} names no metric.")
    if getattr(args, "dashboard_forward_prometheus", False) and not getattr(
        args, "use_prometheus", False
    ):
        raise UsageError("--dashboard-forward-prometheus needs --use-prometheus.")
    if not getattr(args, "use_rollout_entropy", False):
        logger.warning(
            "--use-rollout-entropy is off: per-token entropy will be missing from the report's token views"
        )


def metric_names(text: str) -> tuple[str, ...]:
    """The metrics of a comma separated list, with "_" for ":", each once, in order."""
    names = (name.strip().replace(":", "_") for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))


def _is_interval(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
