"""Softcap: logits that cannot leave an interval, and can still be told apart in it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require_number
from ..namespace import Array, array_namespace, constant
from ..signatures import checked


class SoftcapResiduals(NamedTuple):
    """What the gradient needs: the tangent, before the cap was multiplied back."""

    tanh: Float[Array, "*X"]


@checked
def softcap_forward(x: Float[Array, "*X"], *, cap: float) -> tuple[Float[Array, "*X"], SoftcapResiduals]:
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
    require_number("cap", cap, above=0)
    limit = constant(cap, like=x)
    tanh = xp.tanh(x / limit)
    return limit * tanh, SoftcapResiduals(tanh)


@checked
def softcap_backward(dy: Float[Array, "*X"], residuals: SoftcapResiduals) -> Float[Array, "*X"]:
    """Return dx: it vanishes where the cap holds.

    dx = dy (1 - tanh²(x / cap))
    """
    tanh = residuals.tanh
    return dy * (1 - tanh) * (1 + tanh)  # y = cap · tanh(x / cap)
