"""The flags for argparse and click, the checks of their values, and what they mean for the parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

from faulttol.budget import RestartBudget
from faulttol.flags import DUMPER_INTERVAL_S, FLAGS
from faulttol.state import Rule
from faulttol.transfers import TransferPool
from miles_report.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection
    from concurrent.futures import Future

    from faulttol.events import HealthLog
    from faulttol.flags import Flag

    F = TypeVar("F", bound=Callable[..., Any])

POSITIVE = ("--rollout-health-check-interval", "--rollout-health-check-timeout", "--p2p-transfer-timeout")  # fmt: skip
FROM_ONE = ("--rollout-health-failure-threshold",)


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the flags as a group of their own; returns the parser."""
    group = parser.add_argument_group(
        "fault tolerance", "health checks and recovery of rollout engines"
    )
    for flag in FLAGS:
        options: dict[str, Any] = {"default": flag.default, "help": flag.help}
        if flag.kind == "switch":
            options["action"] = "store_true"
        else:
            options |= {"type": _type(flag), "metavar": _metavar(flag)}
        group.add_argument(flag.name, **options)
    return parser


def click_options(command: F) -> F:
    """Decorates a click command with the same flags; its parameters have the names that argparse gives them."""
    import click  # noqa: PLC0415 - only trainers with click have it

    for flag in reversed(FLAGS):
        options: dict[str, Any] = {"default": flag.default, "help": flag.help}
        if flag.kind == "switch":
            options["is_flag"] = True
        else:
            options |= {
                "type": _type(flag),
                "show_default": flag.default is not None,
                "metavar": _metavar(flag),
            }
        command = click.option(flag.name, flag.attribute, **options)(command)
    return command


def check_options(args: Any) -> None:
    """Applies dumper mode (`dumper_enable` among the arguments), then checks the values.

    Args:
        args: parsed arguments of the whole command line; those of the trainer may be absent. Dumper mode changes them.

    Raises:
        UsageError: a value makes no sense.
    """
    if getattr(args, "dumper_enable", False):
        force_dumper_mode(args)
    for flag in FLAGS:
        value = getattr(args, flag.attribute, flag.default)
        if flag.kind == "switch" or value is None:
            continue
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise UsageError(f"{flag.name} takes a number, not {value!r}.")
        if value < 0 or (value == 0 and flag.name in POSITIVE):
            raise UsageError(f"{flag.name} takes a positive number of seconds, not {value!r}.")
        if flag.name in FROM_ONE and value < 1:
            raise UsageError(f"{flag.name} is at least 1, not {value!r}.")
        if flag.kind == "fraction" and value > 1:
            raise UsageError(f"{flag.name} is between 0 and 1, not {value!r}.")


def force_dumper_mode(args: Any) -> None:
    """No heartbeats while a run is being dumped: no fault tolerance, and an interval that never ends."""
    args.use_fault_tolerance = False
    args.rollout_health_check_interval = DUMPER_INTERVAL_S


def rule_of(args: Any) -> Rule:
    """The monitors' rule."""
    return Rule(
        interval_s=_value(args, "rollout_health_check_interval"),
        timeout_s=_value(args, "rollout_health_check_timeout"),
        first_wait_s=_value(args, "rollout_health_check_first_wait"),
        failure_threshold=_value(args, "rollout_health_failure_threshold"),
        mass_failure_frac=_value(args, "rollout_health_mass_failure_fraction"),
        first_wait_after_recovery=_value(args, "rollout_health_first_wait_after_recovery"),
    )


def budget_of(args: Any) -> RestartBudget:
    """The groups' budget of restarts."""
    return RestartBudget(
        most=_value(args, "rollout_restart_budget"),
        backoff_s=_value(args, "rollout_restart_backoff"),
    )


def transfer_pool_of(
    args: Any,
    *,
    broadcast: Callable[[Collection[str]], Future[Any]] | None = None,
    log: HealthLog | None = None,
) -> TransferPool:
    """The updater's pool.

    Args:
        args: parsed arguments.
        broadcast: begins a broadcast for the receivers given; used only with `--p2p-transfer-broadcast-fallback`.
        log: is told.

    Raises:
        UsageError: the fallback is on and there is no broadcast.
    """
    falls_back = _value(args, "p2p_transfer_broadcast_fallback")
    if falls_back and broadcast is None:
        raise UsageError("--p2p-transfer-broadcast-fallback needs an updater that can broadcast.")
    return TransferPool(
        timeout_s=_value(args, "p2p_transfer_timeout"),
        n_retries=_value(args, "p2p_transfer_retries"),
        fall_back=broadcast if falls_back else None,
        log=log,
    )


_DEFAULTS = {flag.attribute: flag.default for flag in FLAGS}


def _value(args: Any, attribute: str) -> Any:
    return getattr(args, attribute, _DEFAULTS[attribute])


def _type(flag: Flag) -> type:
    return int if flag.kind == "count" else float


def _metavar(flag: Flag) -> str:
    return {"seconds": "SECONDS", "count": "N", "fraction": "FRACTION"}[flag.kind]
