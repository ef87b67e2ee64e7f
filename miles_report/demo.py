"""The recorded run that comes with the program, unpacked where it can be read.

It is an archive, so that its files get the times recorded in it: a dump fresh from an installation would count as still being
written.
"""

from __future__ import annotations

import contextlib
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import miles_report
from miles_report.errors import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE = "_demo/example.tar.xz"


@contextlib.contextmanager
def unpacked_demo() -> Iterator[Path]:
    """The dump in a directory of its own, which is gone afterwards.

    Raises:
        BuildError: the archive is not installed.
    """
    archive = Path(miles_report.__file__).parent / ARCHIVE
    with tempfile.TemporaryDirectory(prefix="miles-report-demo-") as folder:
        try:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        except (OSError, tarfile.TarError) as cause:
            raise BuildError(
                "The recorded run is missing from this installation: install miles-report again."
            ) from cause
        yield Path(folder)
