from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from collector import add_arguments, check_options, click_options
from collector.config import CollectorConfig, router_url
from collector.curated import CURATED_ARGS, curated_args
from collector.flags import FLAGS, SGLANG_METRICS
from miles_report.errors import UsageError

DOCS = Path(__file__).parents[2] / "docs" / "collector.md"


def parsed(*argv):
    return add_arguments(argparse.ArgumentParser()).parse_args(argv)


def through_click(*argv):
    seen = {}

    @click.command()
    @click_options
    def command(**options):
        seen.update(options)

    result = CliRunner().invoke(command, argv)
    assert result.exit_code == 0, result.output
    return SimpleNamespace(**seen)


def usable(**more):
    values = vars(parsed("--use-miles-dashboard"))
    return SimpleNamespace(**values | {"dump_details": "/dump", "use_rollout_entropy": True} | more)


def documented_flags():
    """Flag and default of each row of the table in the docs."""
    rows = re.findall(r"^\| `(--[a-z-]+)` \| ([^|]+) \|", DOCS.read_text(), re.MULTILINE)
    return {flag: default.strip().strip("`") for flag, default in rows}


def test_the_docs_name_every_flag_with_its_default():
    words = {"False": "off", "None": "whitelist"}
    assert documented_flags() == {
        flag.name: words.get(str(flag.default), str(flag.default)) for flag in FLAGS
    }


def test_the_defaults_are_those_of_the_seed():
    assert vars(parsed()) == {
        "use_miles_dashboard": False,
        "dashboard_flush_interval": 5.0,
        "dashboard_gpu_sample_interval": 1.0,
        "dashboard_sglang_scrape_interval": 2.0,
        "dashboard_sglang_scrape_mode": "auto",
        "dashboard_sglang_metrics": None,
        "dashboard_forward_prometheus": False,
    }


def test_click_has_the_same_flags_and_defaults():
    assert vars(through_click()) == vars(parsed())


def test_both_parse_alike():
    argv = [
        "--use-miles-dashboard",
        "--dashboard-flush-interval=0.5",
        "--dashboard-gpu-sample-interval=2",
        "--dashboard-sglang-scrape-interval=3",
        "--dashboard-sglang-scrape-mode=direct",
        "--dashboard-sglang-metrics=sglang:a,sglang_b",
        "--dashboard-forward-prometheus",
    ]
    assert vars(through_click(*argv)) == vars(parsed(*argv))
    config = CollectorConfig.from_args(
        usable(**vars(parsed(*argv)), use_prometheus=True), start_ts=5.0
    )
    assert config.dashboard == Path("/dump/dashboard")
    assert (config.start_ts, config.flush_interval_s, config.gpu_sample_interval_s) == (
        5.0,
        0.5,
        2.0,
    )
    assert (config.scrape_interval_s, config.scrape_mode) == (3.0, "direct")
    assert config.metrics == ("sglang_a", "sglang_b")
    assert config.forward_prometheus


def test_without_flags_the_configuration_is_the_default():
    config = CollectorConfig.from_args(usable(), start_ts=5.0)
    assert config == CollectorConfig(Path("/dump"), start_ts=5.0)
    assert config.metrics == SGLANG_METRICS


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"dump_details": None}, "--dump-details"),
        ({"dashboard_flush_interval": 0.0}, "--dashboard-flush-interval"),
        ({"dashboard_flush_interval": float("nan")}, "--dashboard-flush-interval"),
        ({"dashboard_gpu_sample_interval": -1.0}, "--dashboard-gpu-sample-interval"),
        ({"dashboard_sglang_scrape_interval": float("inf")}, "--dashboard-sglang-scrape-interval"),
        ({"dashboard_sglang_scrape_mode": "both"}, "auto, router, direct"),
        ({"dashboard_sglang_metrics": " , "}, "names no metric"),
        ({"dashboard_forward_prometheus": True}, "--use-prometheus"),
    ],
)
def test_what_makes_no_sense_is_refused(more, words):
    with pytest.raises(UsageError, match=re.escape(words)):
        check_options(usable(**more))


def test_nothing_is_checked_while_it_is_off():
    check_options(SimpleNamespace())
    check_options(SimpleNamespace(use_miles_dashboard=False, dashboard_flush_interval=-1))


def test_missing_entropy_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        check_options(usable(use_rollout_entropy=False))
    assert "--use-rollout-entropy" in caplog.text


def test_a_secret_never_gets_into_the_curated_arguments():
    args = SimpleNamespace(
        **dict.fromkeys(CURATED_ARGS, 1),
        wandb_key="s3cret",
        wandb_api_key="s3cret",
        hf_token="s3cret",
        reward_secret="s3cret",
        some_new_argument="s3cret",
    )
    kept = curated_args(args)
    assert list(kept) == list(CURATED_ARGS)
    assert "s3cret" not in repr(kept)
    assert not [name for name in CURATED_ARGS if re.search("key|token|secret|password", name)]


def test_addresses_lose_user_password_and_query():
    kept = curated_args(
        {
            "wandb_host": "https://user:s3cret@wandb.example/path?token=s3cret#s3cret",
            "hf_checkpoint": "s3://id:s3cret@bucket/model",
            "wandb_group": "a@b: c?d",
        }
    )
    assert kept == {
        "wandb_group": "a@b: c?d",
        "wandb_host": "https://wandb.example/path",
        "hf_checkpoint": "s3://bucket/model",
    }


def test_what_is_unknown_is_absent_and_what_is_no_json_is_left_out():
    kept = curated_args(
        SimpleNamespace(
            wandb_team=None,
            eps_clip=float("nan"),
            colocate=True,
            hf_checkpoint=Path("/x"),
            rollout_num_gpus=[1, "2", None],
            global_batch_size={"a": 1},
        )
    )
    assert kept == {"wandb_team": None, "colocate": True, "rollout_num_gpus": [1, "2", None]}


def test_the_name_of_the_run_is_its_group():
    assert CollectorConfig.from_args(usable(wandb_group="g")).run_name == "g"
    assert CollectorConfig.from_args(usable(wandb_group="")).run_name == "miles-run"


def test_the_address_of_the_router():
    assert router_url("10.0.0.1", 3000) == "http://10.0.0.1:3000"
    assert router_url("fe80::1", 3000) == "http://[fe80::1]:3000"
    assert router_url(None, 3000) == router_url("a", None) == ""
