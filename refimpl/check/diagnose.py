"""Which known mistake gives the wrong result that came back: every mutant of the op is run on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .. import exact, ops
from ..fixtures.golden import computation
from ..fixtures.read import LoadedCase
from ..mistakes import IN_FLOAT16, MISTAKES, mutant
from .compare import Comparison
from .hints import Asked, hints
from .likeness import Arrays, Sought, alike, resembles, sought, unexplained

NAMED, CONVENTION, UNKNOWN = "bug named", "other convention", "unknown difference"
DOES_NOT_RUN = (ValueError, TypeError, IndexError, ArithmeticError)


class Diagnosis(NamedTuple):
    """One of three verdicts."""

    verdict: str
    mistakes: tuple[str, ...] = ()  # closest first; more than one where these inputs cannot tell them apart
    hints: tuple[str, ...] = ()  # where no mistake matches
    beside: str = ""  # a second mistake, or another convention, that it takes to explain the result


def diagnose(case: LoadedCase, profile: str, got: Arrays, found: Mapping[str, Comparison]) -> Diagnosis:
    """Name the mistake that a failing result comes from, or say what the result looks like.

    A mutant matches where it explains every output; else where it explains all that are wrong, the others being right.
    got: the results in float64, as many as came back. found: how they compare with the right ones.
    """
    case_in, tol = what_is_sought(case, profile, got, found)
    runs = _runs(case_in, case, profile)
    if matches := _matches(case_in, runs, list(got)) or _matches(case_in, runs, case_in.wrong):
        return Diagnosis(CONVENTION if MISTAKES[matches[0]].convention else NAMED, tuple(matches))
    alone = [(name, _matches(case_in, runs, [name])) for name in case_in.wrong]
    partly = [f"{name} alone matches {ids[0]}" for name, ids in alone if ids]
    asked = Asked(case.op, case.params, case.arguments, profile)
    return Diagnosis(UNKNOWN, hints=(*partly, *hints(got, case_in.want, tol, found, asked)))


def what_is_sought(
    case: LoadedCase, profile: str, got: Arrays, found: Mapping[str, Comparison]
) -> tuple[Sought, Arrays]:
    """Return a wrong result beside the right one, and its tolerances."""
    want = {name: case.expected[name].astype(np.float64) for name in got}
    tol = {name: case.tolerance(profile)[name].astype(np.float64) for name in got}
    wrong = [name for name in got if found[name].off]
    return sought(got, want, tol, wrong, exact.PROFILES[profile].storage.unit_roundoff), tol


def _matches(case_in: Sought, runs: Mapping[str, tuple[Arrays, ...]], names: Sequence[str]) -> list[str]:
    """Return the mutant that explains some outputs best, and those that give the same on these inputs.

    Each was run in the profile and, as a kernel that rounds its results only, in the wide format; some in float16, too.
    """
    best = {id: min(some, key=lambda run: unexplained(case_in, run, names)) for id, some in runs.items()}
    left = {id: unexplained(case_in, run, names) for id, run in best.items()}
    found = sorted((id for id in left if left[id] < math.inf), key=left.__getitem__)
    return [id for id in found if alike(case_in, best[found[0]], best[id], names)]


def _runs(case_in: Sought, case: LoadedCase, profile: str) -> dict[str, tuple[Arrays, ...]]:
    """Run every mistake of the op that may explain the result: roughly, and where that resembles it in the profile."""
    names, runs = list(case_in.got), {}
    for id in (id for id, mistake in MISTAKES.items() if mistake.op == case.op):
        tried = [mutant(id)]
        tried += [tried[0]._replace(backward=IN_FLOAT16[id])] if id in IN_FLOAT16 else []
        rough = [run for op in tried if resembles(case_in, run := rough_run(op, case, profile, names))]
        if rough:
            runs[id] = (_run(id, case, profile, names), *rough)
    return runs


def _run(id: str, case: LoadedCase, profile: str, want: list[str]) -> Arrays:
    """Return what a mutant gives for a case in a profile, nothing where it does not run."""
    try:
        found = exact.nearest(computation(mutant(id), case.params, case.arguments, want), profile)
    except DOES_NOT_RUN:
        return {}
    return {name: array.astype(np.float64) for name, array in found.items()}


def rough_run(op: ops.Op, case: LoadedCase, profile: str, want: list[str]) -> Arrays:
    """Return what it gives in NumPy, in the wide format: a hundred times faster, and rules most mutants out."""
    wide = exact.PROFILES[profile].wide.name
    inputs = {name: x.astype(wide) if x.dtype.kind == "f" else x for name, x in case.arguments.items()}
    try:
        with np.errstate(all="ignore"):
            found = ops.run(op, case.params, inputs, want, xp=np)
    except DOES_NOT_RUN:
        return {}
    return {name: array.astype(np.float64) for name, array in found.items()}
