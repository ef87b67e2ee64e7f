"""Compiles a Miles dump directory into a static, self-contained report.

```python
import miles_report
run = miles_report.open_run("/dump")
samples = run.table("samples", step=0)      # polars.DataFrame, columns as in the glossary
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miles_report.run import Run, open_run

__all__ = ["Run", "__version__", "open_run"]
__version__ = "0.1.0"

_HOMES = {"Run": "miles_report.run", "open_run": "miles_report.run"}


def __getattr__(name: str) -> Any:
    """Imports on first use, so that `import miles_report` and `--help` stay instant."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
