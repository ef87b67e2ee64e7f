"""Compiles a Miles dump directory into a static, self-contained report.

```python
import miles_report
run = miles_report.open_run("/dump")
samples = run.table("samples", step=0)      # polars.DataFrame, columns as in the glossary
site = miles_report.open_site("https://…")  # the same tables of a published report
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from miles_report.published import Site, open_site
    from miles_report.run import Run, open_run

__all__ = ["Run", "Site", "__version__", "open_run", "open_site"]
__version__ = "0.1.0"

_HOMES = {
    "Run": "miles_report.run",
    "Site": "miles_report.published",
    "open_run": "miles_report.run",
    "open_site": "miles_report.published",
}


def __getattr__(name: str) -> Any:
    """Imports on first use, so that `import miles_report` and `--help` stay instant."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
