"""What of a dump is built, as the caller chose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from miles_report.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from miles_report.sources.files import DumpFiles

OwnPages = Literal["notable", "all", "none"]
"""Which samples get a page of their own besides the dynamic one."""


def select_steps(files: DumpFiles, steps: Iterable[int] | None) -> DumpFiles:
    """The listing with the chosen steps only, train and evaluation.

    Args:
        files: of the whole dump.
        steps: numbers; those the dump does not have are no mistake, since ranges are generous. Null: all.

    Raises:
        NotFoundError: the dump has none of them.
    """
    if steps is None:
        return files
    chosen = set(steps)
    rollouts = {step: stamp for step, stamp in files.rollouts.items() if step in chosen}
    evals = {step: stamp for step, stamp in files.eval_rollouts.items() if step in chosen}
    if not rollouts and not evals:
        raise NotFoundError("The dump has none of the chosen steps.")
    return replace(files, rollouts=rollouts, eval_rollouts=evals)
