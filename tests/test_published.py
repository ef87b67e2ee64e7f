"""A published report in a notebook: the tables of the dump, the files they need and no others, and words for what is wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from builders.dumps import rollout_dump, sample
from builders.hosts import Host, serve, serve_python
from builders.sites import small_run
from builders.told import assert_told

import miles_report
from miles_report.build import BuildOptions, build
from miles_report.errors import NotFoundError, SourceError, StillWritingError, UsageError
from miles_report.schema.tables import PER_STEP
from miles_report.site.run_output import RUN_TABLES

NAMES = sorted(path.name for path in (Path(__file__).parent / "data" / "dumps").iterdir())
OPTIONS = BuildOptions(pages="none", jobs=1)


@pytest.mark.parametrize("name", NAMES)
def test_over_http_it_equals_the_dump(dumps, built, name):
    run = miles_report.open_run(dumps / name)
    with serve(built(name)) as served:
        site = miles_report.open_site(served.url)
        assert (site.steps, site.eval_steps) == (run.steps, run.eval_steps)
        assert dict(site.args) == json.loads(json.dumps(dict(run.args)))
        assert (site.facts.start_ts, site.facts.has_tokenizer) == (
            run.facts.start_ts,
            run.facts.has_tokenizer,
        )
        assert set(site.notices) == set(run.notices)
        for table in (*RUN_TABLES, "gpu_util"):
            assert_told(table, site.table(table), run.table(table))
        for metric in run.table("engine_metrics")["metric"]:
            for apart in (False, True):
                told, true = (
                    one.table("engine_series", metric=metric, per_dp_rank=apart)
                    for one in (site, run)
                )
                assert_told("engine_series", told, true)
        for table in PER_STEP:
            for evaluation in (False, True):
                assert_told(
                    table,
                    site.table(table, evaluation=evaluation),
                    run.table(table, evaluation=evaluation),
                )
        readable = run.table("steps").filter(state="ok")["step"].to_list()
        for step in readable:
            told, true = (one.table("trajectories", step=step) for one in (site, run))
            assert_told("trajectories", told, true)


@pytest.fixture(scope="module")
def agentic(dumps, built):
    """The dump and its report over http."""
    with serve(built("agentic")) as served:
        yield miles_report.open_run(dumps / "agentic"), miles_report.open_site(served.url)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("metrics", {"step_key": "rollout/step"}),
        ("metrics", {"metric": "dump/reward_mean"}),
        ("metrics", {"metric": "no/such"}),
        ("lanes", {"lanes": "g:0-1"}),
        ("phases", {"t0": 1_770_162_000.0, "t1": 1_770_163_000.0}),
        ("phases", {"lanes": "g:1"}),
        ("gpu_util", {"lanes": "g:0,g:2", "points": 40}),
        ("gpu_util", {"t0": 1_770_162_000.0, "t1": 1_770_162_600.0}),
        ("gpu_processes", {"lanes": "all"}),
        ("engine_series", {"metric": "sglang_num_running_reqs", "points": 20}),
        ("engine_series", {"metric": "no_such"}),
        ("step_phases", {}),
        ("notable", {"step": 1}),
        ("samples", {"step": 1}),
        ("samples", {"step": "0-1"}),
        ("samples", {"step": 1, "evaluation": True}),
        ("groups", {"step": [0, 1]}),
        ("tokens", {"step": 0, "row": 3}),
        ("tokens", {"step": 0, "row": 3, "start": 5, "end": 9}),
        ("tokens", {"step": 0, "row": 3, "start": 5}),
        ("tokens", {"step": 0, "row": 3, "end": 100_000}),
        ("tokens", {"step": 1, "row": 0, "evaluation": True}),
        ("conversations", {"step": 0, "row": 8}),
        ("conversations", {"step": 0, "sample": 8}),
        ("texts", {"step": 1, "row": 2}),
        ("trajectories", {"step": "0-1"}),
        ("trajectories", {"step": 0, "row": 4}),
        ("trajectories", {"step": 0, "sample": 8}),
    ],
)
def test_selections_are_those_of_the_dump(agentic, name, parameters):
    run, site = agentic
    assert_told(name, site.table(name, **parameters), run.table(name, **parameters))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sample", {}),
        ("samples", {"row": 1}),
        ("samples", {"step": "x"}),
        ("samples", {"step": 77}),
        ("samples", {"step": 0, "evaluation": True}),
        ("notable", {"step": 77}),
        ("tokens", {"step": 0, "row": 99}),
        ("tokens", {"step": 0, "sample": 99_999}),
        ("tokens", {"step": 0, "row": 1, "sample": 1}),
        ("tokens", {"step": 0, "start": 1}),
        ("tokens", {"step": 0, "row": 3, "start": 9, "end": 9}),
        ("tokens", {"step": 0, "row": 3, "start": 100_000}),
        ("tokens", {"step": 1, "evaluation": True, "sample": 0}),
        ("trajectories", {"step": 0, "t0": 1.0}),
        ("trajectories", {"step": 99}),
        ("texts", {"step": 0, "row": -1}),
    ],
)
def test_errors_are_those_of_the_dump(agentic, name, parameters):
    caught = []
    for source in agentic:
        with pytest.raises((UsageError, NotFoundError)) as error:
            source.table(name, **parameters)
        caught.append(error.value)
    true, told = caught
    assert type(told) is type(true)
    assert str(told).partition(" in ")[0] == str(true).partition(" in ")[0]


def test_a_sample_that_several_rows_share_is_read_by_row(dumps, built):
    run, site = miles_report.open_run(dumps / "agentic"), miles_report.open_site(built("agentic"))
    shared = run.table("samples", step=1, evaluation=True)["sample_index"]
    index = shared.filter(shared.is_duplicated())[0]
    given = {"step": 1, "evaluation": True, "sample": index}
    assert site.table("texts", **given).height == 2
    assert_told("texts", site.table("texts", **given), run.table("texts", **given))
    with pytest.raises(UsageError, match="share sample index"):
        site.table("tokens", **given)


def test_a_table_that_reports_do_not_hold_is_told(agentic):
    _, site = agentic
    for ask in (site.table, site.files):
        with pytest.raises(NotFoundError, match=r"holds no table fleet: ask the dump"):
            ask("fleet")


def test_lifecycles_belong_to_steps(agentic):
    _, site = agentic
    with pytest.raises(UsageError, match="give step"):
        site.table("trajectories")


def test_only_the_slices_of_a_step_are_read(built):
    folder = built("agentic")
    with serve(folder) as served:
        site = miles_report.open_site(served.url)
        opening = [path for path, _ in served.sent]
        assert opening[0] == "index.html"
        assert re.fullmatch(r"data/catalog-\w{16}\.json", opening[1])
        served.sent.clear()
        site.table("samples", step=1)
        catalog = next(json.loads((folder / path).read_bytes()) for path, _ in served.sent)
        assert served.sent[0][0].startswith("data/step-1/catalog-")
        slices = [(part["path"], part["bytes"]) for part in catalog["tables"]["samples"]]
        assert served.sent[1:] == slices
        assert {method for method, _ in served.asked} == {"GET"}


def long_sample(number, length):
    rng = np.random.default_rng(number)
    return sample(
        number,
        response=rng.integers(0, 150_000, length).tolist(),
        rollout_log_probs=(-rng.exponential(0.4, length)).tolist(),
    )


def test_of_a_long_sample_only_the_slices_of_its_positions_are_read(tmp_path):
    rollout_dump(tmp_path / "dump", [long_sample(i, n) for i, n in enumerate((40, 900_000, 30))])
    build(tmp_path / "dump", tmp_path / "site", OPTIONS, clock=lambda: 4e9)
    run = miles_report.open_run(tmp_path / "dump", clock=lambda: 4e9)
    assert len(list((tmp_path / "site/data/step-0").glob("tokens-*"))) > 4
    spans = ({"start": 10, "end": 20}, {"start": 899_990}, {"end": 3}, {"start": 450_000, "end": 450_001})  # fmt: skip
    with serve(tmp_path / "site") as served:
        for given in spans:
            site = miles_report.open_site(served.url)
            served.sent.clear()
            told = site.table("tokens", step=0, row=1, **given)
            assert_told("tokens", told, run.table("tokens", step=0, row=1, **given))
            opened = [path for path, _ in served.sent if "/tokens-" in path]
            assert 1 <= len(opened) <= 3
        with pytest.raises(UsageError, match="is not before end"):
            site.table("tokens", step=0, row=1, start=999_999)


@pytest.mark.parametrize("shape", ["{}", "{}index.html", "{}rollouts/../index.html?x=1#top"])
def test_a_report_is_opened_by_its_address(built, shape):
    with serve(built("basic"), Host(prefix="/a b/run-7/")) as served:
        url = served.url.replace(" ", "%20")
        site = miles_report.open_site(shape.format(url).replace("rollouts/../", ""))
        assert site.table("steps").height == len(site.steps)
        assert miles_report.open_site(url.rstrip("/")).steps == site.steps


def test_a_report_is_opened_by_its_folder(built):
    folder = built("basic")
    for place in (folder, str(folder), folder / "index.html"):
        assert (
            miles_report.open_site(place).steps
            == miles_report.open_run(Path(__file__).parent / "data" / "dumps" / "basic").steps
        )


@pytest.mark.parametrize(
    "host",
    [
        Host(has_index=False, head="refused"),
        Host(head="wrong", plain=("parquet", "json")),
        Host(compresses=True),
        Host(always_compresses=True),
        Host(cut=("*",)),
        Host(failing=("*",)),
    ],
    ids=["bare", "odd types", "may gzip", "gzip", "breaks off", "fails first"],
)
def test_hosts_may_be_odd(dumps, built, host):
    with serve(built("basic"), host) as served:
        told = miles_report.open_site(served.url).table("samples")
    assert_told("samples", told, miles_report.open_run(dumps / "basic").table("samples"))


def test_python_serves_it(dumps, built):
    with serve_python(built("basic")) as url:
        told = miles_report.open_site(url).table("samples")
    assert_told("samples", told, miles_report.open_run(dumps / "basic").table("samples"))


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (Host(missing=("*/samples-*",)), r"it is missing from this report \(the server answered 404\)"),
        (Host(altered=("*/samples-*",)), "it was altered: its hash"),
        (Host(soft_missing=("*/samples-*",)), "bytes where .* were written: it was cut off or altered"),
    ],
)  # fmt: skip
def test_a_slice_that_is_not_what_was_written_is_named(built, host, words):
    with serve(built("agentic"), host) as served:
        site = miles_report.open_site(served.url)
        with pytest.raises(SourceError, match=words) as error:
            site.table("samples", step=0)
        assert error.value.path.startswith(f"{served.url}data/step-0/samples-0-")
        assert site.table("groups", step=0).height == 3


@pytest.mark.parametrize("catalog", ["data/catalog-*", "data/step-0/catalog-*"])
def test_an_altered_catalogue_is_named(built, catalog):
    with (
        serve(built("agentic"), Host(altered=(catalog,))) as served,
        pytest.raises(SourceError, match=r"catalog-\w+\.json: it was altered"),
    ):
        miles_report.open_site(served.url).table("samples", step=0)


def test_in_a_folder_too(built, tmp_path):
    folder = shutil.copytree(built("agentic"), tmp_path / "site")
    (samples,) = folder.glob("data/step-0/samples-*")
    (groups,) = folder.glob("data/step-0/groups-*")
    samples.write_bytes(samples.read_bytes()[:-1] + b"?")
    groups.unlink()
    site = miles_report.open_site(folder)
    with pytest.raises(SourceError, match="it was altered") as error:
        site.table("samples", step=0)
    assert error.value.path == str(samples)
    with pytest.raises(SourceError, match="missing from this report"):
        site.table("groups", step=0)


def test_a_step_without_data_is_told_as_the_dump_tells_it(dumps, built):
    site = miles_report.open_site(built("torn"))
    states = site.table("steps").filter(state="broken")["step"].to_list()
    assert states
    with pytest.raises(SourceError, match="broken when the report was built") as error:
        site.table("samples", step=states[0])
    assert not isinstance(error.value, StillWritingError)
    assert states[0] not in site.table("samples")["step"].unique().to_list()


def rebuilt(dump, site, step):
    small_run(dump, steps=1, first=step)
    build(dump, site, OPTIONS, clock=lambda: 4e9)


def test_a_report_built_anew_is_read_on(tmp_path):
    dump, folder = tmp_path / "dump", tmp_path / "site"
    for step in range(2):
        rebuilt(dump, folder, step)
    with serve(folder) as served:
        site = miles_report.open_site(served.url)
        assert site.steps == [0, 1]
        rebuilt(dump, folder, 2)
        assert site.table("steps")["step"].to_list() == [0, 1]
        rebuilt(dump, folder, 3)
        site = miles_report.open_site(served.url)
        rebuilt(dump, folder, 4)
        rebuilt(dump, folder, 5)
        assert site.table("steps")["step"].to_list() == [0, 1, 2, 3, 4, 5]
        assert site.steps == [0, 1, 2, 3, 4, 5]


def test_a_report_that_lost_a_file_is_not_asked_for_ever(built):
    with serve(built("basic"), Host(missing=("data/steps-*",))) as served:
        site = miles_report.open_site(served.url)
        with pytest.raises(SourceError, match="missing"):
            site.table("steps")
        asked = [path for _, path in served.asked]
        assert len(asked) == len(set(asked)) + 2  # page and catalogue, looked up again
        assert sum("/data/steps-" in path for path in asked) == 1


@pytest.mark.parametrize("place", ["ftp://h/x/", "file:///tmp/x/", "https:///x"])
def test_other_places_are_refused(place):
    with pytest.raises(UsageError, match=r"begins with https:// or http://"):
        miles_report.open_site(place)


def test_where_no_report_lies_is_told(dumps, built, tmp_path):
    with pytest.raises(UsageError, match="There is no report at"):
        miles_report.open_site(tmp_path / "nothing")
    with pytest.raises(UsageError, match="It is a dump: open it with open_run"):
        miles_report.open_site(dumps / "basic")
    (tmp_path / "index.html").write_text("<body><p>hello")
    with pytest.raises(UsageError, match="no report of miles-report"):
        miles_report.open_site(tmp_path)
    with (
        serve(built("basic")) as served,
        pytest.raises(UsageError, match=r"There is no report at .*/elsewhere/index\.html"),
    ):
        miles_report.open_site(served.url + "elsewhere/")
    with pytest.raises(SourceError, match=r"could not be fetched: .*refused"):
        miles_report.open_site(served.url)


def test_a_catalogue_cannot_lead_out_of_the_report(tmp_path):
    (tmp_path / "secret").write_text("x")
    site = tmp_path / "site"
    site.mkdir()
    for path in ("../secret", "/etc/hosts", "file:///etc/hosts", "data/./x", "a\\b", "http://h/x"):
        (site / "index.html").write_text(f'<body data-catalog="{path}">')
        with pytest.raises(SourceError, match="no file of a report"):
            miles_report.open_site(site)


def test_other_engines_are_told_the_files(built):
    folder = built("agentic")
    with serve(folder) as served:
        site, local = miles_report.open_site(served.url), miles_report.open_site(folder)
        for name, given in (
            ("metrics", {}),
            ("samples", {}),
            ("tokens", {"step": 0}),
            ("token_texts", {"step": "0-1"}),
            ("texts", {"step": 1, "evaluation": True}),
            ("trajectories", {"step": [1]}),
        ):
            names = site.files(name, **given)
            assert names
            paths = [name.removeprefix(served.url) for name in names]
            assert all((folder / path).is_file() for path in paths)
            assert local.files(name, **given) == [str(folder / path) for path in paths]
        assert {path.split("/")[-2] for path in site.files("samples")} == {"step-0", "step-1"}
    for wrong in (("sample", {}), ("metrics", {"step": 1}), ("steps", {"evaluation": True})):
        with pytest.raises(UsageError):
            local.files(wrong[0], **wrong[1])
    with pytest.raises(NotFoundError):
        local.files("samples", step=9)
