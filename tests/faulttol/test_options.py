from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

import faulttol
from faulttol.flags import FLAGS
from miles_report.errors import UsageError

ROOT = Path(__file__).parents[2]


def parser():
    return faulttol.add_arguments(argparse.ArgumentParser())


def test_miles_flags_have_miles_defaults():
    args = vars(parser().parse_args([]))
    assert {name: args[name] for name in list(args)[:5]} == {
        "use_fault_tolerance": False,
        "rollout_health_check_interval": 30.0,
        "rollout_health_check_timeout": 30.0,
        "rollout_health_check_first_wait": 0,
        "p2p_transfer_timeout": 30.0,
    }
    rule = faulttol.rule_of(parser().parse_args([]))
    assert rule == faulttol.Rule()
    assert rule.failure_threshold == 1
    assert rule.mass_failure_frac is None
    assert faulttol.budget_of(parser().parse_args([])) == faulttol.RestartBudget(None, 0.0)


def test_the_table_in_the_docs_is_the_parser():
    rows = re.findall(
        r"^\| `(--[a-z0-9-]+)` \| (.+?) \| (.+) \|$",
        (ROOT / "docs" / "faulttol.md").read_text(),
        re.MULTILINE,
    )
    declared = []
    for action in parser()._actions[1:]:
        is_off = action.default is None or action.default is False
        default = "off" if is_off else f"`{action.default}`"
        declared.append((action.option_strings[0], default, action.help))
    assert rows == declared


def test_click_and_argparse_agree():
    @click.command()
    @faulttol.click_options
    def command(**values):
        click.echo(repr(values))

    words = ["--use-fault-tolerance", "--rollout-restart-budget", "3"]
    out = CliRunner().invoke(command, words)
    assert out.exit_code == 0, out.output
    assert ast.literal_eval(out.output) == vars(parser().parse_args(words))


def test_values_reach_the_parts():
    args = parser().parse_args(
        [
            "--rollout-health-check-interval",
            "1",
            "--rollout-health-check-timeout",
            "2",
            "--rollout-health-check-first-wait",
            "3",
            "--rollout-health-failure-threshold",
            "4",
            "--rollout-health-mass-failure-fraction",
            "0.5",
            "--rollout-health-first-wait-after-recovery",
            "--rollout-restart-budget",
            "6",
            "--rollout-restart-backoff",
            "7",
            "--p2p-transfer-timeout",
            "8",
            "--p2p-transfer-retries",
            "9",
        ]
    )
    faulttol.check_options(args)
    assert faulttol.rule_of(args) == faulttol.Rule(
        1.0, 2.0, 3.0, failure_threshold=4, mass_failure_frac=0.5, first_wait_after_recovery=True
    )
    assert faulttol.budget_of(args) == faulttol.RestartBudget(6, 7.0)
    pool = faulttol.transfer_pool_of(args)
    assert (pool._timeout_s, pool._n_retries, pool._fall_back) == (8.0, 9, None)


def test_dumper_mode_ends_heartbeats():
    args = parser().parse_args(["--use-fault-tolerance"])
    args.dumper_enable = True
    faulttol.check_options(args)
    assert args.use_fault_tolerance is False
    assert args.rollout_health_check_interval == 1e18
    assert faulttol.RolloutFleet([], use_fault_tolerance=args.use_fault_tolerance).monitors == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rollout_health_check_interval", 0.0),
        ("rollout_health_check_timeout", -1.0),
        ("rollout_health_check_timeout", float("nan")),
        ("rollout_health_check_first_wait", float("inf")),
        ("p2p_transfer_timeout", 0),
        ("rollout_health_failure_threshold", 0),
        ("rollout_health_mass_failure_fraction", 1.5),
        ("rollout_restart_budget", -1),
        ("p2p_transfer_retries", "two"),
    ],
)
def test_values_that_make_no_sense(name, value):
    with pytest.raises(UsageError, match=name.replace("_", "-")):
        faulttol.check_options(SimpleNamespace(**{name: value}))


def test_the_fallback_needs_a_broadcast():
    args = parser().parse_args(["--p2p-transfer-broadcast-fallback"])
    with pytest.raises(UsageError, match="broadcast"):
        faulttol.transfer_pool_of(args)
    assert faulttol.transfer_pool_of(args, broadcast=lambda names: None)._fall_back is not None


def test_every_flag_is_explained():
    assert all(flag.help.endswith(".") for flag in FLAGS)
    assert sum(flag.is_miles for flag in FLAGS) == 5


def test_only_one_module_imports_ray():
    importers = {
        path.name
        for path in (ROOT / "faulttol").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "ray" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ray")
    }
    assert importers == {"ray_backend.py"}
