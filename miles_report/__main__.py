"""`python -m miles_report` is the command line."""

from __future__ import annotations

from miles_report.cli import main

main()
