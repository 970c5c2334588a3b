"""The table of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from .judge import VERDICTS, Finding
from .mutate import Mutant
from .sweep import Outcome
from .tables import KINDS

COLUMNS = {
    "mutants": "all",
    "caught": "caught",
    "separated": "≥10",
    "narrow": "<10",
    "raised": "error",
    "form": "form",
    "hung": "hung",
    "equivalent": "equal",
    "survivors": "alive",
}
CAPTION = """≥10, <10: so many budgets · error: an exception · form: shape or dtype
equal: listed in equivalent.toml · alive: no case tells it from the op"""


def print_outcome(console: Console, outcome: Outcome, *, title: str) -> None:
    """Print the survivors, what is wrong with the list of equivalents, and the table by kind and module."""
    for what, keys in (
        ("survived", outcome.survivors),
        ("listed as equivalent, but caught", outcome.caught_after_all),
        ("listed as equivalent, but not a mutant", outcome.stale),
    ):
        if keys:
            console.print(f"\n[bold]{what}[/bold]")
        for key in keys:
            console.print(f"  {key}", markup=False, soft_wrap=True)
    table = Table(title=title, title_justify="left", caption=CAPTION, caption_justify="left", box=SIMPLE, padding=0)
    table.add_column("", no_wrap=True)
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    by_module: dict[str, Counter[str]] = {}
    for key, (mutant, finding) in outcome.found.items():
        counted = _columns(finding, key in outcome.equivalent)
        by_kind[mutant.kind].update(counted)
        by_module.setdefault(mutant.module.removesuffix(".py"), Counter()).update(counted)
    _rows(table, by_kind.items())
    _rows(table, by_module.items())
    _rows(table, [("all", sum(by_kind.values(), Counter()))])
    console.print(table)


def _columns(finding: Finding, equivalent: bool) -> list[str]:
    if finding.verdict == "survived":
        return ["mutants", "equivalent" if equivalent else "survivors"]
    return ["mutants", "caught", finding.verdict]


def _rows(table: Table, counts: Iterable[tuple[str, Counter[str]]]) -> None:
    for name, count in counts:
        if count["mutants"]:
            style = "bold red" if count["survivors"] else None
            table.add_row(name, *(str(count[column]) for column in COLUMNS), style=style)
    table.add_section()


def record(outcome: Outcome) -> list[dict[str, object]]:
    """Return every mutant and what became of it, for a JSON file."""
    return [_entry(key, *pair, key in outcome.equivalent) for key, pair in outcome.found.items()]


def _entry(key: str, mutant: Mutant, finding: Finding, equivalent: bool) -> dict[str, object]:
    assert finding.verdict in VERDICTS
    return {
        "mutant": key,
        "kind": mutant.kind,
        "verdict": finding.verdict,
        "equivalent": equivalent,
        "budget": finding.budget if finding.budget < float("inf") else "inf",
        "case": finding.case,
        "output": finding.output,
    }
