"""Counts and worst figures by op and profile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..exact.profiles import PROFILES
from .verdict import Verdict


class Tally(NamedTuple):
    """One line of the table."""

    op: str
    profile: str
    cases: int  # that were claimed
    passed: int
    failed: int
    suspicious: int  # of the passed ones; with --strict of the failed
    unsupported: int
    known: int  # failures that the claims name
    unclaimed: int
    budget: float
    honest: float


def tallies(verdicts: Sequence[Verdict], strict: bool = False) -> list[Tally]:
    """Return the lines of the table, profiles in their order."""
    ops = list(dict.fromkeys(v.op for v in verdicts))
    lines = []
    for op in ops:
        for profile in PROFILES:
            some = [v for v in verdicts if (v.op, v.profile) == (op, profile)]
            if some:
                lines.append(_tally(op, profile, some, strict))
    return lines


def _tally(op: str, profile: str, verdicts: Sequence[Verdict], strict: bool) -> Tally:
    of = Counter(v.status for v in verdicts)
    passed, failed = of["passed"], of["failed"]
    passed, failed = (passed, failed + of["suspicious"]) if strict else (passed + of["suspicious"], failed)
    budget = max((v.budget for v in verdicts if v.outputs), default=math.nan)
    honest = max((v.honest for v in verdicts if v.outputs), default=math.nan)
    beside = (of["suspicious"], of["unsupported"], of["known failure"], of["not claimed"])
    return Tally(op, profile, len(verdicts) - of["not claimed"], passed, failed, *beside, budget, honest)
