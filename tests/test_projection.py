"""Every gradient of every case, to 80 digits: <dy, J u> = <backward(dy), u> for a direction u of all inputs at once.

J u is a central difference of the forward pass in balls of 600 bits, so that nothing but the mathematics is tested; a
gradient that is off by a factor of 1.0000000001 fails.
"""

import numpy as np
import pytest

from refimpl import exact
from refimpl.fixtures.rules import Reals
from refimpl.ops import OPS, Op, run
from tests.cases import WITH_GRADIENT, arguments

BITS, STEP = 600, 2.0**-150  # an error of STEP^2, 4.9e-91, times a third derivative


def mismatch(id: str, op: Op | None = None) -> float:
    """Return |<dy, J u> - <backward(dy), u>|, relative to their size where that is above 1."""
    name, params, inputs, want = arguments(id)
    op, xp = op or OPS[name], exact.Exact(BITS)
    gradients = [n for n in want if n.startswith("grad.")]
    directions = {n[5:]: xp.asarray(direction(id, n[5:])) for n in gradients}
    exactly = {n: xp.asarray(array) for n, array in inputs.items()}

    def outputs(step: float) -> dict:
        moved = {n: exactly[n] + u * xp.constant(step) for n, u in directions.items()}
        plain = {n: array for n, array in exactly.items() if not n.startswith("cot.")}
        return run(op, params, plain | moved, op.outputs, xp=xp)

    after, before = outputs(STEP), outputs(-STEP)
    left = xp.zeros(())
    for output in op.outputs:
        if f"cot.{output}" in exactly:
            finite = xp.isfinite(after[output])  # an empty row's lse is -inf on both sides, and moves by nothing
            moved = xp.where(finite, after[output], 0) - xp.where(finite, before[output], 0)
            left = left + xp.sum(exactly[f"cot.{output}"] * moved) / (2 * xp.constant(STEP))
    backward = run(op, params, exactly, gradients, xp=xp)
    weighed = {n: xp.sum(backward[f"grad.{n}"] * u * xp.asarray(divided_by(id, n))) for n, u in directions.items()}
    right = sum(weighed.values(), xp.zeros(()))
    return abs(left - right).data[()] / max(1, abs(right).data[()])


def direction(id: str, name: str) -> np.ndarray:
    """Return where to move an input, no further than its own size.

    A padding row stays, since by definition it takes no part in the gradient; so does a parameter of 0, where |c| has
    a kink and by definition the slope 0.
    """
    _, params, inputs, _ = arguments(id)
    largest = float(np.max(np.abs(inputs[name]), initial=0.0))
    if inputs[name].ndim == 0 and largest == 0:
        return np.zeros(())
    size = 2.0 ** min(np.floor(np.log2(largest or 1.0)), 0.0) if np.isfinite(largest) else 1.0
    u = Reals(inputs[name].shape, size).array(f"{id}/u.{name}")
    padding = {"weight": "padding_idx", "position_weight": "position_padding_idx"}.get(name)
    if params.get(padding) is not None:
        u[params[padding]] = 0
    return u


def divided_by(id: str, name: str) -> np.ndarray:
    """Return what scale_grad_by_freq divides the derivative by: how often the id of each row occurs."""
    _, params, inputs, _ = arguments(id)
    if not params.get("scale_grad_by_freq"):
        return np.asarray(1)
    count = np.bincount(inputs["ids"].ravel(), minlength=len(inputs[name]))
    return np.maximum(count, 1)[:, None]


@pytest.mark.parametrize("id", WITH_GRADIENT)
def test_gradient_is_the_derivative(id):
    assert mismatch(id) < 1e-80


@pytest.mark.parametrize(
    "id", [next(i for i in WITH_GRADIENT if i.startswith(f"{op}/")) for op in OPS if OPS[op].backward]
)
def test_a_factor_of_one_and_a_bit_is_seen(id):
    op = OPS[arguments(id)[0]]

    def slightly_off(dy, residuals):
        gradients = op.backward(dy, residuals)
        first, *rest = gradients if len(op.gradients) > 1 else (gradients,)
        xp = first.__array_namespace__()
        off = first * (1 + xp.constant(1e-10))
        return (off, *rest) if rest else off

    assert np.isfinite(float(mismatch(id, op._replace(backward=slightly_off)).mid()))
    assert mismatch(id, op._replace(backward=slightly_off)) > 1e-14
