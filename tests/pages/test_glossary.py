from __future__ import annotations

from miles_report.pages.glossary import glossary_page
from miles_report.schema.tables import TABLES
from miles_report.site.html import render_body


def test_every_column_of_every_table_has_an_anchor_and_its_words():
    body = render_body(glossary_page())
    missing = [
        f"{table.name}.{column.name}"
        for table in TABLES.values()
        for column in table.columns
        if f'id="{table.name}.{column.name}"' not in body
    ]
    assert missing == []


def test_units_absence_and_rounding_are_told():
    entries = {entry.name: entry for entry in glossary_page().values["entries"]}
    rows = {row.name: row for row in entries["samples"].rows}
    assert rows["mean_entropy"].kind == "number, nats"
    assert rows["eval_set"].null == "a train sample"
    assert rows["row"].null is None
    tokens = {row.name: row for row in entries["tokens"].rows}
    assert tokens["train_log_probs"].rounding == "to multiples of 1/16\u202f384"
    assert tokens["position"].rounding == ""
