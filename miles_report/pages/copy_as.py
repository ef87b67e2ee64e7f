"""The same data elsewhere: the SQL, the command and the Python lines that give what a chart or table shows."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from miles_report.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

SQL_NAMES = {"sample": "sample_index", "metric": "key"}
"""Parameters of tables whose column has another name."""


@dataclass(frozen=True)
class CopyAs:
    """Ways to the rows behind a chart or table.

    DUMP stands for the dump's directory and SITE for the report's address, which only the reader knows. A value that
    only the browser knows is a name in braces: `{row}`; script quotes texts as the language wants.

    Attributes:
        what: the name of the table, shown beside the choices.
        sql: for the query page.
        command: of the shell, on the dump.
        run: Python, on the dump.
        site: Python, on the published report.
    """

    what: str
    sql: str
    command: str
    run: str
    site: str

    def choices(self) -> tuple[tuple[str, str, str], ...]:
        """(form, label, text) of each way."""
        return (
            ("sql", "SQL", self.sql),
            ("command", "Command, on the dump", self.command),
            ("run", "Python, on the dump", self.run),
            ("site", "Python, on this report", self.site),
        )

    def to_json(self) -> dict[str, str]:
        """For a script that fills in what only the browser knows."""
        return asdict(self)


@dataclass(frozen=True)
class Slot:
    """A value that the browser fills in, quoted if it is text.

    Attributes:
        name: in braces in the texts.
    """

    name: str


def copy_as(table: str, *, columns: Sequence[str] = (), **parameters: Any) -> CopyAs:
    """The ways to the rows of a table.

    Args:
        table: of TABLES.
        columns: those that are shown; none: all.
        **parameters: of `Run.table`: integers, booleans, text, or a `Slot`. A step without `evaluation` means training.
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    arguments = ", ".join(
        [
            f'"{table}"',
            *(f"{name}={_python(value)}" for name, value in given.items() if value is not False),
        ]
    )
    chosen = f".select({', '.join(map(_quoted, columns))})" if columns else ""
    call = f".table({arguments}){chosen}"
    return CopyAs(
        what=table,
        sql=_sql(table, columns, given),
        command=_command(table, given),
        run=f'import miles_report\n\nframe = miles_report.open_run("DUMP"){call}',
        site=f'import miles_report\n\nframe = miles_report.open_site("SITE"){call}',
    )


def _sql(table: str, columns: Sequence[str], given: dict[str, Any]) -> str:
    names = {column.name for column in TABLES[table].columns}
    conditions = []
    if "evaluation" in names and (given.get("evaluation") or "step" in given):
        conditions.append("evaluation" if given.get("evaluation") else "NOT evaluation")
    for name, value in given.items():
        if name != "evaluation":
            conditions.append(f"{SQL_NAMES.get(name, name)} = {_sql_value(value)}")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(columns) or '*'} FROM {table}{where}"  # noqa: S608 - shown to the reader, who runs it


def _command(table: str, given: dict[str, Any]) -> str:
    words = ["miles-report", "export", "DUMP", table]
    for name, value in given.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif value is not False:
            words += [flag, _shell_value(value)]
    return " ".join(words)


def _quoted(text: str) -> str:
    """Text as a Python literal in double quotes; the escapes of JSON are those of Python."""
    return json.dumps(text, ensure_ascii=False)


def _python(value: Any) -> str:
    if isinstance(value, Slot):
        return f"{{{value.name}}}"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _sql_value(value: Any) -> str:
    if isinstance(value, Slot):
        return f"{{{value.name}}}"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _shell_value(value: Any) -> str:
    if isinstance(value, Slot):
        return f"{{{value.name}}}"
    return shlex.quote(str(value))
