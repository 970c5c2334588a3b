"""Implementations, right and wrong, as entries for the checker: `tests.check.adapters:right`."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from refimpl import ops
from refimpl.check import Unsupported
from refimpl.mistakes import MISTAKES, mutant

Arrays = dict[str, np.ndarray]
Adapter = Callable[[str, dict[str, Any], Arrays, list[str]], Any]
STORED = {"bfloat16": ml_dtypes.bfloat16}


def right(op: str | ops.Op, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """Run refimpl on NumPy; in 16 bits compute in float32 and round the results."""
    real = [x.dtype for name, x in inputs.items() if x.dtype.kind not in "iub" and name != "positions"]
    dtype = real[0] if real else np.dtype(STORED.get(params.get("dtype", ""), params.get("dtype", "float64")))
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    options = dict(params) | ({"dtype": wide.name} if "dtype" in params else {})
    widened = {name: x if x.dtype.kind in "iub" else x.astype(wide) for name, x in inputs.items()}
    with np.errstate(all="ignore"):
        found = ops.run(op, options, widened, want, xp=np)
    return {name: x if x.dtype.kind in "iub" else x.astype(dtype) for name, x in found.items()}


def mistaken(id: str) -> Adapter:
    """Return an implementation with one known mistake."""

    def run(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
        return right(mutant(id) if MISTAKES[id].op == op else op, params, inputs, want)

    return run


def altered(change: Callable[[str, np.ndarray], Any]) -> Adapter:
    """Return an implementation whose results are changed, each by name; None drops one."""

    def run(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
        found = {name: change(name, x) for name, x in right(op, params, inputs, want).items()}
        return {name: x for name, x in found.items() if x is not None}

    return run


def swapped(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """Confuse the two layouts of RoPE."""
    return mistaken("rope.layout_swapped")(op, params, inputs, want)


def nan(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    return altered(lambda name, x: x * np.asarray(np.nan, x.dtype))(op, params, inputs, want)


def crashes(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    if op == "rope":
        raise RuntimeError("out of shared memory")
    return right(op, params, inputs, want)


def speaks(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """Print, and write into every input."""
    print("compiling kernel for", op)
    found = right(op, params, inputs, want)
    for x in inputs.values():
        x[...] = 0
    return found


def nothing(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> None:
    return None


def declines(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    raise Unsupported(op)


def rope_only(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    if op != "rope":
        raise Unsupported(op)
    return right(op, params, inputs, want)
