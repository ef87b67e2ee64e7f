"""What is broken on purpose, and when."""

from __future__ import annotations

FAULTS = {0.35: "SIGSTOP", 0.65: "SIGKILL"}
"""Share of the run after which an engine is broken, and how; the rollout under way is that of the next step."""
