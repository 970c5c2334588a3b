"""Two mistakes at once, or one under another convention: looked for where single ones explain nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from ..fixtures.read import LoadedCase
from ..mistakes import MISTAKES, together
from ..ops import Op
from .diagnose import CONVENTION, NAMED, UNKNOWN, Diagnosis, rough_run, what_is_sought
from .likeness import Arrays, unexplained
from .verdict import Verdict

SAMPLES = 3  # cases of an op on which all pairs are tried
LEFT = 0.02  # of the error may stay unexplained: there are hundreds of pairs
Pair = tuple[str, str]


def with_compounds(verdicts: Sequence[Verdict], cases: Mapping[str, LoadedCase]) -> list[Verdict]:
    """Return the verdicts, those of two mistakes at once named.

    All pairs are tried on the smallest unexplained cases of an op, those that match there on its others.
    """
    found: dict[tuple[str, str], Diagnosis] = {}
    unknown = [v for v in verdicts if _open(v)]
    for op in dict.fromkeys(v.op for v in unknown):
        some = sorted((v for v in unknown if v.op == op), key=lambda v: _size(v))
        pairs = next(filter(None, (_matching(_pairs(op), v, cases[v.id]) for v in some[:SAMPLES])), [])
        for v in some if pairs else []:
            if matching := _matching(pairs, v, cases[v.id]):
                found[v.id, v.profile] = _diagnosis(matching[0])
    return [v._replace(diagnosis=found.get((v.id, v.profile), v.diagnosis)) for v in verdicts]


def _open(v: Verdict) -> bool:
    """Say whether a result is wrong in a way that is not explained, and finite."""
    if v.diagnosis is None or v.diagnosis.verdict != UNKNOWN:
        return False
    wrong = [v.answer.outputs[name] for name, found in v.outputs.items() if found.off]
    return all(found.at is not None for found in v.outputs.values()) and all(
        np.isfinite(array.astype(np.float64)).all() for array in wrong
    )


def _size(v: Verdict) -> int:
    return sum(found.size for found in v.outputs.values())


@cache
def _pairs(op: str) -> tuple[Pair, ...]:
    ids = [id for id, mistake in MISTAKES.items() if mistake.op == op]
    return tuple(itertools.combinations(ids, 2))


@cache
def _together(pair: Pair) -> Op | None:
    try:
        return together(*pair)
    except ValueError:
        return None


def _run(pair: Pair, case: LoadedCase, profile: str, want: list[str]) -> Arrays:
    """Return what two mistakes at once give, nothing where one does not fit what the other passes on."""
    op = _together(pair)
    try:
        return {} if op is None else rough_run(op, case, profile, want)
    except Exception:
        return {}


def _matching(pairs: Iterable[Pair], v: Verdict, case: LoadedCase) -> list[Pair]:
    """Return the pairs that explain every wrong output and leave the others right, best first."""
    got = {name: v.answer.outputs[name].astype(np.float64) for name in v.outputs}
    case_in, _ = what_is_sought(case, v.profile, got, v.outputs)
    left = {pair: unexplained(case_in, _run(pair, case, v.profile, list(got)), list(got), LEFT) for pair in pairs}
    return sorted((pair for pair, share in left.items() if share < math.inf), key=left.__getitem__)


def _diagnosis(pair: Pair) -> Diagnosis:
    """Name the bug first, the convention beside it."""
    first, second = sorted(pair, key=lambda id: MISTAKES[id].convention is not None)
    only_conventions = MISTAKES[first].convention is not None
    return Diagnosis(CONVENTION if only_conventions else NAMED, (first,), beside=second)
