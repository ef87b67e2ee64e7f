"""Page values to HTML: the only place that knows jinja2.

Everything is escaped. Two renderings of the same values are equal, byte for byte.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from miles_report.pages import format as shown

if TYPE_CHECKING:
    from miles_report.charts.render import Figure
    from miles_report.pages.page import Page

CSP = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; worker-src blob:; "
    "connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:"
)
"""What a page may load: its own files, and what its own scripts make."""

_UNSAFE_JSON = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_ABSOLUTE = re.compile(r"https?://|#")
_SCHEME = re.compile(r"[^/?#]*:")


@dataclass(frozen=True)
class RailEntry:
    """One entry of the rail.

    Attributes:
        section: `Page.section` of the pages it stands for.
        label: its words.
        href: from the site root.
        count: how many there are; None to show none.
    """

    section: str
    label: str
    href: str
    count: int | None = None


@dataclass(frozen=True)
class Shell:
    """What surrounds a page.

    Attributes:
        run_name: name of the run or title of the report.
        start: when the run began, ready to show; "" if unknown.
        rail: entries in order.
        version: of miles-report.
        assets: logical name ("report.js") to path from the site root.
        catalog: path of the catalogue this page belongs to; "" if it has none.
        nav_page: whether the page is about the whole run, so that the rail may show counts.
    """

    run_name: str
    start: str = ""
    rail: tuple[RailEntry, ...] = ()
    version: str = ""
    assets: Mapping[str, str] = field(default_factory=dict)
    catalog: str = ""
    nav_page: bool = True


def templates_folder() -> Path:
    """Where the page templates are: in the package, or beside it in a checkout.

    Raises:
        FileNotFoundError: neither is there; the installation is broken.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_templates" / "pages", package.parent / "templates" / "pages"):
        if (folder / "base.html").is_file():
            return folder
    raise FileNotFoundError("the page templates of miles-report are not installed")


def render_body(page: Page) -> str:
    """What stands in the main element of the page; independent of its neighbours.

    Raises:
        jinja2.TemplateError: the template asks for a value that the page does not have.
    """
    template = _environment().get_template(page.template)
    return _text(template.render(**page.values, page=page, root=_root(page.path)))


def render_page(page: Page, body: str, shell: Shell) -> str:
    """The whole document around a body of `render_body`.

    Raises:
        jinja2.TemplateError: `shell.assets` lacks a file that the page needs.
    """
    template = _environment().get_template("base.html")
    values = {"page": page, "body": Markup(body), "shell": shell, "csp": CSP}  # noqa: S704  # ours
    return _text(template.render(**values, root=_root(page.path)))


def figure_file(figure: Figure) -> tuple[str, str]:
    """Path from the site root and text of the spec of a figure, as its page names it."""
    text = json_text(figure.spec)
    return f"charts/{figure.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json", text


def json_text(value: Any) -> str:
    """JSON that is safe inside a script element.

    NaN and the infinities become the strings "NaN", "Infinity" and "-Infinity", which JavaScript's
    `Number` turns back.
    """
    text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _NO_TEXT.sub("\ufffd", text.translate(_UNSAFE_JSON))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _text(html: str) -> str:
    """Without the characters that no HTML document can hold."""
    return _NO_TEXT.sub("\ufffd", html)


def _root(path: str) -> str:
    return "../" * path.count("/")


@jinja2.pass_context
def _href(context: jinja2.runtime.Context, href: str) -> str:
    """A link from the site root, made relative to the page that is rendered."""
    href = str(href)  # raises if a template gives an undefined value
    if _ABSOLUTE.match(href):
        return href
    root = context.get("root")
    if root is None:  # a guess would be a broken link on every page that lies deeper
        raise jinja2.TemplateRuntimeError("A macro that links must be imported `with context`.")
    return f"./{href}" if not root and _SCHEME.match(href) else root + href


def _json_block(value: Any) -> Markup:
    return Markup(json_text(value))  # noqa: S704  # escaped by json_text


def _figure_path(figure: Figure) -> str:
    return figure_file(figure)[0]


@functools.cache
def _environment() -> jinja2.Environment:
    """Compiled templates; they are part of the installation and never change."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates_folder()),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    environment.filters.update(
        href=_href,
        json_block=_json_block,
        figure_path=_figure_path,
        count=shown.count,
        number=shown.number,
        frac=shown.frac,
        logprob=shown.logprob,
        seconds=shown.seconds,
        elapsed=shown.elapsed,
        utc=shown.utc,
        gib=shown.gib,
        size=shown.size,
        signed=shown.signed,
        shown=shown.value,
    )
    return environment
