"""CONFORMANCE.md: what each framework's own functions do with the fixtures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.figures import budget, cell, times
from conformance.measure import FAILED, OTHER, PASSED, SUSPICIOUS, Result
from conformance.notes import failures, not_claimed
from conformance.processes import Run
from refimpl.exact.profiles import PROFILES
from refimpl.fixtures.read import Pack
from refimpl.ops import OPS

DOORS = {
    "embeddings": "added to the embeddings",
    "rotary": "turns q and k",
    "bias": "joins the logits",
    "attention": "attention, masks, norms of q and k",
}
HEAD = """# Conformance

What the public functions of real frameworks answer to the cases of this repository. Written by `make conformance`;
`make conformance-check` compares verdicts with this page. The fixtures were made without any of them, so an agreement
says something about both sides.

- **Passes**: every result, outputs and gradients, is within the derived tolerance. A *budget* is error over tolerance:
  above 1 no rounding of the model gets there. *× honest* is the error in units of that of a plain run in the same
  precision; above 16 times it is *suspicious*: it passes, but digits were lost.
- **Other convention**: the result is another, consistent definition. **Fails**: it is neither. Reasons stand below the
  tables, with reproducers of a few lines that need the framework only.
- A case is counted once in each profile (f64, f32, bf16, f16). What a framework has no function for is *not claimed*:
  it is counted nowhere, and never as passed.
- A budget just below 1 is a single rounding in the worst direction, where one rounding is all that is allowed.
"""


def render(runs: Sequence[Run], pack: Pack) -> str:
    """Return the whole page."""
    total = sum(len(case.profiles) for case in pack.cases)
    about = f"Fixtures {pack.manifest['version']}: {len(pack.cases)} cases, {total:,} with their profiles."
    parts = [HEAD, about, "## Summary", summary(runs, total), "## Worst budgets", worst(runs)]
    return "\n\n".join(part.strip() for part in [*parts, *(section(run, pack) for run in runs)]) + "\n"


def summary(runs: Sequence[Run], total: int) -> str:
    """Return the table of frameworks and doors: passed of claimed."""
    lines = ["| framework | " + " | ".join(DOORS.values()) + " | fails | other convention | not claimed |"]
    lines.append("|---" * (len(DOORS) + 1) + "|--:|--:|--:|")
    for run in runs:
        found = run.results
        doors = [_share([one for one in found if door(one.op) == name]) for name in DOORS]
        of = Counter(one.status for one in found)
        title = f"[{run.heading}](#{anchor(run.heading)})"
        lines.append(f"| {title} | {' | '.join(doors)} | {of[FAILED]} | {of[OTHER]} | {total - len(found):,} |")
    return "\n".join(lines)


def worst(runs: Sequence[Run]) -> str:
    """Return the worst figures of what passes, in the two precisions that models run in."""
    lines = ["Of the results that are within tolerance, in float32 and in bfloat16:", ""]
    lines.append("| framework | f32 | case | worst × honest | bf16 | case | worst × honest |")
    lines.append("|---|--:|---|--:|--:|---|--:|")
    for run in runs:
        cells = []
        for profile in ("f32", "bf16"):
            some = [one for one in run.results if one.profile == profile and one.budget == one.budget]
            most = max(some, key=lambda one: one.budget, default=None)
            honest = max((one.honest for one in some), default=None)
            shown = (budget(most.budget), most.id, times(honest)) if most and honest is not None else ("–", "–", "–")
            cells += list(shown)
        lines.append(f"| {run.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def section(run: Run, pack: Pack) -> str:
    """Return what is said of one framework."""
    parts = [f"## {run.heading}", run.about, table(run, pack), not_claimed(run, pack), failures(run)]
    return "\n\n".join(part for part in parts if part)


def table(run: Run, pack: Pack) -> str:
    """Return a line an op: how many of its cases are claimed, and the figures by profile."""
    lines = ["| op | cases | " + " | ".join(PROFILES) + " |", "|---|--:" + "|---" * len(PROFILES) + "|"]
    for op in OPS:
        some = [one for one in run.results if one.op == op]
        if some:
            cases, all_cases = len({one.id for one in some}), sum(case.op == op for case in pack.cases)
            claimed = f"{cases}" if cases == all_cases else f"{cases} of {all_cases}"
            cells = [cell([one for one in some if one.profile == profile]) for profile in PROFILES]
            lines.append(f"| {op} | {claimed} | {' | '.join(cells)} |")
    return "\n".join(lines)


def changes(committed: str, run: Run, pack: Pack) -> list[str]:
    """Return the lines of a framework's section that say another verdict than those of the committed page."""
    title = f"## {run.name}"
    parts = [
        part
        for part in re.split(r"^(?=## )", committed, flags=re.M)
        if re.match(rf"{re.escape(title)}( [\d.]|\n)", part)
    ]
    if not parts:
        return ["not on the page"]
    old, new = (verdicts(text.strip().splitlines()[1:]) for text in (parts[0], section(run, pack)))
    return [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]


def verdicts(lines: Iterable[str]) -> list[str]:
    """Return lines without figures, which differ a little from machine to machine, and without suspicion."""
    return [re.sub(r", \d+ suspicious|( · )?[\d.]+×|\b\d+\.\d+\b", "", line) for line in lines if line.strip()]


def door(op: str) -> str:
    """Return the folder that an op is in."""
    return OPS[op].forward.__module__.split(".")[1]


def anchor(title: str) -> str:
    """Return the name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _share(some: Sequence[Result]) -> str:
    passed = sum(one.status in (PASSED, SUSPICIOUS) for one in some)
    if not some:
        return "–"
    return f"{passed} of {len(some)}" if passed < len(some) else f"all {passed}"
