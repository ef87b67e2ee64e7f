"""The commands that build, check and show a site; `cli` registers them."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from miles_report.errors import BuildError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from miles_report.build import BuildOptions, BuildResult, Progress
    from miles_report.notices import Notice

DIRECTORY = click.Path(path_type=Path)
HELP = {
    "output": "Directory to write: new, empty, or a report made before, which is brought up to date.",
    "steps": "Only these steps, such as 0-20,50.",
    "pages": "Which samples get a page of their own, readable without script and from a file.",
    "max_pages": "At most so many own pages, those of the newest steps first.",
    "jobs": "Worker processes; as many as there are processors if omitted, at most 8.",
    "strict": "Exit with 1 if there is a notice of severity warning or error; the report is built all the same.",
    "title": "Title of the report; the name of the run if omitted.",
    "utilization_overview": "Compute page: shares of all lanes in place of a row a lane above 64 lanes (auto), or always.",
    "every": "Build again every so many seconds, until interrupted.",
}
STAGES = {
    "steps": "Reading steps",
    "run": "Run-wide tables",
    "samples": "Own pages",
    "publish": "Publishing",
}


def _steps(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    from miles_report.tables.parameters import parse_steps

    return None if value is None else tuple(parse_steps(value))


@click.command("build")
@click.argument("dump", type=DIRECTORY)
@click.option("-o", "--output", "site", type=DIRECTORY, required=True, help=HELP["output"])
@click.option("--steps", callback=_steps, metavar="STEPS", help=HELP["steps"])
@click.option(
    "--pages",
    type=click.Choice(("notable", "all", "none")),
    default="notable",
    show_default=True,
    help=HELP["pages"],
)
@click.option("--max-pages", type=click.IntRange(min=0), help=HELP["max_pages"])
@click.option("--jobs", type=click.IntRange(min=1), help=HELP["jobs"])
@click.option("--strict", is_flag=True, help=HELP["strict"])
@click.option("--title", default="", help=HELP["title"])
@click.option(
    "--utilization-overview",
    type=click.Choice(("auto", "always")),
    default="auto",
    show_default=True,
    help=HELP["utilization_overview"],
)
@click.option("--every", type=click.FloatRange(min=1), metavar="SECONDS", help=HELP["every"])
def build_command(
    dump: Path,
    site: Path,
    *,
    strict: bool,
    every: float | None,
    **chosen: Any,
) -> None:
    """Compiles DUMP into a static report; what did not change since the last build is kept."""
    from miles_report.build import BuildOptions

    options = BuildOptions(**chosen)
    if every is None:
        result = _build(dump, site, options)
        if strict and _is_troubled(result):
            click.get_current_context().exit(1)
        return
    with contextlib.suppress(
        KeyboardInterrupt
    ):  # also in the middle of a build: the site is whole at any moment
        while True:
            try:
                _build(dump, site, options)
            except (SourceError, BuildError) as error:  # may be better the next time
                click.echo(f"miles-report: {error}", err=True)
            time.sleep(every)


@click.command("demo")
@click.option("-o", "--output", "site", type=DIRECTORY, required=True, help=HELP["output"])
def demo_command(site: Path) -> None:
    """Builds the report of a small recorded run that comes with this program."""
    from miles_report.build import BuildOptions
    from miles_report.demo import unpacked_demo

    with unpacked_demo() as dump:
        _build(dump, site, BuildOptions(jobs=1))


@click.command("check")
@click.argument("path", type=DIRECTORY)
@click.pass_context
def check_command(context: click.Context, path: Path) -> None:
    """Says what is there, what is missing and what it costs.

    PATH is a dump, or a built report, of which every link and every file's size and hash are verified. Exit code 1 if the
    report is damaged, or if a file of the dump is broken.
    """
    from miles_report.site.places import is_site

    if is_site(path):
        from miles_report.site.verify import verify_site

        report = verify_site(path)
        for problem in report.problems:
            click.echo(f"damaged: {problem}")
        click.echo(report.summary)
        context.exit(1 if report.problems else 0)
    from miles_report.pages.format import plural
    from miles_report.run import open_run

    run = open_run(path)
    notices = run.notices
    _print_notices(notices)
    counts = ((run.steps, "step"), (run.eval_steps, "evaluation"), (notices, "notice"))
    click.echo(f"{path}: {', '.join(plural(len(found), word) for found, word in counts)}")
    context.exit(1 if any(notice.severity == "error" for notice in notices) else 0)


@click.command("preview")
@click.argument("site", type=DIRECTORY)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7788,
    show_default=True,
    help="0: any free port.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
def preview_command(site: Path, port: int, host: str) -> None:
    """Serves SITE on this machine, for looking at it; any static file server does as well."""
    from miles_report.site.preview import open_server

    with open_server(site, host=host, port=port) as server:
        click.echo(f"Serving {site} at http://{host}:{server.server_address[1]}/ (Ctrl-C ends it)")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _build(dump: Path, site: Path, options: BuildOptions) -> BuildResult:
    from miles_report.build import build

    with _progress() as tell:
        result = build(dump, site, options, progress=tell)
    click.echo(_closing_line(site, result))
    return result


def _closing_line(site: Path, result: BuildResult) -> str:
    from miles_report.pages.format import plural, size

    notices = sum(result.notices.values())
    kinds = ", ".join(
        plural(result.notices[name], name)
        for name in ("error", "warning", "info")
        if name in result.notices
    )
    parts = [
        plural(result.pages, "page"),
        f"{plural(result.files, 'file')}, {size(result.bytes)}",
        f"{plural(result.steps_built, 'step')} read"
        + (f", {result.steps_kept} kept" if result.steps_kept else ""),
        plural(notices, "notice") + (f" ({kinds})" if kinds else ""),
        f"{result.seconds:.1f} s",
    ]
    if result.samples_left_out:
        parts.insert(1, f"{plural(result.samples_left_out, 'own page')} left out by --max-pages")
    verb = "Wrote" if result.changed else "Nothing changed in"
    return f"{verb} {site}: {'; '.join(parts)}"


def _is_troubled(result: BuildResult) -> bool:
    return bool(result.notices.get("error") or result.notices.get("warning"))


def _print_notices(notices: Sequence[Notice]) -> None:
    for notice in notices:
        where = f" {notice.source}:" if notice.source else ""
        click.echo(f"{notice.severity}:{where} {notice.message} {notice.remedy}".rstrip())


@contextlib.contextmanager
def _progress() -> Iterator[Progress | None]:
    """A bar on a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Opening", total=None)
        yield lambda stage, done, total: bar.update(
            task, description=STAGES.get(stage, stage), completed=done, total=total
        )
