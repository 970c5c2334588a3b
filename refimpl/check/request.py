"""A case as an implementation sees it: arrays in the profile's dtype, and the names that are wanted."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..exact.profiles import PROFILES
from ..fixtures.golden import WIDE
from ..fixtures.read import LoadedCase
from ..ops import OPS
from .entry import Request

DTYPES = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


def request(case: LoadedCase, profile: str) -> Request:
    """Return what to ask about a case in a profile.

    Reals come in the profile's dtype, which holds every input exactly; real positions stay float32 in 16 bits. Where no
    other real input tells the dtype of a real output, params["dtype"] names it. Cotangents come along where gradients
    are wanted.
    """
    want = wanted(case)
    given = case.arguments if any(name.startswith("grad.") for name in want) else case.inputs
    inputs = {name: array.astype(_dtype(name, array, profile)) for name, array in given.items()}
    params = dict(case.params)
    told = any(array.dtype.kind == "f" and name not in WIDE for name, array in case.inputs.items())
    if not told and any(array.dtype.kind == "f" for array in case.outputs.values()):
        params["dtype"] = PROFILES[profile].dtype
    return Request(case.op, params, inputs, want)


def wanted(case: LoadedCase) -> list[str]:
    """Return what a case asks for, in the order of the op's outputs and gradients."""
    op = OPS[case.op]
    names = [*op.outputs, *(f"grad.{name}" for name in op.gradients)]
    return [name for name in names if name in case.expected]


def _dtype(name: str, array: np.ndarray, profile: str) -> np.dtype:
    if array.dtype.kind != "f":
        return array.dtype
    return DTYPES[(PROFILES[profile].wide if name in WIDE else PROFILES[profile].storage).name]
