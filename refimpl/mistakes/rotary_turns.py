"""Mistakes in rotations of a part of the channels: partial, axial, and the decoupled part of MLA."""

from __future__ import annotations

from typing import Any

from ..namespace import Array, array_namespace
from ..rotary.axial import axial_rope_backward, axial_rope_forward
from ..rotary.mla import MlaRope, MlaRopeResiduals, mla_rope_backward, mla_rope_forward
from ..rotary.partial import PartialRopeResiduals, partial_rope_backward, partial_rope_forward
from .mistake import Mistake, changed, rewired, taking_arguments_of, then
from .rotary import turned_forward_again


def _last_first(x: Array, R: int) -> Array:
    """Bring the last R channels to the front."""
    return array_namespace(x).roll(x, R, axis=-1)


@taking_arguments_of(partial_rope_forward)
def _last(x: Array, cos: Array, sin: Array, **options: Any) -> Any:
    R = 2 * cos.shape[-1]
    y, residuals = partial_rope_forward(_last_first(x, R), cos, sin, **options)
    return _last_first(y, -R), residuals


@taking_arguments_of(partial_rope_backward)
def _last_backward(dy: Array, residuals: PartialRopeResiduals) -> Any:
    R = residuals.rope.x.shape[-1]
    dx, dcos, dsin = partial_rope_backward(_last_first(dy, R), residuals)
    return _last_first(dx, -R), dcos, dsin


