"""Bad input through the real command line: a clear sentence or a notice, the rest is built, nothing lost, nothing executed."""

from __future__ import annotations

import html
import math
import os

import numpy as np
import pytest
import torch
from builders.dumps import (
    aged,
    conversation,
    conversations_file,
    rollout_dump,
    sample,
    train_columns,
    train_dump,
    train_pack,
    write_pt,
)
from builders.reports import invoke, refusal, report_of
from builders.sites import small_run
from builders.streams import T, life, write_meta, write_stream

from miles_report.schema.streams import MetricsRecord

EVIL = "</script><img src=x onerror=alert(1)>\u2028\u2029<!--&\"'"


@pytest.fixture
def dump(tmp_path):
    return tmp_path / "dump"


@pytest.fixture
def site(tmp_path):
    return tmp_path / "site"


def whole_step(dump, samples, step=0, **train):
    rollout_dump(dump, samples, step=step)
    train_dump(dump, samples, step=step, **train)


def unreadable(path, content=b""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return aged(path)


class TestDump:
    def test_that_does_not_exist(self, dump, site):
        assert refusal("build", dump, "-o", site, code=2) == f"There is no directory {dump}."
        assert not site.exists()

    @pytest.mark.parametrize(
        "command", [("build", "-o", "{site}"), ("check",), ("export", "samples")]
    )
    def test_that_is_a_file_or_no_dump_or_has_a_nul_in_its_name(self, dump, site, command):
        name, *more = (word.format(site=site) for word in command)
        dump.write_text("text")
        assert "is not a directory" in refusal(name, dump, *more, code=2)
        dump.unlink()
        dump.mkdir()
        (dump / "photos").mkdir()
        assert "is not a Miles dump: it holds none of" in refusal(name, dump, *more, code=2)
        assert not site.exists()

    @pytest.mark.parametrize("folder", ["rollout_data", "train_data", "dashboard"])
    def test_that_is_empty(self, dump, site, folder):
        (dump / folder).mkdir(parents=True)
        report = report_of(dump, site)
        assert report.steps == {}
        assert report.table("run")["n_steps"].to_list() == [0]
        assert report.notice("no-collector")["severity"] == "info"

    def test_behind_a_link(self, dump, site, tmp_path):
        small_run(dump, steps=1)
        (tmp_path / "link").symlink_to(dump)
        report = report_of(tmp_path / "link", site)
        assert report.steps == {"step-0": "ok"}
        assert "lies in the dump" in refusal("build", tmp_path / "link", "-o", dump / "x", code=2)


class TestSamples:
    def test_none_in_a_step(self, dump, site):
        rollout_dump(dump, [])
        small_run(dump, steps=1, first=1)
        report = report_of(dump, site, "--pages", "all")
        assert report.steps == {"step-0": "ok", "step-1": "ok"}
        assert report.table("steps")["n_samples"].to_list() == [0, 2]
        assert report.table("samples", 0).height == 0

    def test_one_and_groups_of_one(self, dump, site):
        whole_step(dump, [sample(0, reward=0.5)])
        whole_step(dump, [sample(row, group_index=row, reward=1.0) for row in range(3)], 1)
        report = report_of(dump, site, "--pages", "all")
        steps = report.table("steps").to_dicts()
        assert [row["reward_mean"] for row in steps] == [0.5, 1.0]
        assert [row["reward_std"] for row in steps] == [None, 0.0]
        groups = report.table("groups", 1)
        assert groups["n"].to_list() == [1, 1, 1]
        assert groups["reward_std"].to_list() == [None] * 3
        assert groups["zero_std"].to_list() == [True] * 3

    def test_without_tokens(self, dump, site):
        aborted = sample(0, prompt=[], response=[], status="aborted", reward=None)
        whole_step(dump, [aborted, sample(1)], series={})
        rollout_dump(dump, [aborted], step=1)
        report = report_of(dump, site, "--pages", "all")
        assert report.table("samples", 0)["total_length"].to_list() == [0, 5]
        assert report.table("tokens", 1).height == 0
        assert (site / "samples" / "1" / "0.html").is_file()

    def test_rewards_and_log_probs_that_are_not_finite(self, dump, site):
        nan, inf = math.nan, math.inf
        rewards = [nan, inf, -inf, 1.0]
        log_probs = [[nan] * 3, [-inf, 0.0, -1.0], [-1.0] * 3, [0.0] * 3]
        samples = [
            sample(row, group_index=row // 2, reward=reward, rollout_log_probs=log_probs[row])
            for row, reward in enumerate(rewards)
        ]
        whole_step(dump, samples)
        report = report_of(dump, site, "--pages", "all")
        (step,) = report.table("steps").to_dicts()
        assert math.isnan(step["reward_mean"])
        assert math.isnan(step["mean_abs_lp_diff"])
        assert step["zero_std_group_frac"] == 0.0
        told = report.table("tokens", 0).filter(row=0)["rollout_log_probs"].to_list()
        assert [value if value is None else math.isnan(value) for value in told] == [
            None,
            None,
            True,
            True,
            True,
        ]
        assert "not finite" in report.page("rollouts/step-0.html")
        exported = invoke("export", dump, "steps").stdout
        assert "NaN" not in exported
        assert '"reward_mean":null' in exported.replace(" ", "")

    def test_rewards_that_are_dicts_nested_and_mixed(self, dump, site):
        rewards = [
            {"acc": 1.0, "style": {"tone": 0.5, "deep": {"er": {"still": {"deeper": 1}}}}},
            0.25,
            {"acc": "bad", EVIL: 2},
            None,
            {},
        ]
        samples = [sample(row, reward=reward) for row, reward in enumerate(rewards)]
        whole_step(dump, samples)
        report = report_of(dump, site, "--pages", "all")
        table = report.table("samples", 0)
        assert table["reward"].to_list() == [None, 0.25, None, None, None]
        assert table["reward.style.tone"].to_list() == [0.5, None, None, None, None]
        assert table[f"reward.{EVIL}"].to_list() == [None, None, 2.0, None, None]
        assert "nested deeper" in report.notice("unfit-value")["message"]

    def test_indices_that_repeat(self, dump, site):
        twins = [
            sample(0, response=response, group_index=0, reward=float(row))
            for row, response in enumerate(([3, 4], [3, 4, 5], [3, 4, 6]))
        ]
        whole_step(dump, [*twins, sample(1)])
        report = report_of(dump, site, "--pages", "all")
        table = report.table("samples", 0)
        assert table["sample_index"].to_list() == [0, 0, 0, 1]
        assert table["raw_reward"].to_list() == [0.0, 1.0, 2.0, 1.0]
        assert table["mean_entropy"].to_list() == [0.75, 1.0, 1.0, 1.0]
        assert "share" in refusal("export", dump, "tokens", "--step", 0, "--sample", 0, code=2)
        assert invoke("export", dump, "tokens", "--step", 0, "--row", 2).exit_code == 0

    def test_object_arrays_are_not_taken_apart(self, dump, site):
        mixed = np.array([1, None, "x", 2, 3], dtype=object)
        rollout_dump(dump, [sample(0) | {"tokens": mixed}, sample(1)])
        columns = train_columns([sample(0), sample(1)])
        columns["tokens"] = np.array([[1], [2, 3]], dtype=object)
        train_pack(dump, columns)
        report = report_of(dump, site)
        assert report.table("samples", 0)["total_length"].to_list() == [None, 5]
        messages = [row["message"] for row in report.notices if row["code"] == "unfit-value"]
        assert any(message.startswith("tokens of sample 0") for message in messages)


class TestText:
    def test_markup_and_line_separators_stay_text(self, dump, site):
        samples = [
            sample(0)
            | {"prompt": EVIL, "response": EVIL, "label": EVIL, "weight_versions": [EVIL]},
            sample(1)
            | {
                "prompt": [
                    {"role": EVIL, "content": EVIL},
                    {"role": "tool", "name": EVIL, "content": EVIL},
                ]
            },
        ]
        whole_step(dump, samples, **{EVIL: [torch.ones(3)] * 2})
        call = {"id": EVIL, "function": {"name": EVIL, "arguments": EVIL}}
        messages = [
            {"role": EVIL, "content": EVIL, "tool_calls": [call]},
            {"role": "tool", "name": EVIL, "content": EVIL},
        ]
        conversations_file(dump, [conversation(samples[1], messages)])
        write_meta(dump, run_name=EVIL, start_ts=T, args={EVIL: EVIL}, schema_version=1)
        logged = {f"{EVIL}/x": 0.5, "javascript:alert(1)": 1.0, "name": EVIL}
        write_stream(
            dump,
            "metrics",
            [
                MetricsRecord(T + step, axis, step, logged)
                for step in range(3)
                for axis in (EVIL, "rollout/step")
            ],
        )
        write_stream(
            dump,
            "trajectories",
            life(1, (T, "attempt_start", -1), (T + 1, "attempt_end", -1, EVIL, EVIL)),
        )
        (dump / "rollout_data" / "<script>\u2028.pt").write_bytes(b"")
        (dump / "rollout_data" / os.fsdecode(b"\xff\n.pt")).write_bytes(b"")
        (dump / "dashboard" / "<img src=x onerror=alert(1)>.jsonl").write_bytes(b"")
        report = report_of(dump, site, "--pages", "all", "--title", EVIL)
        for path in site.rglob("*.html"):
            text = path.read_text()
            assert "<img src=x" not in text, path
            assert "<script>\u2028" not in text, path
            assert "<!--" not in text, path
        assert html.escape(EVIL, quote=False) in report.page("index.html").replace(
            "&#34;", '"'
        ).replace("&#39;", "'")
        assert report.notice("stray-file", r"rollout_data/\xff\n.pt")
        assert EVIL in report.table("metrics")["step_key"].to_list()
        assert report.table("texts", 0)["response"][0] == EVIL


class TestFiles:
    def test_a_half_written_one_old_and_young(self, dump, site):
        small_run(dump, steps=5)
        for name, age_s in (
            ("rollout_data/1.pt", 3600),
            ("rollout_data/2.pt", 30),
            ("train_data/3_0.pt", 3600),
            ("train_data/4_0.pt", 30),
        ):
            content = (dump / name).read_bytes()
            (dump / name).write_bytes(content[: len(content) // 2])
            aged(dump / name, age_s)
        report = report_of(dump, site)
        assert report.steps == {
            "step-0": "ok",
            "step-1": "broken",
            "step-2": "writing",
            "step-3": "ok",
            "step-4": "ok",
        }
        broken, writing = report.notice("step-broken"), report.notice("step-still-writing")
        assert (broken["source"], broken["severity"]) == ("rollout_data/1.pt", "error")
        assert (writing["source"], writing["severity"]) == ("rollout_data/2.pt", "info")
        assert report.notice("unreadable-train-file")["source"] == "train_data/3_0.pt"
        assert report.notice("unreadable-train-file")["severity"] == "error"
        assert report.notice("still-writing")["source"] == "train_data/4_0.pt"
        assert report.table("steps")["n_samples"].to_list() == [2, None, None, 2, 2]
        assert report.table("samples", 0)["mean_entropy"].to_list() == [1.0, 1.0]
        assert "rollout_data/1.pt" in report.page("rollouts/step-1.html")
        assert refusal("export", dump, "samples", "--step", 1, code=1).startswith(
            "rollout_data/1.pt"
        )
        assert invoke("check", dump).exit_code == 1
        assert invoke("build", dump, "-o", site, "--strict").exit_code == 1

    def test_a_young_train_file_that_never_grows_becomes_an_error(self, dump, site):
        small_run(dump, steps=2)
        path = dump / "train_data" / "1_0.pt"
        path.write_bytes(path.read_bytes()[:100])
        aged(path, 57)
        first = report_of(dump, site, "--pages", "none")
        assert first.notice("still-writing")["severity"] == "info"
        from miles_report.build import BuildOptions, build

        later = path.stat().st_mtime + 61
        build(dump, site, BuildOptions(jobs=1, pages="none"), clock=lambda: later)
        assert first.notice("unreadable-train-file")["severity"] == "error"

    def test_folders_pipes_and_links_named_like_files(self, dump, site):
        small_run(dump, steps=1)
        for name in (
            "rollout_data/1.pt", "train_data/0_1.pt", "dashboard/metrics.jsonl", "dashboard/meta.json", "trajectory/0.jsonl",
            "dashboard/gpu_util/20260203_23.jsonl", "dashboard_columns/rollout_0.parquet", "tokenizer/tokenizer.json",
        ):  # fmt: skip
            (dump / name).mkdir(parents=True)
        os.mkfifo(dump / "rollout_data" / "2.pt")
        (dump / "rollout_data" / "3.pt").symlink_to("/etc/passwd")
        (dump / "rollout_data" / "4.pt").symlink_to("4.pt")
        (dump / "dashboard" / "phases").write_text("")
        report = report_of(dump, site)
        assert report.steps == {"step-0": "ok"}
        named = {row["source"] for row in report.notices if row["severity"] != "info"}
        assert {f"rollout_data/{step}.pt" for step in (1, 2, 3, 4)} <= named
        assert {"train_data/0_1.pt", "dashboard/metrics.jsonl", "dashboard/meta.json"} <= named
        assert report.notice("unknown-entry")["source"] == "dashboard/phases"

    def test_content_that_is_something_else(self, dump, site):
        small_run(dump, steps=1)
        for step, content in enumerate(
            [5, [], {}, {"samples": 5}, {"samples": [1]}, "text", torch.zeros(3), None], 1
        ):
            write_pt(dump / "rollout_data" / f"{step}.pt", content)
        for step, content in enumerate(
            [b"", b"PK\x03\x04", bytes(1000), b"\x80\x02}.", os.urandom(100)], 20
        ):
            unreadable(dump / "rollout_data" / f"{step}.pt", content)
        for rank, content in enumerate([5, {"rollout_data": 5}, {"rollout_data": {}}], 1):
            write_pt(dump / "train_data" / f"0_{rank}.pt", content)
        report = report_of(dump, site)
        assert report.steps["step-0"] == "ok"
        assert [state for step, state in report.steps.items() if step != "step-0"] == [
            "broken"
        ] * 13
        assert report.table("samples", 0)["mean_entropy"].to_list() == [1.0, 1.0]

    def test_streams_with_torn_tails_and_bad_lines(self, dump, site):
        small_run(dump, steps=1)
        write_meta(dump, run_name="r", start_ts=T, args={}, schema_version=1)
        good = f'{{"ts":{T},"step_key":"rollout/step","step":0,"metrics":{{"a/b":1,"a/nan":NaN,"a/inf":-Infinity}}}}\n'.encode()
        metrics = (
            good
            + b'{broken\n\xff\xfe\n\n[1]\nnull\n{"ts":NaN,"step":1,"metrics":{}}\n'
            + good
            + b'{"ts":1'
        )
        (dump / "dashboard" / "metrics.jsonl").write_bytes(metrics)
        for stream in ("phases", "gpu_util", "engine_series", "trajectories", "gpu_processes"):
            unreadable(
                dump / "dashboard" / stream / "20260203_23.jsonl",
                b'{"ts":1770161400.0}\n{broken\n{"ts":1',
            )
        for stream in ("topology", "data_buffer", "health", "brand_new"):
            unreadable(
                dump / "dashboard" / f"{stream}.jsonl", b'{"ts":1770161400.0}\nnull\n{"ts":1'
            )
        conversations_file(dump, ["{broken", "[]", conversation(sample(99), [])], tail='{"sample')
        report = report_of(dump, site)
        bad = {row["source"]: row["message"] for row in report.notices if row["code"] == "bad-line"}
        assert set(bad) == {"dashboard/metrics.jsonl:2", "trajectory/0.jsonl:1"} | {
            f"dashboard/{name}.jsonl:1" for name in ("topology", "data_buffer", "health")
        } | {
            f"dashboard/{name}/20260203_23.jsonl:1"
            for name in ("phases", "gpu_util", "engine_series", "trajectories", "gpu_processes")
        }
        assert bad["dashboard/metrics.jsonl:2"].startswith("5 lines are left out (2, 3, 5, 6, 7)")
        assert report.notice("unknown-entry")["source"] == "dashboard/brand_new.jsonl"
        assert report.notice("conversation-of-no-sample")["source"] == "trajectory/0.jsonl:3"
        assert any(row["code"] == "torn-tail" for row in report.notices)
        values = report.table("metrics").filter(key="a/nan").to_dicts()
        assert [(row["value"], row["nonfinite"]) for row in values] == [(None, True)] * 2

    def test_companions_that_cannot_be_used(self, dump, site):
        small_run(dump, steps=1)
        write_meta(dump, run_name=5, start_ts="x", args=[1], schema_version="x")
        unreadable(dump / "tokenizer" / "tokenizer.json", b"{}")
        unreadable(dump / "dashboard_columns" / "rollout_0.parquet", b"PAR1junk")
        report = report_of(dump, site)
        assert report.notice("unusable-tokenizer")["source"] == "tokenizer/tokenizer.json"
        assert (
            report.notice("token-columns-unfit")["source"] == "dashboard_columns/rollout_0.parquet"
        )
        assert len([row for row in report.notices if row["code"] == "bad-meta"]) == 4
        unreadable(dump / "dashboard" / "meta.json", b"[" * 100_000)
        assert report_of(dump, site).notice("broken-json")["source"] == "dashboard/meta.json"
