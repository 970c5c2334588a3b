"""The gradient of a definition from nothing but the definition: central differences with 120 digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, exact, zeros

STEP = -45  # power of ten: the error of a smooth slope is about 1e-90, its rounding about 1e-75, a kink costs 1e-45


def slopes(definition: Callable[..., Arrays], inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """dL/dx = (L(x + step) - L(x - step)) / (2 step), entry by entry of every real input; -inf on both sides is flat.

    Where a maximum ties, this is the mean of the slopes on its two sides.
    """
    with mp.workdps(max(120, 2 * mp.dps)):
        step = mp.mpf(10) ** STEP
        point = {name: exact(array) for name, array in inputs.items() if np.asarray(array).dtype.kind in "fO"}
        weights = {name: exact(array) for name, array in cotangents.items()}
        gradient = {name: zeros(array.shape) for name, array in point.items()}
        for name, array in point.items():
            for at in np.ndindex(array.shape):
                ahead, behind = array.copy(), array.copy()
                ahead[at], behind[at] = array[at] + step, array[at] - step
                above = definition({**inputs, **point, name: ahead}, params)
                below = definition({**inputs, **point, name: behind}, params)
                change = mp.fsum(
                    weights[y][out] * (above[y][out] - below[y][out])
                    for y in weights
                    for out in np.ndindex(weights[y].shape)
                    if above[y][out] != below[y][out]
                )
                gradient[name][at] = change / (2 * step)
        return gradient