def _order(D: int, R: int) -> list[int]:
    """Channels i and i + D//2 for i < R/2, then the rest."""
    turned = [*range(R // 2), *range(D // 2, D // 2 + R // 2)]
    return turned + [i for i in range(D) if i not in turned]


def _taken(x: Array, order: list[int]) -> Array:
    xp = array_namespace(x)
    return xp.take(x, xp.asarray(order), axis=-1)


def _inverse(order: list[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


@taking_arguments_of(partial_rope_forward)
def _across(x: Array, cos: Array, sin: Array, *, interleaved: bool = True) -> Any:
    order = list(range(x.shape[-1])) if interleaved else _order(x.shape[-1], 2 * cos.shape[-1])
    y, residuals = partial_rope_forward(_taken(x, order), cos, sin, interleaved=interleaved)
    return _taken(y, _inverse(order)), residuals


@taking_arguments_of(partial_rope_backward)
def _across_backward(dy: Array, residuals: PartialRopeResiduals) -> Any:
    D, R, interleaved = dy.shape[-1], residuals.rope.x.shape[-1], residuals.rope.interleaved
    order = list(range(D)) if interleaved else _order(D, R)
    dx, dcos, dsin = partial_rope_backward(_taken(dy, order), residuals)
    return _taken(dx, _inverse(order)), dcos, dsin


@taking_arguments_of(partial_rope_backward)
def _rest_without_gradient(dy: Array, residuals: PartialRopeResiduals) -> Any:
    R = residuals.rope.x.shape[-1]
    dx, dcos, dsin = partial_rope_backward(dy, residuals)
    return array_namespace(dx).concat([dx[..., :R], dx[..., R:] * 0], axis=-1), dcos, dsin


def _position_first(result: tuple[MlaRope, MlaRopeResiduals]) -> Any:
    (q, k), residuals = result
    R = residuals.q_rope.x.shape[-1]
    return MlaRope(_last_first(q, R), _last_first(k, R)), residuals


@taking_arguments_of(mla_rope_backward)
def _position_first_backward(dy: MlaRope, residuals: MlaRopeResiduals) -> Any:
    content_first = (None if d is None else _last_first(d, residuals.width) for d in dy)
    return mla_rope_backward(MlaRope(*content_first), residuals)


@taking_arguments_of(mla_rope_backward)
def _shared_by_mean(dy: MlaRope, residuals: MlaRopeResiduals) -> Any:
    dq_nope, dq_pe, dk_nope, dk_pe, *tables = mla_rope_backward(dy, residuals)
    return dq_nope, dq_pe, dk_nope, dk_pe / dk_nope.shape[-3], *tables


@taking_arguments_of(mla_rope_backward)
def _tables_of_queries(dy: MlaRope, residuals: MlaRopeResiduals) -> Any:
    *gradients, dcos, dsin = mla_rope_backward(dy, residuals)
    if dy.q is None:
        return *gradients, dcos * 0, dsin * 0
    return *gradients, *mla_rope_backward(MlaRope(dy.q, None), residuals)[4:]


def _flipped(positions: Array) -> Array:
    return array_namespace(positions).flip(positions, axis=0)


# fmt: off
PARTIAL_ROPE: dict[str, Mistake] = {
    "partial.last_channels": Mistake(
        "partial_rope", "LAYOUT", "the last R channels turned → the first",
        "pretrained weights give nonsense; trained from scratch all is well",
        forward=_last, backward=_last_backward),
    "partial.pairs_across_the_head": Mistake(
        "partial_rope", "LAYOUT", "pairs (i, i + D/2) → (i, i + R/2)",
        "pretrained weights give nonsense; trained from scratch all is well",
        ("pie#602", "cascadia#69", "vllm#43770"),
        forward=_across, backward=_across_backward),
    "partial.layout_swapped": Mistake(
        "partial_rope", "LAYOUT", "pairs (i, i + R/2) → (2i, 2i + 1)",
        "pretrained weights give nonsense; trained from scratch all is well",
        forward=changed(partial_rope_forward, interleaved=lambda a: False)),
    "partial.rest_without_gradient": Mistake(
        "partial_rope", "GRADIENT", "dx = [turned back | 0] → [turned back | dy]",
        "content channels do not learn",
        backward=_rest_without_gradient),
    "partial.backward_forward_again": Mistake(
        "partial_rope", "GRADIENT", "dx turned by +angle → by −angle",
        "position 0 learns, later ones learn noise", ("Megatron-LM#5944",),
        backward=rewired(partial_rope_backward, rope_backward=turned_forward_again)),
}

AXIAL_ROPE: dict[str, Mistake] = {
    "axial_rope.interleaved": Mistake(
        "axial_rope", "LAYOUT", "channels [x | y], pairs (2i, 2i + 1) → the layout that is asked for",
        "pretrained weights see noise; trained from scratch all is well",
        forward=changed(axial_rope_forward, layout=lambda a: "interleaved")),
    "axial_rope.halves": Mistake(
        "axial_rope", "LAYOUT", "channels [h | w | h | w] → the layout that is asked for",
        "pretrained weights see noise; trained from scratch all is well",
        forward=changed(axial_rope_forward, layout=lambda a: "halves")),
    "axial_rope.axes_swapped": Mistake(
        "axial_rope", "LAYOUT", "positions as (y, x) → in the order given",
        "pretrained weights see the image mirrored at its diagonal",
        forward=changed(axial_rope_forward, positions=lambda a: _flipped(a.positions))),
    "axial_rope.backward_forward_again": Mistake(
        "axial_rope", "GRADIENT", "dx turned by +angle → by −angle",
        "patch (0, 0) learns, the others learn noise",
        backward=rewired(axial_rope_backward, rope_backward=turned_forward_again)),
}

MLA_ROPE: dict[str, Mistake] = {
    "mla_rope.position_first": Mistake(
        "mla_rope", "LAYOUT", "[position | content] → [content | position]",
        "scores agree, cached keys do not",
        forward=then(mla_rope_forward, _position_first), backward=_position_first_backward),
    "mla_rope.layout_swapped": Mistake(
        "mla_rope", "LAYOUT", "pairs (i, i + R/2) → (2i, 2i + 1)",
        "pretrained weights give nonsense; trained from scratch all is well", convention="rope.interleaved",
        forward=changed(mla_rope_forward, interleaved=lambda a: False)),
    "mla_rope.k_pe_gradient_mean": Mistake(
        "mla_rope", "GRADIENT", "dk_pe: mean over heads → sum",
        "the shared key learns too slowly",
        backward=_shared_by_mean),
    "mla_rope.table_gradient_of_q_alone": Mistake(
        "mla_rope", "GRADIENT", "dcos, dsin of the queries → of queries and keys",
        "learned frequencies follow the queries alone",
        backward=_tables_of_queries),
    "mla_rope.backward_forward_again": Mistake(
        "mla_rope", "GRADIENT", "dq_pe, dk_pe turned by +angle → by −angle",
        "position 0 learns, later ones learn noise",
        backward=rewired(mla_rope_backward, rope_backward=turned_forward_again)),
}
