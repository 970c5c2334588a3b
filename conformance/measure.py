"""One framework on the cases that it claims, each held against what its claims say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conformance.claims import Claims
from refimpl.check.diagnose import CONVENTION
from refimpl.check.entry import Implementation, ask
from refimpl.check.request import request
from refimpl.check.run import Pair
from refimpl.check.verdict import Verdict, assess

PASSED, SUSPICIOUS, OTHER, FAILED = "passed", "suspicious", "other convention", "failed"


class Result(NamedTuple):
    """What is said of one claimed case in one profile."""

    id: str
    op: str
    profile: str
    status: str
    budget: float  # the worst of the results that are within tolerance; NaN where none is
    honest: float  # the same, in errors of an honest run
    failing: tuple[str, ...] = ()
    mistake: str = ""  # of the registry, the one that the failing results match
    why: tuple[tuple[str, str], ...] = ()  # (reason, seen) of the known failures
    surprise: str = ""  # where it is not what the claims say


def claimed(claims: Claims, chosen: Sequence[Pair]) -> list[Pair]:
    """Return the pairs of a case and a profile that are claimed."""
    return [(case, profile) for case, profile in chosen if claims.results(case, profile)]


def measure(claims: Claims, implementation: Implementation, chosen: Sequence[Pair]) -> Iterator[Result]:
    """Judge the claimed pairs, one after the other."""
    for case, profile in claimed(claims, chosen):
        asked = request(case, profile)._replace(want=claims.results(case, profile))
        yield result(claims, assess(case, profile, ask(implementation, asked)), asked.want)


def result(claims: Claims, v: Verdict, want: Sequence[str]) -> Result:
    """Hold a verdict against the claims."""
    right = [found for found in v.outputs.values() if found.ok]
    budget = max((found.budget for found in right), default=math.nan)
    honest = max((found.honest for found in right), default=math.nan)
    failing = tuple(name for name in want if name not in v.outputs or not v.outputs[name].ok)
    mistake = v.diagnosis.mistakes[0] if v.diagnosis and v.diagnosis.mistakes else ""
    status = v.status
    if v.answer.status == "unsupported" or v.answer.problems or failing:
        status = OTHER if mistake and v.diagnosis and v.diagnosis.verdict == CONVENTION else FAILED
    known = dict.fromkeys(k for name in failing if (k := claims.why(v.id, v.profile, name)))
    return Result(
        v.id,
        v.op,
        v.profile,
        status,
        budget,
        honest,
        failing,
        mistake,
        tuple((k.reason, k.seen) for k in known),
        surprise(claims, v, failing),
    )


def surprise(claims: Claims, v: Verdict, failing: Sequence[str]) -> str:
    """Say what the claims do not: a failure that is not known, a known one that passes."""
    if v.answer.status == "unsupported":
        return f"claimed, yet unsupported: {v.answer.detail}"
    if v.answer.problems:
        return f"protocol broken: {'; '.join(v.answer.problems)}"
    unknown = [name for name in failing if claims.why(v.id, v.profile, name) is None]
    expected = claims.expected(v.id, v.profile)
    passing = sorted(expected - set(failing) - {"*"}) or (["every result"] if expected and not failing else [])
    said = []
    if unknown:
        detail = v.answer.detail or ", ".join(f"{name} {told(v, name)}" for name in unknown)
        said.append(f"fails, and is not known to: {detail}")
    if passing:
        said.append(f"known to fail, yet passes: {', '.join(passing)}")
    return "; ".join(said)


def told(v: Verdict, name: str) -> str:
    found = v.outputs.get(name)
    if found is None:
        return "missing"
    return f"(budget {found.budget:.3g}, got {found.got:.9g}, want {found.want:.9g}, {found.reason})"
