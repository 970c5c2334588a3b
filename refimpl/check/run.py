"""Many cases, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ..fixtures.read import LoadedCase
from ..ops import OPS
from .entry import Implementation
from .verdict import Verdict, judge

Pair = tuple[LoadedCase, str]


def pairs(cases: Iterable[LoadedCase], profiles: Sequence[str] = ()) -> list[Pair]:
    """Return every case with every profile that it offers, of those in `profiles` if any; ops in table order."""
    order = list(OPS)
    ordered = sorted(cases, key=lambda case: (order.index(case.op), case.id))
    return [(case, profile) for case in ordered for profile in case.profiles if not profiles or profile in profiles]


def judge_all(
    chosen: Sequence[Pair], implementation: Implementation, *, done: Callable[[LoadedCase], None] = lambda case: None
) -> list[Verdict]:
    """Judge an implementation on all pairs; `done` hears of each one finished."""
    verdicts = []
    for case, profile in chosen:
        verdicts.append(judge(case, profile, implementation))
        done(case)
    return agreed(verdicts)


def agreed(verdicts: list[Verdict]) -> list[Verdict]:
    """Where a case cannot tell mistakes apart, put first the one that most cases of the op point to."""
    votes = Counter((v.op, id) for v in verdicts if v.diagnosis for id in v.diagnosis.mistakes)
    settled = []
    for v in verdicts:
        if v.diagnosis and len(v.diagnosis.mistakes) > 1:
            ids = sorted(v.diagnosis.mistakes, key=lambda id: -votes[v.op, id])  # stable: the closest first
            v = v._replace(diagnosis=v.diagnosis._replace(mistakes=tuple(ids)))
        settled.append(v)
    return settled
