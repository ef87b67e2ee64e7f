"""The errors a caller can meet; the command line turns them into one sentence and an exit code."""

from __future__ import annotations


class MilesReportError(Exception):
    """Root of all errors raised on purpose."""


class UsageError(MilesReportError, ValueError):
    """The caller asked for something that makes no sense (exit 2)."""


class NotFoundError(MilesReportError, LookupError):
    """A step, row or sample that this run does not have (exit 2)."""


class SourceError(MilesReportError):
    """An input file that cannot be read or trusted (exit 1).

    Attributes:
        path: the file, as given or relative to the dump.
        at: the place inside it ("byte 120", "line 3", "sample 7"), or "" if the whole file.
        reason: one sentence, what is wrong and what to do.
    """

    def __init__(self, path: str, at: str, reason: str) -> None:
        super().__init__(f"{path}, {at}: {reason}" if at else f"{path}: {reason}")
        self.path = path
        self.at = at
        self.reason = reason

    def __reduce__(self) -> tuple[type[SourceError], tuple[str, str, str]]:
        return type(self), (self.path, self.at, self.reason)


class StillWritingError(SourceError):
    """A file younger than a minute that cannot be read yet."""


class BuildError(MilesReportError):
    """The site could not be written or is not ours (exit 1)."""
