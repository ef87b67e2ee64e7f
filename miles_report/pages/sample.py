"""Sample pages: one with everything inside for a chosen sample, one that fetches any sample.

Both run the same script; the own page can also be read without it and from a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from miles_report.pages import sample_conversation, sample_head, sample_text
from miles_report.pages.copy_as import CopyAs, Slot, copy_as
from miles_report.pages.format import count, logprob, number, signed
from miles_report.pages.page import Link, Page

if TYPE_CHECKING:
    from collections.abc import Mapping

DYNAMIC_PATH = "sample.html"


@dataclass(frozen=True)
class Neighbours:
    """Links beside the heading.

    Attributes:
        previous: sample before this one in its group, if there is one.
        place: "4 of 8 in group", "" without a group.
        next: sample after this one in its group.
    """

    previous: Link | None
    place: str
    next: Link | None


def sample_page(payload: Mapping[str, Any]) -> Page:
    """The own page of a sample: everything inside, readable without script.

    Args:
        payload: of `sample_payload.payload`.
    """
    sample = payload["sample"]
    row, step, evaluation = sample["row"], sample["step"], sample["evaluation"]
    tokens = payload["tokens"]
    total = len(tokens["token_id"])
    shown = min(total, sample_text.SHOWN_TOKENS)
    conversation = payload["conversation"]
    return Page(
        path=own_path(step, row, evaluation=evaluation),
        template="sample.html",
        title=title(sample),
        subtitle=f"row {row}",
        crumbs=_crumbs(sample),
        section="rollouts",
        view="sample",
        bundle="sample",
        own_head=True,
        values={
            "dynamic": False,
            "title": title(sample),
            "subtitle": f"row {row}",
            "crumbs": _crumbs(sample),
            "facts": sample_head.facts(payload),
            "neighbours": _neighbours(payload),
            "entries": sample_conversation.entries(conversation["messages"])
            if conversation
            else [],
            "prompt": _prompt_text(payload["texts"]["prompt"]),
            "response": payload["texts"]["response"],
            "runs": sample_text.runs(payload),
            "cut": f"The first {count(shown)} of {count(total)} tokens; the script shows all."
            if shown < total
            else "",
            "extremes": [
                {
                    "position": str(extreme.position),
                    "text": extreme.text,
                    "lp_diff": signed(extreme.lp_diff, logprob),
                    "ratio": number(extreme.ratio),
                }
                for extreme in sample_text.extremes(payload)
            ],
            "copies": tuple(_copies(step, row, evaluation=evaluation).values()),
        },
        data={"payload": payload, "copies": _browser_copies()},
    )


def dynamic_page() -> Page:
    """The page of any sample: `sample.html?step=12&row=345`, with `&eval=1` for an evaluation."""
    return Page(
        path=DYNAMIC_PATH,
        template="sample.html",
        title="Sample",
        section="rollouts",
        view="sample",
        bundle="sample",
        own_head=True,
        values={"dynamic": True, "title": "Sample", "subtitle": "", "crumbs": ()},
        data={"copies": _browser_copies()},
    )


def _copies(step: int | Slot, row: int | Slot, *, evaluation: bool) -> dict[str, CopyAs]:
    """Ways to the data of each tab."""
    tables = {"conversation": "conversations", "tokens": "tokens", "raw": "texts"}
    return {
        tab: copy_as(table, step=step, row=row, evaluation=evaluation)
        for tab, table in tables.items()
    }


def _browser_copies() -> dict[str, dict[str, dict[str, str]]]:
    """The same for the script, which knows step and row."""
    return {
        kind: {
            tab: way.to_json()
            for tab, way in _copies(Slot("step"), Slot("row"), evaluation=kind == "eval").items()
        }
        for kind in ("train", "eval")
    }


def own_path(step: int, row: int, *, evaluation: bool) -> str:
    """Where the own page of a sample lies, from the site root."""
    return f"samples/{'eval-' if evaluation else ''}{step}/{row}.html"


def dynamic_href(step: int, row: int, *, evaluation: bool) -> str:
    """Link to any sample, from the site root."""
    return f"{DYNAMIC_PATH}?step={step}&row={row}{'&eval=1' if evaluation else ''}"


def title(sample: Mapping[str, Any]) -> str:
    """The heading: the sample's index, or its row where it has none."""
    index = sample["sample_index"]
    return f"Sample {index}" if index is not None else f"Row {sample['row']}"


def _crumbs(sample: Mapping[str, Any]) -> tuple[Link, ...]:
    step, evaluation = sample["step"], sample["evaluation"]
    name = f"eval-{step}" if evaluation else f"step-{step}"
    page = f"rollouts/{name}.html"
    crumbs = [Link(f"Eval at step {step}" if evaluation else f"Step {step}", page)]
    if sample["group_index"] is not None:
        crumbs.append(
            Link(
                f"Group {sample['group_index']}",
                f"{page}?tab=groups&group={sample['group_index']}",
            )
        )
    return tuple(crumbs)


def _neighbours(payload: Mapping[str, Any]) -> Neighbours:
    sample, group = payload["sample"], payload["group"]
    rows = [sibling["row"] for sibling in group]
    if not rows:
        return Neighbours(None, "", None)
    place = rows.index(sample["row"])
    before = group[place - 1] if place > 0 else None
    after = group[place + 1] if place + 1 < len(group) else None
    return Neighbours(
        _sibling_link(sample, before),
        f"{place + 1} of {len(group)} in group",
        _sibling_link(sample, after),
    )


def _sibling_link(sample: Mapping[str, Any], sibling: Mapping[str, Any] | None) -> Link | None:
    if sibling is None:
        return None
    index = sibling["sample_index"]
    words = str(index) if index is not None else f"row {sibling['row']}"
    href = dynamic_href(sample["step"], sibling["row"], evaluation=sample["evaluation"])
    return Link(words, href)


def _prompt_text(prompt: Any) -> tuple[sample_conversation.Entry, ...]:
    """The recorded prompt as messages; plain text is one without a role."""
    return tuple(sample_conversation.entries(prompt))
