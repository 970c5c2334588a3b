"""RMS norm of queries and keys: scores that no longer grow with the weights."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..embeddings.rms_norm import RmsNormResiduals, rms_norm_backward, rms_norm_forward
from ..errors import require
from ..namespace import Array, array_namespace, unbroadcast
from ..signatures import checked
from .heads import merge_heads, split_heads


class RmsQkNormResiduals(NamedTuple):
    """What the gradient needs: x divided by its root mean square, how that came about, and the gain."""

    normed: Float[Array, "*B H T D"]
    norm: RmsNormResiduals
    weight: Float[Array, "..."] | None
    unit_offset: bool
    over_heads: bool


@checked
def rms_qk_norm_forward(
    x: Float[Array, "*B H T D"],
    weight: Float[Array, "..."] | None = None,
    *,
    eps: float = 1e-6,
    unit_offset: bool = False,
    over_heads: bool = False,
) -> tuple[Float[Array, "*B H T D"], RmsQkNormResiduals]:
    """Divide q or k by its root mean square, head by head, and scale its channels.

        y = x / sqrt(mean of x² + eps) · weight
        y = x / sqrt(mean of x² + eps) · (1 + weight)        with unit_offset

    A score is then at most √D · the largest gains, however large the projections grow. RMS norm commutes with turning
    pairs, its weight does not: before RoPE and after it are different functions.

    weight: (D,) shared by all heads, or (H, D); None is 1. eps: inside the root.
    over_heads: one mean for all heads of a token together, not one a head.
    Source: Zhang and Sennrich 2019, equation 4; Henry et al. 2020 for q and k. A head: Qwen 3, and with unit_offset
    Gemma 3, both before RoPE; without weight and after RoPE: Llama 4. over_heads: OLMo 2, Chameleon's is LayerNorm.
    Raises ValueError for a weight that does not fit, eps < 0, or unit_offset without weight.
    """
    H, _, D = x.shape[-3:]
    require(not unit_offset or weight is not None, "unit_offset", unit_offset, "False without a weight")
    if weight is not None:
        require(weight.shape in ((D,), (H, D)), "weight", f"shape {tuple(weight.shape)}", f"({D},) or ({H}, {D})")
    rows, norm = rms_norm_forward(merge_heads(x) if over_heads else x, eps=eps)
    normed = split_heads("x", rows, H) if over_heads else rows  # (*B, H, T, D)
    y = normed if weight is None else normed * _gain(weight, unit_offset)
    return y, RmsQkNormResiduals(normed, norm, weight, unit_offset, over_heads)


@checked
def rms_qk_norm_backward(
    dy: Float[Array, "*B H T D"], residuals: RmsQkNormResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "..."] | None]:
    """Return (dx, dweight): without eps dx would be orthogonal to x, whose length does not count.

    dnormed = dy · gain        dx = (dnormed - normed · mean of dnormed normed) / rms        dweight = sum of dy normed
    """
    normed, norm, weight, unit_offset, over_heads = residuals
    dnormed = dy if weight is None else dy * _gain(weight, unit_offset)  # y = normed · gain
    rows, _ = rms_norm_backward(merge_heads(dnormed) if over_heads else dnormed, norm)  # normed = rms_norm(x)
    dx = split_heads("dx", rows, dy.shape[-3]) if over_heads else rows
    if weight is None:
        return dx, None
    xp = array_namespace(dy)
    return dx, xp.reshape(unbroadcast(dy * normed, _gain(weight, unit_offset).shape), weight.shape)


def _gain(weight: Float[Array, "..."], unit_offset: bool) -> Float[Array, "..."]:
    """Return the factor of every head and channel, for x (*B, H, T, D)."""
    gain = weight if weight.ndim == 1 else weight[:, None, :]  # (D,) or (H, 1, D)
    return 1 + gain if unit_offset else gain
