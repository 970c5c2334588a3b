"""The table of the report in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from .figures import short
from .tally import Tally

RARE = {"suspicious": "yellow", "unsupported": "dim", "known": "yellow"}
HEADINGS = {"known": "known failure"}


def summary(rows: Sequence[Tally]) -> Table:
    """Return the table by op and profile; what never occurs has no column, and what is not claimed no row."""
    counted = {"cases": "", "passed": "green", "failed": "bold red"} | RARE
    shown = [name for name in counted if name not in RARE or any(getattr(row, name) for row in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0 if len(shown) > 3 else 1))
    table.add_column("op", no_wrap=True)
    table.add_column("profile", no_wrap=True)
    for heading in (*(HEADINGS.get(name, name) for name in shown), "worst budget", "× honest"):
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())))
    above = ""
    for row in rows:
        if not row.cases:
            continue
        counts = [Text(str(getattr(row, name) or "·"), style=counted[name]) for name in shown]
        op = row.op if row.op != above else ""
        table.add_row(op, row.profile, *counts, short(row.budget), short(row.honest))
        above = row.op
    return table
