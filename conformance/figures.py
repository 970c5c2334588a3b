"""Figures of the page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from conformance.measure import FAILED, OTHER, SUSPICIOUS, Result


def budget(x: float) -> str:
    """Write a budget with two digits, and always with a point: a figure is told from a count by it."""
    if math.isnan(x):
        return "–"
    return "0.00" if x < 0.005 else f"{x:.2f}" if x >= 0.1 else f"{x:.2g}"


def figures(some: Sequence[Result]) -> str:
    """Write the worst budget, and the worst multiple where it is not exact."""
    right = [one for one in some if not math.isnan(one.budget)]
    if not right:
        return "–"
    honest = max(one.honest for one in right)
    return budget(max(one.budget for one in right)) + (f" · {times(honest)}" if honest else "")


def times(x: float) -> str:
    """Write a multiple of an honest run's error."""
    if math.isnan(x):
        return "–"
    return f"{x:.1f}×" if x < 10 else f"{min(x, 1e9):.0f}×"


def cell(some: Sequence[Result]) -> str:
    """Write the worst figures of an op in a profile, and what does not pass."""
    if not some:
        return "–"
    of = Counter(one.status for one in some)
    said = {FAILED: "fails" if of[FAILED] == 1 else "fail", OTHER: "other convention", SUSPICIOUS: "suspicious"}
    counts = {status: f"{of[status]} {word}" for status, word in said.items() if of[status]}
    beside = [text if status == SUSPICIOUS else f"**{text}**" for status, text in counts.items()]
    return ", ".join([figures(some), *beside])
