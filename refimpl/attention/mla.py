"""Multi-head latent attention: one small vector a token is all that is cached."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..embeddings.rms_norm import RmsNormResiduals, rms_norm_backward, rms_norm_forward
from ..errors import require
from ..namespace import Array, array_namespace
from ..rotary.rope import RopeResiduals, require_pairs, rope_backward, rope_forward
from ..signatures import checked
from .attention import Attention, AttentionResiduals, attention_backward, attention_forward
from .heads import merge_heads, split_heads
from .linear import LinearResiduals, linear_backward, linear_forward


class MlaAttentionResiduals(NamedTuple):
    """The residuals of the parts, in the order of the forward pass."""

    norm: RmsNormResiduals
    uk: LinearResiduals
    uv: LinearResiduals
    rope_k: RopeResiduals
    rope_q: RopeResiduals
    attention: AttentionResiduals
    q_offset: int


class MlaAttentionGradients(NamedTuple):
    """One gradient an input, in their order."""

    q: Array
    latent: Array
    k_rope: Array
    norm_weight: Array
    w_uk: Array
    w_uv: Array
    cos: Array
    sin: Array


@checked
def mla_attention_forward(
    q: Float[Array, "*B H T NR"],
    latent: Float[Array, "*B S L"],
    k_rope: Float[Array, "*B S R"],
    norm_weight: Float[Array, " L"],
    w_uk: Float[Array, "L HN"],
    w_uv: Float[Array, "L HE"],
    cos: Float[Array, "S F"],
    sin: Float[Array, "S F"],
    *,
    q_offset: int,
    eps: float = 1e-6,
    mask: Bool[Array, "..."] | None = None,
    scale: float | None = None,
    interleaved: bool = True,
) -> tuple[Attention, MlaAttentionResiduals]:
    """Attend to keys and values that are unpacked from one latent vector a token.

        c      = latent / sqrt(mean of latent² + eps) · norm_weight
        k      = [heads(c w_uk) | rope(k_rope)]        v = heads(c w_uv)
        y, lse = attention([q_nope | rope(q_rope)], k, v),        q = [q_nope | q_rope]

    Only latent and k_rope are cached, whatever the number of heads. Positions cannot enter k_nope: a rotation between
    q and w_uk would keep (q_nope w_ukᵀ)·c from being formed once a query instead of once a key. So they have channels
    of their own, turned and shared by all heads.

    q: N channels without position, then R to be turned. Head h owns columns h N .. (h+1) N of w_uk, h E .. of w_uv.
    cos, sin: one row a key position, 0 .. S-1; query i reads row q_offset + i, and sees the keys up to there.
    scale: default 1/√(N + R). mask: broadcasts to (*B, H, T, S). interleaved: pairs, as in `rope_forward`.
    Source: DeepSeek-AI 2024 (DeepSeek-V2), equations 9 to 19; the norm of the latent: the released
    code.
    Raises ValueError for widths that do not meet, or queries that stand outside the keys' positions.
    """
    H, T, width = q.shape[-3:]
    S, R = k_rope.shape[-2:]
    N = width - R
    require(N >= 0, "q", f"width {width}", f"at least {R}, the width of k_rope")
    require_pairs("k_rope", R)
    require(w_uk.shape[1] == H * N, "w_uk", f"width {w_uk.shape[1]}", f"{H * N} = {H} heads of {width} - {R}")
    inside = q_offset >= 0 and q_offset + T <= S
    require(inside, "q_offset", q_offset, f"0 .. {S - T}, so that {T} queries stand among {S} keys")
    c, norm = rms_norm_forward(latent, norm_weight, eps=eps)  # (*B, S, L)
    k_nope, uk = linear_forward(c, w_uk)  # (*B, S, H·N)
    values, uv = linear_forward(c, w_uv)  # (*B, S, H·E)
    k_turned, rope_k = rope_forward(k_rope[..., None, :, :], cos, sin, interleaved=interleaved)  # (*B, 1, S, R)
    at = slice(q_offset, q_offset + T)
    q_turned, rope_q = rope_forward(q[..., N:], cos[at, :], sin[at, :], interleaved=interleaved)  # (*B, H, T, R)
    xp = array_namespace(q, latent)
    k = xp.concat([split_heads("w_uk", k_nope, H), xp.repeat(k_turned, H, axis=-3)], axis=-1)  # (*B, H, S, N + R)
    turned = xp.concat([q[..., :N], q_turned], axis=-1)  # (*B, H, T, N + R)
    v = split_heads("w_uv", values, H)  # (*B, H, S, E)
    attended, attention = attention_forward(turned, k, v, mask=mask, q_offset=q_offset, scale=scale)
    return attended, MlaAttentionResiduals(norm, uk, uv, rope_k, rope_q, attention, q_offset)


@checked
def mla_attention_backward(dy: Attention, residuals: MlaAttentionResiduals) -> MlaAttentionGradients:
    """Return the gradient of every input: the parts of the forward pass, undone in reverse.

        dk_rope = rope back(sum over heads of dk's last R channels)        dc = dk_nope w_ukᵀ + dv w_uvᵀ

    What all heads share collects a share from each; rows of cos and sin collect from the key and, where one stands
    there, from the query.
    """
    xp = array_namespace(*dy)
    r = residuals
    dturned, dk, dv, _, _ = attention_backward(dy, r.attention)
    N = dturned.shape[-1] - r.rope_q.x.shape[-1]
    dq_rope, dcos_q, dsin_q = rope_backward(dturned[..., N:], r.rope_q)  # q_turned = rope(q_rope)
    dq = xp.concat([dturned[..., :N], dq_rope], axis=-1)  # turned = [q_nope | q_turned]
    dk_turned = xp.sum(dk[..., N:], axis=-3, keepdims=True)  # one k_turned for all heads
    dk_rope, dcos_k, dsin_k = rope_backward(dk_turned, r.rope_k)  # k_turned = rope(k_rope)
    dcos, dsin = dcos_k + _rows(dcos_q, r), dsin_k + _rows(dsin_q, r)
    dc_k, dw_uk, _ = linear_backward(merge_heads(dk[..., :N]), r.uk)  # k_nope = c w_uk
    dc_v, dw_uv, _ = linear_backward(merge_heads(dv), r.uv)  # v = c w_uv
    dlatent, dnorm_weight = rms_norm_backward(dc_k + dc_v, r.norm)  # c = rms_norm(latent) · norm_weight
    return MlaAttentionGradients(dq, dlatent, dk_rope[..., 0, :, :], dnorm_weight, dw_uk, dw_uv, dcos, dsin)


def _rows(dtable: Float[Array, "T F"], r: MlaAttentionResiduals) -> Float[Array, "S F"]:
    """Put the gradient of the queries' rows among those of all positions."""
    xp = array_namespace(dtable)
    S = r.rope_k.cos.shape[0]
    before, after = r.q_offset, S - r.q_offset - dtable.shape[0]
    return xp.concat([xp.zeros_like(r.rope_k.cos[:before, :]), dtable, xp.zeros_like(r.rope_k.cos[S - after :, :])])
