"""The report in the terminal: what fails, by how much, and why."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.text import Text

from .causes import Cause, by_cause, cause, failures
from .compare import Comparison
from .ending import ending
from .figures import apart, plural, short
from .table import summary
from .tally import tallies
from .verdict import Verdict, claimed

SHOWN = 3  # cases a cause, with their figures
LISTED = 6  # more of them by name alone
PRINTED = 3  # last lines of what an implementation printed
WIDE = 200  # characters of such a line


def print_report(
    console: Console, verdicts: Sequence[Verdict], *, title: str, strict: bool = False, breaches: Sequence[str] = ()
) -> None:
    """Print the table, the failures by op and cause, what else broke the protocol, and the closing line."""
    console.print(Text(title, style="bold"))
    console.print(summary(tallies(verdicts, strict)))
    asked = claimed(verdicts)
    if others := [v for v in verdicts if v.status == "not claimed"]:
        ops = plural(len({v.op for v in others}), "op")
        _line(console, Text(f"not claimed: {plural(len(others), 'case')} of {ops}", style="dim"))
        console.print()
    for op, group in groupby(failures(asked, strict), key=lambda v: v.op):
        failed, total = list(group), sum(v.op == op for v in asked)
        _line(console, Text.assemble((op, "bold"), f"  {len(failed)} of {total} fail"))
        for why, some in by_cause(failed).items():
            print_cause(console, why, some)
        console.print()
    for line in ending(verdicts, strict, breaches):
        _line(console, line)


def plain(verdict: Verdict, width: int = 100) -> str:
    """Return the report of one failing case as plain text."""
    stream = io.StringIO()
    print_cause(Console(file=stream, width=width, color_system=None), cause(verdict), [verdict])
    return stream.getvalue()


def print_cause(console: Console, why: Cause, verdicts: Sequence[Verdict]) -> None:
    """Print one cause, and the first of the cases that fail for it."""
    cases: dict[str, list[Verdict]] = {}
    for v in verdicts:
        cases.setdefault(v.id, []).append(v)
    console.print()
    remark = f"  {why.remark}" if why.remark else ""
    _line(console, Text.assemble(("✗ ", "red"), (why.name, "bold red" if why.known else "bold"), remark), 2)
    for label, fact in why.facts:
        _line(console, Text(fact), 4, Text(f"{label:<9}", style="dim"))
    for some in list(cases.values())[:SHOWN]:
        console.print()
        _print_case(console, some)
    more = list(cases)[SHOWN:]
    if more:
        console.print()
        listed = ", ".join(more[:LISTED]) + (", …" if len(more) > LISTED else "")
        _line(console, Text(f"… and {plural(len(more), 'more case')}: {listed}", style="dim"), 4)


def _print_case(console: Console, verdicts: Sequence[Verdict]) -> None:
    """Print the figures of one case, in the first profile that failed."""
    v = verdicts[0]
    others = f"  also {', '.join(o.profile for o in verdicts[1:])}" if len(verdicts) > 1 else ""
    _line(console, Text.assemble((v.id, "bold cyan"), f"  {v.profile}", (others, "dim")), 4)
    _line(console, Text(v.comment, style="italic"), 6)
    wide = max((len(name) for name in v.outputs), default=0) + 2
    for name, found in v.outputs.items():
        if not found.ok or found.suspicious:
            for label, said in zip((name, ""), _figures(found), strict=False):
                _line(console, said, 6, Text(f"{label:<{wide}}", style="bold"))
    for remark in _remarks(v):
        _line(console, Text(remark), 6)


def _figures(found: Comparison) -> list[Text]:
    """Return two lines on one output: the worst element, and how far off it and all the others are."""
    if found.at is None:
        return [Text(found.reason)]
    if not found.ok and not found.off:
        return [Text(f"{found.reason}; the values are right")]
    plain_to_see = found.reason in ("", "out of tolerance") or (found.reason == "NaN" and math.isnan(found.got))
    special = "" if plain_to_see else f"{found.reason}  "
    got, want = apart(found.got, found.want)
    values = Text.assemble(special, "got ", (got, "red"), "  want ", (want, "green"), f"  tol {short(found.tol)}")
    figures = Text.assemble("budget ", (short(found.budget), "bold"), f"  × honest {short(found.honest)}")
    figures.append("" if math.isnan(found.cosine) else f"  cosine {found.cosine:.3f}")
    figures.append(f"  {found.out} of {found.size} out")
    return [values.append(f"  at [{', '.join(map(str, found.at))}]"), figures]


def _remarks(v: Verdict) -> list[str]:
    """Return what else is known of a failing case."""
    right = [name for name, found in v.outputs.items() if found.ok and not found.suspicious]
    remarks = [f"right: {', '.join(right)}"] if right else []
    if v.diagnosis:
        remarks += v.diagnosis.hints
        same = ", ".join(v.diagnosis.mistakes[1:])
        remarks += [f"the same on these inputs: {same}"] if same else []
    return remarks + [f"printed: {line[:WIDE]}" for line in v.answer.printed.splitlines()[-PRINTED:]]


def _line(console: Console, text: Text, indent: int = 0, label: Text | None = None) -> None:
    """Print text behind an indented label; the lines that it wraps into stand below it, without blanks at their end."""
    label = label or Text()
    wide = indent + label.cell_len
    for i, line in enumerate(text.wrap(console, max(console.width - wide, 20))):
        line.rstrip()
        before = Text(" " * wide) if i else Text(" " * indent).append_text(label)
        console.print(before.append_text(line), no_wrap=True, overflow="ignore", crop=False)
