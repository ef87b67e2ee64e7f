"""Where pages of steps and samples lie, and what the states of a step are called."""

from __future__ import annotations

STATES = {
    "writing": (
        "This step is still being written",
        "Build the report again in a minute: the file is young and not yet complete.",
    ),
    "broken": (
        "This step cannot be read",
        "Copy the file again or remove it, then build the report again; everything else was built.",
    ),
}


def step_path(step: int, *, evaluation: bool) -> str:
    """Where the page of a step lies, from the site root."""
    return f"rollouts/{'eval' if evaluation else 'step'}-{step}.html"


def step_title(step: int, *, evaluation: bool) -> str:
    """Its heading."""
    return f"Eval of step {step}" if evaluation else f"Step {step}"


def sample_href(step: int, row: int, *, evaluation: bool) -> str:
    """The page that shows a sample."""
    return f"sample.html?step={step}&row={row}" + ("&eval=1" if evaluation else "")
