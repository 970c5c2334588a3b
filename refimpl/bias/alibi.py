"""ALiBi: attention with linear biases, a penalty that grows with distance."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Int

from ..errors import require_integer, require_sizes
from ..namespace import Array, array_namespace, device, rational_powers
from ..signatures import checked


class AlibiResiduals(NamedTuple):
    """What the gradient needs: the integer that each slope was multiplied by, and how many slopes there are."""

    steps: Int[Array, "T S"]
    H: int


@checked
def alibi_forward(
    slopes: Float[Array, " H"], *, T: int, S: int, q_offset: int = 0, key_only: bool = False
) -> tuple[Float[Array, "H T S"], AlibiResiduals]:
    """Return the bias of T queries over S keys, to be added to the scaled scores.

        y[h, i, j] = -slopes[h] · |q_offset + i - j|
        y[h, i, j] =  slopes[h] · j                      with key_only

    Each head forgets at its own rate. The bias joins the logits after q·k/√D and is not itself divided by √D.
    Under a causal mask both forms give the same weights, since they differ by a constant a row; logits and lse differ.
    Without one only the first form will do: it is symmetric, and penalises keys ahead like keys behind.

    q_offset: position of the first query; S - T when the queries are the last of the keys.
    Source: Press et al. 2022 (ALiBi), section 3. Key-only: the authors' code, BLOOM, FlashAttention (causal). Falcon
    adds the bias before it divides by √D, which is another function.
    Raises ValueError for a negative T, or S below 1.
    """
    xp = array_namespace(slopes)
    require_integer("T", T, 0)
    require_integer("S", S, 1)
    i = xp.arange(q_offset, q_offset + T, device=device(slopes))[:, None]  # (T, 1)
    j = xp.arange(S, device=device(slopes))[None, :]  # (1, S)
    steps = xp.broadcast_to(j, (T, S)) if key_only else -xp.abs(i - j)
    return slopes[:, None, None] * xp.astype(steps, slopes.dtype), AlibiResiduals(steps, slopes.shape[0])


@checked
def alibi_backward(dy: Float[Array, "H T S"], residuals: AlibiResiduals) -> Float[Array, " H"]:
    """Return the gradient of learned slopes.

    dslopes[h] = sum over i, j of dy[h, i, j] · steps[i, j],        steps = -|q_offset + i - j|, or j
    """
    xp = array_namespace(dy)
    return xp.sum(dy * xp.astype(residuals.steps, dy.dtype), axis=(-2, -1))  # y = slopes · steps


@checked
def alibi_slopes(H: int, *, max_bias: int = 8, xp: Any, dtype: Any) -> Float[Array, " H"]:
    """Return the slope of every head.

        2^(-max_bias h / H),  h = 1 .. H                                 H a power of two
        slopes(n), then every other one of slopes(2n), from its first    n the largest power of two below H

    One geometric sequence for every H is the common mistake: between powers of two the extra heads interleave, so the
    list is not sorted. Exponents are whole multiples of max_bias / 2n, kept in integers.

    Source: Press et al. 2022 (ALiBi), section 3, and the authors' code for H that is no power of two.
    Raises ValueError for H or max_bias below 1.
    """
    require_sizes(H=H, max_bias=max_bias)
    n = 1 << (H.bit_length() - 1)  # largest power of two <= H
    halves = [2 * h for h in range(1, n + 1)] + list(range(1, 2 * n, 2))[: H - n]  # exponent · 2n / max_bias
    head, tail = rational_powers(2, [-max_bias * half for half in halves], 2 * n, xp=xp, dtype=dtype)
    return head + tail
