"""Mistakes in latent attention."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, AttentionResiduals, attention_backward, attention_forward
from ..attention.mla import MlaAttentionResiduals, mla_attention_backward, mla_attention_forward
from ..namespace import Array, array_namespace
from ..rotary.rope import rope_backward
from .mistake import Mistake, changed, rewired, then
from .qk_norms import unprojected


def _rope_first(q: Array, R: int) -> Array:
    """Read [rope | nope] as if it were [nope | rope]."""
    return array_namespace(q).concat([q[..., R:], q[..., :R]], axis=-1)


def _rope_first_back(gradients: Any) -> Any:
    R = gradients.k_rope.shape[-1]
    return gradients._replace(q=_rope_first(gradients.q, gradients.q.shape[-1] - R))


ALL_KEYS = changed(attention_forward, q_offset=lambda a: None)


def _first_head_backward(dy: Attention, residuals: MlaAttentionResiduals) -> Any:
    """Undo the rotation of the first head's key alone."""
    first: list[Any] = []

    def attend(dy: Attention, attention: AttentionResiduals) -> Any:
        gradients = attention_backward(dy, attention)
        R = residuals.rope_k.x.shape[-1]
        first.append(gradients[1][..., :1, :, -R:])
        return gradients

    right = rewired(mla_attention_backward, attention_backward=attend)(dy, residuals)
    dk_rope, _, _ = rope_backward(first[0], residuals.rope_k)
    return right._replace(k_rope=dk_rope[..., 0, :, :])


def _no_rows(dtable: Array, residuals: MlaAttentionResiduals) -> Array:
    return residuals.rope_k.cos * 0


# fmt: off
MLA_ATTENTION: dict[str, Mistake] = {
    "mla.scale_of_nope": Mistake(
        "mla_attention", "SCALE", "1/√N → 1/√(N + R)",
        "the channels of positions are forgotten in the scale", convention="attention.scale_inverse_sqrt_width",
        forward=changed(mla_attention_forward, scale=lambda a: (
            (a.q.shape[-1] - a.k_rope.shape[-1]) ** -0.5 if a.scale is None else a.scale))),
    "mla.mscale_missing": Mistake(
        "mla_attention", "SCALE", "1/√(N + R) → the scale that is given, with the square of YaRN's m(mscale) in it",
        "right for models whose text was not stretched",
        forward=changed(mla_attention_forward, scale=lambda a: None)),
    "mla.rope_first": Mistake(
        "mla_attention", "LAYOUT", "q = [rope | nope] → [nope | rope]",
        "the wrong channels turn", convention="mla_attention.nope_first",
        forward=changed(mla_attention_forward, q=lambda a: _rope_first(a.q, a.k_rope.shape[-1])),
        backward=then(mla_attention_backward, _rope_first_back)),
    "mla.layout_swapped": Mistake(
        "mla_attention", "LAYOUT", "pairs (i, i + R/2) → pairs (2i, 2i + 1), and the other way round",
        "pretrained weights give fluent nonsense", ("meganeura#38", "nanotron#427"), convention="rope.interleaved",
        forward=changed(mla_attention_forward, interleaved=lambda a: not a.interleaved)),
    "mla.causal_ignored": Mistake(
        "mla_attention", "MASK", "every key → j ≤ q_offset + i",
        "a training loss too good to be true",
        forward=rewired(mla_attention_forward, attention_forward=ALL_KEYS)),
    "mla.k_rope_of_one_head": Mistake(
        "mla_attention", "GRADIENT", "dk_rope of the first head → sum over heads",
        "right for one head",
        backward=_first_head_backward),
    "mla.norm_detached": Mistake(
        "mla_attention", "GRADIENT", "dlatent = dc · norm_weight / rms → through the norm as well",
        "the length of the latent, which does not count, is pushed about",
        backward=rewired(mla_attention_backward, rms_norm_backward=unprojected)),
    "mla.table_gradient_of_k_only": Mistake(
        "mla_attention", "GRADIENT", "dcos, dsin of k → of k and of q",
        "learned frequencies learn half",
        backward=rewired(mla_attention_backward, _rows=_no_rows)),
}
