"""One computation on given arrays: its proven values, its derived float32 tolerance, and how far off two sides are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from refimpl import exact
from refimpl.fixtures.budget import worst

Arrays = dict[str, np.ndarray]


class Step(NamedTuple):
    """`run(xp, inputs)` computes what `theirs` holds, under the same names; its main result is y."""

    what: str
    run: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
    inputs: Arrays
    theirs: Arrays


class Judged(NamedTuple):
    """Budgets, error over tolerance at the worst element of all results; and how sharp the tolerance is."""

    theirs: float
    ours: float
    tolerance: float  # of y, median, relative to the root mean square of y


def judge(step: Step) -> Judged:
    """Hold what transformers and refimpl on NumPy computed against the proven values."""

    def compute(xp: Any) -> Mapping[str, Any]:
        return step.run(xp, {name: xp.asarray(array) for name, array in step.inputs.items()})

    want = exact.prove(compute)
    tol = exact.bound(compute, "f32", want)
    ours = step.run(np, step.inputs)
    theirs_worst, ours_worst = (max(worst(got[n], want[n], tol[n]) for n in want) for got in (step.theirs, ours))
    return Judged(theirs_worst, ours_worst, float(np.median(tol["y"]) / np.sqrt(np.mean(want["y"] ** 2))))
