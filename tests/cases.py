"""The fixture cases as test inputs: one list of cases serves the fixtures and every check of the ops."""

from functools import cache
from typing import Any

import numpy as np

from refimpl import exact
from refimpl.fixtures.cases import CASES
from refimpl.fixtures.golden import computation, given

IDS = list(CASES)


@cache
def arguments(id: str) -> tuple[str, dict[str, Any], dict[str, np.ndarray], list[str]]:
    """Return op, params, inputs (with cotangents; reals as float64) and wanted names of a case."""
    case = CASES[id]
    inputs, want = given(case)
    reals = {name: array.astype(np.float64) for name, array in inputs.items() if array.dtype.kind == "f"}
    return case.op, case.params, inputs | reals, want


@cache
def golden(id: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the proven values of a case and their float64 tolerances."""
    compute = computation(*arguments(id))
    want = exact.prove(compute)
    return want, exact.bound(compute, "f64", want)


WITH_GRADIENT = [id for id in IDS if any(name.startswith("grad.") for name in arguments(id)[3])]
