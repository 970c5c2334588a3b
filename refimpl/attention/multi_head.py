"""Multi-head attention: project, let positions in, attend, project back."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Bool, Float

from ..errors import require, require_shape, require_sizes
from ..namespace import Array
from ..rotary.rope import RopeResiduals, rope_backward, rope_forward
from ..signatures import checked
from .attention import Attention, AttentionResiduals, attention_backward, attention_forward
from .heads import merge_heads, split_heads
from .linear import LinearResiduals, linear_backward, linear_forward


class MultiHeadResiduals(NamedTuple):
    """The residuals of the parts, in the order of the forward pass."""

    q: LinearResiduals
    k: LinearResiduals
    v: LinearResiduals
    rope_q: RopeResiduals | None
    rope_k: RopeResiduals | None
    attention: AttentionResiduals
    out: LinearResiduals
    crossed: bool


class MultiHeadGradients(NamedTuple):
    """One gradient an input, in their order; None for what was absent."""

    x: Array
    w_q: Array
    w_k: Array
    w_v: Array
    w_o: Array
    b_q: Array | None
    b_k: Array | None
    b_v: Array | None
    b_o: Array | None
    context: Array | None
    cos: Array | None
    sin: Array | None
    bias: Array | None
    sink: Array | None


@checked
def multi_head_attention_forward(
    x: Float[Array, "*B T C"],
    w_q: Float[Array, "C HD"],
    w_k: Float[Array, "K GD"],
    w_v: Float[Array, "K GE"],
    w_o: Float[Array, "HE O"],
    b_q: Float[Array, " HD"] | None = None,
    b_k: Float[Array, " GD"] | None = None,
    b_v: Float[Array, " GE"] | None = None,
    b_o: Float[Array, " O"] | None = None,
    context: Float[Array, "*B S K"] | None = None,
    cos: Float[Array, "..."] | None = None,
    sin: Float[Array, "..."] | None = None,
    bias: Float[Array, "..."] | None = None,
    sink: Float[Array, " H"] | None = None,
    *,
    H: int,
    G: int | None = None,
    mask: Bool[Array, "..."] | None = None,
    keep: Bool[Array, "..."] | None = None,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    interleaved: bool = True,
) -> tuple[Float[Array, "*B T O"], MultiHeadResiduals]:
    """Attend with several heads, each in its own projection.

        q = rope(heads(x w_q + b_q)),   k = rope(heads(c w_k + b_k)),   v = heads(c w_v + b_v),      c = context, or x
        y = concat of heads(attention(q, k, v, bias, sink)) w_o + b_o

    The three doors: encodings that are added came in with x; cos and sin turn q and k; bias joins the logits.

    H: query heads; G: key and value heads, default H. The width of a head follows from the weights.
    cos, sin: as in `rope_forward`, for self-attention; with a context q and k share no axis of positions, and asking
    for both is an error. sink, mask, keep, p, q_offset, scale, softcap: as in `attention_forward`.
    Source: Vaswani et al. 2017, section 3.2.2.
    Raises ValueError for widths that do not divide into heads, cos without sin, or rotation with a context.
    """
    G = H if G is None else G
    source = x if context is None else context
    _require_doors(H, G, context, cos, sin)
    _require_weights(H, G, source.shape[-1], w_q, w_k, w_v, w_o)
    q, project_q = linear_forward(x, w_q, b_q)  # (*B, T, H·D)
    k, project_k = linear_forward(source, w_k, b_k)  # (*B, S, G·D)
    v, project_v = linear_forward(source, w_v, b_v)  # (*B, S, G·E)
    q, k, v = split_heads("w_q", q, H), split_heads("w_k", k, G), split_heads("w_v", v, G)  # (*B, H, T, D) ...
    rope_q = rope_k = None
    if cos is not None and sin is not None:
        q, rope_q = rope_forward(q, cos, sin, interleaved=interleaved)
        k, rope_k = rope_forward(k, cos, sin, interleaved=interleaved)
    options: Any = {"mask": mask, "keep": keep, "p": p, "q_offset": q_offset, "scale": scale, "softcap": softcap}
    attended, attention = attention_forward(q, k, v, bias, sink, **options)
    y, out = linear_forward(merge_heads(attended.y), w_o, b_o)  # (*B, T, O)
    residuals = MultiHeadResiduals(project_q, project_k, project_v, rope_q, rope_k, attention, out, context is not None)
    return y, residuals


@checked
def multi_head_attention_backward(dy: Float[Array, "*B T O"], residuals: MultiHeadResiduals) -> MultiHeadGradients:
    """Return the gradient of every input: the parts of the forward pass, undone in reverse.

    In self-attention x is read three times, as queries, keys and values, and collects three shares; cos and sin are
    used twice and collect two.
    """
    r = residuals
    H = r.attention.q.shape[-3]
    dheads, dw_o, db_o = linear_backward(dy, r.out)  # y = merged w_o + b_o
    dattended = Attention(split_heads("w_o", dheads, H), None)
    dq, dk, dv, dbias, dsink = attention_backward(dattended, r.attention)
    dcos = dsin = None
    if r.rope_q is not None and r.rope_k is not None:
        dq, dcos_q, dsin_q = rope_backward(dq, r.rope_q)  # q = rope(q, cos, sin)
        dk, dcos_k, dsin_k = rope_backward(dk, r.rope_k)  # k = rope(k, cos, sin)
        dcos, dsin = dcos_q + dcos_k, dsin_q + dsin_k
    dx, dw_q, db_q = linear_backward(merge_heads(dq), r.q)  # q = x w_q + b_q
    dkeys, dw_k, db_k = linear_backward(merge_heads(dk), r.k)  # k = c w_k + b_k
    dvalues, dw_v, db_v = linear_backward(merge_heads(dv), r.v)  # v = c w_v + b_v
    dsource = dkeys + dvalues
    dx, dcontext = (dx, dsource) if r.crossed else (dx + dsource, None)
    return MultiHeadGradients(dx, dw_q, dw_k, dw_v, dw_o, db_q, db_k, db_v, db_o, dcontext, dcos, dsin, dbias, dsink)


def _require_doors(H: int, G: int, context: Array | None, cos: Array | None, sin: Array | None) -> None:
    """Raise ValueError for options that contradict each other."""
    require_sizes(H=H, G=G)
    require(H % G == 0, "G", G, f"a divisor of H = {H}")
    require((cos is None) == (sin is None), "sin" if sin is None else "cos", "None", "cos and sin together")
    require(cos is None or context is None, "cos", "a table", "None with a context (q and k share no positions)")


def _require_weights(H: int, G: int, K: int, w_q: Array, w_k: Array, w_v: Array, w_o: Array) -> None:
    """Raise ValueError unless the weights divide into heads, and these meet."""
    for name, weight, heads in (("w_q", w_q, H), ("w_v", w_v, G)):
        require(weight.shape[1] % heads == 0, name, f"width {weight.shape[1]}", f"a multiple of {heads} heads")
    D, E = w_q.shape[1] // H, w_v.shape[1] // G
    require_shape("w_k", w_k, (K, G * D))
    require_shape("w_v", w_v, (K, G * E))
    require_shape("w_o", w_o, (H * E, "O"))
