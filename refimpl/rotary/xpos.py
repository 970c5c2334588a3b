"""xPos: rotation with a decay, so that scores fade with distance."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require_broadcastable, require_number
from ..namespace import Array, array_namespace, constant, device
from ..signatures import checked
from .rope import RopeResiduals, require_pairs, rope_backward, rope_cos_sin, rope_forward


class XposResiduals(NamedTuple):
    """What the gradient needs: the rotation, whose cos and sin carry the scale."""

    rope: RopeResiduals


@checked
def xpos_forward(
    x: Float[Array, "*B T D"],
    *,
    positions: Int[Array, "..."],
    centre: int,
    keys: bool = False,
    scale_base: float = 512.0,
    gamma: float = 0.4,
    base: float = 10000.0,
    interleaved: bool = True,
) -> tuple[Float[Array, "*B T D"], XposResiduals]:
    """Turn queries or keys by their positions, and scale each pair by a power of its own.

        y = z R(p θ) x,        z_i = ζ_i^((p - centre) / scale_base)         queries
                               z_i = ζ_i^(-(p - centre) / scale_base)        keys
        ζ_i = (2i/D + γ) / (1 + γ)

    A score carries ζ_i^((p_q - p_k) / scale_base), < 1 where the key is earlier: fast pairs fade first. For later keys
    it grows without bound, so xPos belongs under a causal mask. The centre cancels from scores where q and k have the
    same one; it only keeps z within range: with ζ_0 = 2/7, 4096 positions from the centre z has come to 4e-5.

    positions: (T,) or broadcastable to (*B, T), integers; centre: an integer, half the length elsewhere (rounded up in
    TorchScale; down in FlashAttention, x-transformers, rotary-embedding-torch), which makes it depend on the text.
    Source: Sun et al. 2022 (A Length-Extrapolatable Transformer), algorithm 1.
    Raises ValueError for scale_base <= 0, gamma <= 0, and as `rope_cos_sin` and `rope_forward` do.
    """
    xp = array_namespace(x, positions)
    require_number("scale_base", scale_base, above=0)
    require_number("gamma", gamma, above=0)
    D = x.shape[-1]
    require_pairs("x", D)
    require_broadcastable("positions", positions, x.shape[:-1])
    cos, sin = rope_cos_sin(positions, D, base=base, dtype=x.dtype)
    g = constant(gamma, like=x)
    zeta = (2 * xp.arange(D // 2, dtype=x.dtype, device=device(x)) / D + g) / (1 + g)  # (F,)
    steps = (centre - positions) if keys else (positions - centre)
    z = xp.pow(zeta, xp.astype(steps, x.dtype)[..., None] / constant(scale_base, like=x))  # (..., T, F)
    y, rope = rope_forward(x, z * cos, z * sin, interleaved=interleaved)
    return y, XposResiduals(rope)


@checked
def xpos_backward(dy: Float[Array, "*B T D"], residuals: XposResiduals) -> Float[Array, "*B T D"]:
    """Return dx: turned back, but scaled by z once more, as the transpose is; the inverse would divide by it.

    dx = z R(-p θ) dy
    """
    dx, _, _ = rope_backward(dy, residuals.rope)  # y = rope(x, z cos, z sin)
    return dx
