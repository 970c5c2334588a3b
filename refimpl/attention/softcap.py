"""Softcap: logits that cannot leave an interval, and can still be told apart in it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace, constant


class SoftcapResiduals(NamedTuple):
    """What the gradient needs: the tangent, before the cap was multiplied back."""

    tanh: Shaped[Array, "*X"]


def softcap_forward(x: Shaped[Array, "*X"], *, cap: float) -> tuple[Shaped[Array, "*X"], SoftcapResiduals]:
    """Squeeze logits into (-cap, cap).

        y = cap · tanh(x / cap)

    Near 0 it is the identity, and it keeps the order of the logits everywhere, unlike a clamp. In attention it comes
    before bias and mask: capping a mask's -inf would give masked keys the logit -cap.

    cap: > 0, at its exact float64 value.
    Source: Gemma Team 2024 (Gemma 2), section 2: 50 in attention, 30 for the final logits; Bello et al. 2017 before
    them. x-transformers caps after the bias; the ONNX reference up to 1.21 after the mask.
    Raises ValueError for a cap that is not positive.
    """
    xp = array_namespace(x)
    require(cap > 0, "cap", cap, "a number > 0")
    limit = constant(cap, like=x)
    tanh = xp.tanh(x / limit)
    return limit * tanh, SoftcapResiduals(tanh)


def softcap_backward(dy: Shaped[Array, "*X"], residuals: SoftcapResiduals) -> Shaped[Array, "*X"]:
    """Return dx: it vanishes where the cap holds.

    dx = dy (1 - tanh²(x / cap))
    """
    tanh = residuals.tanh
    return dy * (1 - tanh) * (1 + tanh)  # y = cap · tanh(x / cap)
