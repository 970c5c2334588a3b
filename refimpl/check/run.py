"""Many cases, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..fixtures.read import FixtureError, LoadedCase
from ..ops import OPS
from .compound import with_compounds
from .entry import Answer, Implementation, ask
from .request import request
from .verdict import Verdict, assess

Pair = tuple[LoadedCase, str]


def pairs(cases: Iterable[LoadedCase], profiles: Sequence[str] = ()) -> list[Pair]:
    """Return every case with every profile that it offers, of those in `profiles` if any; ops in table order."""
    ordered = sorted(cases, key=lambda case: (_place(case.op), case.id))
    return [(case, profile) for case in ordered for profile in case.profiles if not profiles or profile in profiles]


def _place(op: str) -> int:
    if op not in OPS:
        raise FixtureError(f"this version of refimpl has no op {op}; the pack was made by another")
    return list(OPS).index(op)


def judge_all(
    chosen: Sequence[Pair], implementation: Implementation, *, done: Callable[[LoadedCase], None] = lambda case: None
) -> list[Verdict]:
    """Judge an implementation on all pairs; `done` hears of each one finished."""
    return assess_all(chosen, asked(chosen, implementation), done=done)


def asked(chosen: Iterable[Pair], implementation: Implementation) -> Iterator[tuple[Pair, Answer]]:
    """Ask an implementation about each pair when its answer is wanted."""
    return ((pair, ask(implementation, request(*pair))) for pair in chosen)


def assess_all(
    chosen: Sequence[Pair],
    answers: Iterable[tuple[Pair, Answer]],
    *,
    done: Callable[[LoadedCase], None] = lambda case: None,
) -> list[Verdict]:
    """Compare answers, which come in any order, and return the verdicts in the order of the pairs."""
    verdicts = {}
    for (case, profile), answer in answers:
        verdicts[case.id, profile] = assess(case, profile, answer)
        done(case)
    ordered = [verdicts[case.id, profile] for case, profile in chosen]
    return agreed(with_compounds(ordered, {case.id: case for case, _ in chosen}))


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
