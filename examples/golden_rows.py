"""Golden rows for an op that refimpl does not have: Gemma's RMS norm, whose gain is 1 + weight.

    python -m examples.golden_rows

The formula is written once, on the Array API. `prove` gives its value correctly rounded, `bound` how far any float32
kernel may lie from it. Slips of others must stand far outside, or the inputs are too tame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from refimpl import exact
from refimpl.fixtures.budget import worst
from refimpl.namespace import array_namespace, constant

RNG = np.random.default_rng(7)
SIZES = np.array([[4], [1], [2**-10]])  # one row as small as √eps, or eps is not seen
X = (RNG.standard_normal((3, 5)) * SIZES).astype(np.float32)
WEIGHT = RNG.standard_normal(5).astype(np.float32) / 4


def gemma_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """x / sqrt(mean of x² + eps) · (1 + weight)"""
    xp = array_namespace(x)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + constant(eps, like=x)) * (1 + weight)


def llama_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """The same without the 1 +: a frequent slip when weights are carried over."""
    xp = array_namespace(x)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + constant(eps, like=x)) * weight


def eps_outside(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    """eps beside the root."""
    xp = array_namespace(x)
    return x / (xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True)) + constant(eps, like=x)) * (1 + weight)


def golden(formula: Callable[..., Any], **inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the proven values, and the tolerance of a float32 kernel, element by element."""

    def compute(xp: Any) -> dict[str, Any]:
        return {"y": formula(**{name: xp.asarray(array) for name, array in inputs.items()})}

    want = exact.prove(compute)
    return want["y"], exact.bound(compute, "f32", want)["y"]


def main() -> None:
    want, tol = golden(gemma_norm, x=X, weight=WEIGHT)
    for value, allowed in zip(want[0], tol[0], strict=True):
        print(f"{value.hex():>24}  ± {allowed:.2e}")
    for kernel in (gemma_norm, llama_norm, eps_outside):
        print(f"{kernel.__name__:12} budget {worst(kernel(X, WEIGHT), want, tol):.3g}")


if __name__ == "__main__":
    main()
