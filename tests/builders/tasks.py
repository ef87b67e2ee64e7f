"""A workshop for tests of the workers; it has to be importable by them."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from miles_report.errors import SourceError


@dataclass(frozen=True)
class Squares:
    """Squares numbers; words make it fail in different ways."""

    def open(self):
        return _square


def _square(task):
    if task == "zero":
        return 1 // 0
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "source error":
        raise SourceError("a.pt", "byte 3", "torn")
    return task * task
