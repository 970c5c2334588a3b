"""Evaluate a computation in each arithmetic: proven values, tolerances, honest results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flint import arb

from .array import OBJECT, REAL, Array
from .balls import Exact, Undecided
from .bounds import Bound
from .floats import Nearest
from .functions import to_balls
from .profiles import FORMATS
from .representable import abs_upper
from .rounding import DOUBLE, round_balls

Compute = Callable[[Any], Mapping[str, Array]]
Element = tuple[str, tuple[int, ...], arb]  # output, index, ball

ZERO_BITS = 1280  # balls around an exact 0 are then below 2^-1075, half the least subnormal


class Unresolved(ArithmeticError):
    """At the cap, the ends of some ball still round to different numbers."""


def prove(compute: Compute, *, bits: int = 128, cap: int = 4096) -> dict[str, np.ndarray]:
    """Return the exact results, each real rounded once to float64: evaluate with more bits until all of them are.

    Correct rounding by raising the precision is Ziv's strategy (Ziv 1991). Where every open ball contains 0, the result
    is most likely exactly 0, and the precision jumps to what that needs.
    """
    while True:
        try:
            results, open = _attempt(compute, Exact(bits))
        except Undecided:
            if bits >= cap:
                raise
            bits = min(cap, 2 * bits)
            continue
        if not open:
            return results
        if bits >= cap:
            raise Unresolved(_complaint(bits, *open[0]))
        zeros = all(ball.contains(0) or ball.is_nan() for _, _, ball in open)
        bits = min(cap, max(2 * bits, ZERO_BITS if zeros else 0))


def _attempt(compute: Compute, xp: Exact) -> tuple[dict[str, np.ndarray], list[Element]]:
    """Return the results and the elements that did not round."""
    results: dict[str, np.ndarray] = {}
    open: list[Element] = []
    for name, array in compute(xp).items():
        if array.dtype != REAL:
            results[name] = array.data
            continue
        with xp.settings():
            results[name], decided = round_balls(array.data, DOUBLE)
        open += [(name, tuple(map(int, i)), array.data[tuple(i)]) for i in np.argwhere(~decided)]
    return results, open


def _complaint(bits: int, name: str, index: tuple[int, ...], ball: arb) -> str:
    if ball.is_nan():
        return f"output {name!r}, element {index}: not a number at {bits} bits"
    return (
        f"output {name!r}, element {index}: {ball.str(25)} still rounds two ways at {bits} bits; an exact tie or zero"
        " that is reached through an inexact step never resolves: change the input"
    )


def bound(compute: Compute, profile: str, want: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return how far from `want` an evaluation in this profile may lie, per element, rounded up to 8 bits (float32).

    0 where the model leaves no error; infinite where it gives no bound.
    """
    xp = Bound(profile)
    return {name: _distance(xp, array, want[name]) for name, array in compute(xp).items()}


def _distance(xp: Bound, array: Array, want: np.ndarray) -> np.ndarray:
    if array.shape != want.shape:
        raise ValueError(f"want: got shape {want.shape}; allowed: {array.shape}, the computation's")
    if array.dtype != REAL:
        return np.zeros(array.shape, np.float32)
    with xp.settings():
        data, goal = xp.leaving(array).data, to_balls(want.astype(OBJECT))
        farthest = abs_upper(data - goal)
        return np.where(np.asarray(data == goal, np.bool_), np.float32(0), round_up(farthest))


def round_up(points: np.ndarray) -> np.ndarray:
    """Round non-negative points up to 8 significant bits, as float32; what is no number becomes infinite.

    FLINT's radii may differ between machines in their last bits, some 20 bits further down.
    """
    near, float32 = points.astype(np.float64), FORMATS["float32"]
    last = np.maximum(np.where(near > 0, np.frexp(near)[1] - 8, float32.min_exponent), float32.min_exponent)
    down = np.ldexp(np.floor(np.ldexp(near, -last)), last)
    on_it = np.asarray(points <= to_balls(down.astype(OBJECT)), np.bool_)
    up = np.where(on_it, down, down + np.ldexp(1.0, last))
    return np.where(up <= float32.max_finite, up, np.inf).astype(np.float32)


def nearest(compute: Compute, profile: str) -> dict[str, np.ndarray]:
    """Return what a plain evaluation in this profile gives, as float64."""
    xp = Nearest(profile)
    outputs = {name: xp.leaving(array) for name, array in compute(xp).items()}
    return {name: x.data.astype(np.float64) if x.dtype == REAL else x.data for name, x in outputs.items()}
