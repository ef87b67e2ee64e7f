"""One build at a time in a site: a lock that the system frees when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

from miles_report.errors import BuildError
from miles_report.site.writer import STATE_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def build_lock(root: Path) -> Iterator[None]:
    """Holds the site for one build; does not wait.

    Args:
        root: the site; its state folder is made if it is not there.

    Raises:
        BuildError: another build is at work in it, or it cannot be written to.
    """
    try:
        (root / STATE_FOLDER).mkdir(parents=True, exist_ok=True)
        file = (root / STATE_FOLDER / "lock").open("w")
    except OSError as cause:
        raise BuildError(f"The output directory cannot be written to: {cause.strerror}.") from cause
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            raise BuildError(
                "Another build is writing to this site; try again when it is done."
            ) from cause
        yield
