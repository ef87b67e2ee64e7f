"""What is absent, skipped or broken in the input, told to the reader instead of hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]

STILL_WRITING = "still-writing"
"""Code of notices about files that may look different at the next build, unchanged as they are."""


@dataclass(frozen=True, order=True)
class Notice:
    """One thing the reader should know about the input.

    Attributes:
        code: stable kebab-case name of the kind of trouble.
        severity: info (absent, by choice), warning (something was lost), error (a file is broken).
        source: file or folder relative to the dump, with the line where there is one; "" for the dump.
        message: what is wrong and what it costs the reader.
        remedy: what to do about it.
    """

    code: str
    severity: Severity
    source: str
    message: str
    remedy: str
