"""The decoupled part of multi-head latent attention: content and position in separate channels."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require_cotangents
from ..namespace import Array, array_namespace
from ..signatures import checked
from .rope import RopeResiduals, require_pairs, rope_backward, rope_forward


class MlaRope(NamedTuple):
    """Queries and keys for attention, and in backward their cotangents, None meaning zero."""

    q: Float[Array, "*B H T K"] | None
    k: Float[Array, "*B H T K"] | None


class MlaRopeResiduals(NamedTuple):
    """What the gradient needs: both rotations."""

    q_rope: RopeResiduals
    k_rope: RopeResiduals
    width: int  # of the content


@checked
def mla_rope_forward(
    q_nope: Float[Array, "*B H T D"],
    q_pe: Float[Array, "*B H T R"],
    k_nope: Float[Array, "*B H T D"],
    k_pe: Float[Array, "*B T R"],
    cos: Float[Array, "T F"],
    sin: Float[Array, "T F"],
    *,
    interleaved: bool = True,
    interleaved_output: bool | None = None,
) -> tuple[MlaRope, MlaRopeResiduals]:
    """Put content and turned position side by side, in queries and keys.

        q[h] = [q_nope[h] | rope(q_pe[h])]
        k[h] = [k_nope[h] | rope(k_pe)]          one k_pe for all heads

    Content keys are a linear map of a cached latent, which a rotation between the two would keep from being absorbed
    into the queries. So position goes through R channels of its own; the cache holds the latent and one turned k_pe.

    cos, sin: (T, R/2). interleaved_output: as in `rope`; False is what transformers' DeepSeek-V3 writes.
    Scores of D + R channels are divided by √(D + R), attention's default.
    Source: DeepSeek-AI 2024 (DeepSeek-V2), equations 14 to 17.
    Raises ValueError for shapes that do not meet.
    """
    xp = array_namespace(q_nope, q_pe, k_nope, k_pe, cos, sin)
    require_pairs("q_pe", q_pe.shape[-1])
    output = interleaved if interleaved_output is None else interleaved_output
    q_turned, q_rope = rope_forward(q_pe, cos, sin, interleaved=interleaved, interleaved_output=output)  # (*B, H, T, R)
    k_turned, k_rope = rope_forward(k_pe, cos, sin, interleaved=interleaved, interleaved_output=output)  # (*B, T, R)
    q = xp.concat([q_nope, q_turned], axis=-1)
    k = xp.concat([k_nope, xp.broadcast_to(k_turned[..., None, :, :], q_turned.shape)], axis=-1)
    return MlaRope(q, k), MlaRopeResiduals(q_rope, k_rope, q_nope.shape[-1])


@checked
def mla_rope_backward(
    dy: MlaRope, residuals: MlaRopeResiduals
) -> tuple[
    Float[Array, "*B H T D"],
    Float[Array, "*B H T R"],
    Float[Array, "*B H T D"],
    Float[Array, "*B T R"],
    Float[Array, "T F"],
    Float[Array, "T F"],
]:
    """Return (dq_nope, dq_pe, dk_nope, dk_pe, dcos, dsin): what all heads share collects from all of them.

    dq_nope = dq[:D],  dq_pe = rope(dq[D:], cos, -sin)
    dk_nope = dk[:D],  dk_pe = rope(sum over heads of dk[D:], cos, -sin)
    dcos, dsin         from both rotations
    """
    xp = array_namespace(*dy)
    q_rope, k_rope, D = residuals
    some = dy.k if dy.q is None else dy.q
    *rows, R = q_rope.x.shape
    require_cotangents(dy, q=(*rows, D + R), k=(*rows, D + R))
    dq, dk = (xp.zeros_like(some) if d is None else d for d in dy)
    dq_pe, dcos_q, dsin_q = rope_backward(dq[..., D:], q_rope)  # q = [q_nope | rope(q_pe)]
    dk_pe, dcos_k, dsin_k = rope_backward(xp.sum(dk[..., D:], axis=-3), k_rope)  # k = [k_nope | rope(k_pe)]
    return dq[..., :D], dq_pe, dk[..., :D], dk_pe, dcos_q + dcos_k, dsin_q + dsin_k
