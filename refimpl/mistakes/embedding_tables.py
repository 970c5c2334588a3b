"""Mistakes in tables: their options, the tied head, segments, position rules, another grid."""

from __future__ import annotations

from typing import Any

from ..embeddings.interpolate import interpolate_positions_backward, interpolate_positions_forward
from ..embeddings.learned import learned_position_backward
from ..embeddings.position_rules import positions_from_offset, positions_from_padding, positions_in_documents
from ..embeddings.renorm import renorm_table
from ..embeddings.resize import resize_matrix
from ..embeddings.segment import segment_embedding_backward, segment_embedding_forward
from ..embeddings.tied_head import TiedHeadResiduals, tied_head_backward, tied_head_forward
from ..embeddings.token import TokenEmbeddingResiduals, token_embedding_backward
from ..namespace import Array, array_namespace, constant, device
from .embeddings import _last_write_wins
from .linear import _square_transposed
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then


def _counted_by_sequence(dy: Array, residuals: TokenEmbeddingResiduals) -> Array:
    xp, ids = array_namespace(dy), residuals.ids
    if not residuals.scale_grad_by_freq:
        return token_embedding_backward(dy, residuals)
    places = xp.sum(xp.astype(ids[..., :, None] == ids[..., None, :], ids.dtype), axis=-1)
    dy = dy / xp.astype(places, dy.dtype)[..., None]
    return token_embedding_backward(dy, residuals._replace(scale_grad_by_freq=False))


@taking_arguments_of(renorm_table)
def _lengthened(ids: Array, weight: Array, *, max_norm: float, eps: float = 1e-7) -> Array:
    xp = array_namespace(weight)
    norm = xp.sqrt(xp.sum(weight * weight, axis=-1, keepdims=True))
    looked_up = xp.any(xp.reshape(ids, (-1, 1)) == xp.arange(weight.shape[0]), axis=0)
    longer = weight * (constant(max_norm, like=weight) / (norm + constant(eps, like=weight)))
    return xp.where(looked_up[:, None], longer, weight)


@taking_arguments_of(renorm_table)
def _by_sum_of_sizes(ids: Array, weight: Array, *, max_norm: float, eps: float = 1e-7) -> Array:
    xp = array_namespace(weight)
    limit = constant(max_norm, like=weight)
    norm = xp.sum(xp.abs(weight), axis=-1, keepdims=True)
    excess = xp.maximum(norm, limit) - limit
    factor = limit / (xp.maximum(norm, limit) + constant(eps, like=weight) * xp.sign(excess))
    looked_up = xp.any(xp.reshape(ids, (-1, 1)) == xp.arange(weight.shape[0]), axis=0)
    return xp.where(looked_up[:, None], weight * factor, weight)


def _root_of_width(x: Array) -> Array:
    return array_namespace(x).sqrt(constant(x.shape[-1], like=x))


def _share_of_last(dy: Array, residuals: TiedHeadResiduals) -> Any:
    dh, _, dbias = tied_head_backward(dy, residuals)
    return dh, tied_head_backward(dy[-1:, ...], residuals._replace(h=residuals.h[-1:, ...]))[1], dbias


@taking_arguments_of(positions_from_padding)
def _padding_keeps_count(mask: Array, *, first: int = 2, padding_position: int = 1) -> Array:
    xp = array_namespace(mask)
    return first - 1 + xp.cumulative_sum(xp.astype(mask, xp.int64), axis=-1)


@taking_arguments_of(positions_in_documents)
def _by_number(documents: Array, *, first: int = 0) -> Array:
    xp = array_namespace(documents)
    t = xp.arange(documents.shape[-1])
    same = (documents[..., :, None] == documents[..., None, :]) & (t[None, :] < t[:, None])
    return first + xp.sum(xp.astype(same, documents.dtype), axis=-1)


def _one_place_back(x: Array) -> Array:
    xp = array_namespace(x)
    return xp.concat([x[..., :1], xp.maximum(x[..., 1:], x[..., :-1])], axis=-1)


def _corners_aligned(n: int, m: int, antialias: bool, *, like: Array) -> Array:
    """Interpolate linearly at x = i (n - 1) / (m - 1)."""
    xp = array_namespace(like)
    x, t, step = xp.arange(m)[:, None] * (n - 1), xp.arange(n)[None, :], max(m - 1, 1)
    weights = xp.maximum(step - xp.abs(x - t * step), xp.asarray(0, device=device(like)))
    return xp.astype(weights, like.dtype) / step


def _edge_dropped(n: int, m: int, antialias: bool, *, like: Array) -> Array:
    """Widen the line by the missing points, and leave those out: edges fade."""
    padded = resize_matrix(3 * n, 3 * m, antialias, like=like)
    return padded[m : 2 * m, n : 2 * n]


def _resized_back(matrix: Array) -> Array:
    new, old = matrix.shape
    return resize_matrix(new, old, False, like=matrix).mT


def _prefix_lost(dy: Array, residuals: Any) -> Array:
    xp = array_namespace(dy)
    prefix = xp.arange(dy.shape[0])[:, None] < residuals.prefix
    return interpolate_positions_backward(xp.where(prefix, 0.0, dy), residuals)


# fmt: off
EMBEDDING_TABLES: dict[str, Mistake] = {
    "embedding.freq_ignored": Mistake(
        "token_embedding", "GRADIENT", "dweight[v] = sum over the places of v → divided by their number",
        "frequent tokens learn faster than asked for",
        convention="embedding.grad_by_frequency",
        backward=remembering(token_embedding_backward, scale_grad_by_freq=lambda r: False)),
    "embedding.freq_by_sequence": Mistake(
        "token_embedding", "GRADIENT", "divided by how often the id occurs in its sequence → in the whole batch",
        "right for a batch of one",
        backward=_counted_by_sequence),
    "renorm.all_rows": Mistake(
        "renorm_table", "INDEXING", "every row is cut back → those that are looked up",
        "rows that no token asked for change as well",
        forward=changed(renorm_table, ids=lambda a: array_namespace(a.ids).arange(a.weight.shape[0]))),
    "renorm.short_rows_grow": Mistake(
        "renorm_table", "EDGE", "every row gets length max_norm → only one that is longer",
        "rare words become as loud as frequent ones",
        forward=_lengthened),
    "renorm.sum_of_sizes": Mistake(
        "renorm_table", "SCALE", "norm = sum of |w| → sqrt(sum of w^2)",
        "rows come out about √C times too short",
        forward=_by_sum_of_sizes),
    "renorm.eps_missing": Mistake(
        "renorm_table", "EDGE", "max_norm / norm → max_norm / (norm + eps)",
        "rows are longer than PyTorch's by eps / norm",
        forward=changed(renorm_table, eps=lambda a: 0.0)),
    "tied_head.scaled": Mistake(
        "tied_head", "SCALE", "√C h · weight → h · weight: √C belongs to the lookup alone",
        "logits are √C times too sharp",
        forward=changed(tied_head_forward, h=lambda a: a.h * _root_of_width(a.h)),
        backward=then(tied_head_backward, lambda g: (g[0] * _root_of_width(g[0]), *g[1:]))),
    "tied_head.not_transposed": Mistake(
        "tied_head", "LAYOUT", "h @ weight → h @ weightᵀ",
        "an error, unless there are as many tokens as channels",
        forward=changed(tied_head_forward, weight=lambda a: _square_transposed(a.weight)),
        backward=then(tied_head_backward, lambda g: (g[0], _square_transposed(g[1]), g[2]))),
    "tied_head.share_missing": Mistake(
        "tied_head", "GRADIENT", "the table learns from the lookup alone → from the head as well",
        "rows that are never read never learn",
        backward=then(tied_head_backward, lambda g: (g[0], g[1] * 0, g[2]))),
    "tied_head.share_of_last": Mistake(
        "tied_head", "GRADIENT", "dweight of the last sequence → sum over all",
        "right for a batch of one",
        backward=_share_of_last),
    "segment.all_first": Mistake(
        "segment_embedding", "INDEXING", "every token reads row 0 → the row of its segment",
        "the model cannot tell the second sentence",
        forward=changed(segment_embedding_forward, segments=lambda a: a.segments * 0)),
    "segment.numbered_from_one": Mistake(
        "segment_embedding", "OFFSET", "row segment − 1 → row segment",
        "0 reads the last row, by wrapping around",
        forward=changed(segment_embedding_forward, segments=lambda a: (a.segments - 1) % a.weight.shape[0])),
    "segment.grad_overwrite": Mistake(
        "segment_embedding", "GRADIENT", "dweight[segments] = dy → dweight[segments] += dy",
        "a segment learns from its last token only",
        backward=rewired(segment_embedding_backward, scatter_add=_last_write_wins)),
    "positions.offset_missing": Mistake(
        "positions_from_offset", "OFFSET", "start + t → start + offset + t",
        "noise from tables that begin to count at 2", ("gpt-neox#650",),
        convention="positions.offset_of_the_table",
        forward=changed(positions_from_offset, offset=lambda a: 0)),
    "positions.start_ignored": Mistake(
        "positions_from_offset", "OFFSET", "offset + t → start + offset + t",
        "the prompt is right, every later token stands at 0",
        forward=changed(positions_from_offset, start=lambda a: 0)),
    "positions.one_based": Mistake(
        "positions_from_offset", "OFFSET", "counted from 1 → from 0",
        "pretrained weights give a little less",
        forward=changed(positions_from_offset, offset=lambda a: a.offset + 1)),
    "positions.padding_counted": Mistake(
        "positions_from_padding", "OFFSET", "padding counts like any token → only real tokens",
        "right without padding; on the left it moves the sentence", ("transformers#1761",),
        convention="positions.padding_not_counted",
        forward=changed(positions_from_padding, mask=lambda a: a.mask | True)),
    "positions.padding_keeps_count": Mistake(
        "positions_from_padding", "MASK", "padding has the position of the token before → padding_position",
        "seen only if padding is attended to, or in the gradient of the table",
        forward=_padding_keeps_count),
    "positions.first_missing": Mistake(
        "positions_from_padding", "OFFSET", "the first token stands at padding_idx → at padding_idx + 1",
        "the first token reads the row of padding",
        forward=changed(positions_from_padding, first=lambda a: a.first - 1)),
    "positions.packed_not_reset": Mistake(
        "positions_in_documents", "OFFSET", "numbered through the sequence → from each document's beginning",
        "a document's meaning depends on what is packed before it", ("OLMo-core#591", "nanoVLM#204"),
        convention="positions.documents_restart",
        forward=changed(positions_in_documents, documents=lambda a: a.documents * 0)),
    "positions.documents_by_number": Mistake(
        "positions_in_documents", "INDEXING", "earlier tokens of the same number → of the same run of numbers",
        "right while every number occurs in one place",
        forward=_by_number),
    "positions.beginning_forgotten": Mistake(
        "positions_in_documents", "EDGE", "the beginning is carried on by one place → to the document's end",
        "right for documents of two tokens",
        forward=rewired(positions_in_documents, running_maximum=_one_place_back)),
    "learned.padding_row_trains": Mistake(
        "learned_position", "GRADIENT", "row padding_idx gets its gradient → 0",
        "the position of padding drifts",
        backward=remembering(learned_position_backward, padding_idx=lambda r: None)),
    "interpolate.other_kernel": Mistake(
        "interpolate_positions", "SCALE", "a = −1/2 without edges, or −3/4 with them → the other one",
        "the same checkpoint gives other features in another library",
        convention="interpolate.edge_repeated",
        forward=changed(interpolate_positions_forward, antialias=lambda a: not a.antialias)),
    "interpolate.corners_aligned": Mistake(
        "interpolate_positions", "OFFSET", "x = i (n − 1) / (m − 1), linearly → cubic at (i + 1/2) n/m − 1/2",
        "the border is stretched, the middle a little off",
        forward=rewired(interpolate_positions_forward, resize_matrix=_corners_aligned)),
    "interpolate.edge_dropped": Mistake(
        "interpolate_positions", "EDGE", "what lies outside is left out and the rest not made up for → sums of 1",
        "the border fades towards 0",
        forward=rewired(interpolate_positions_forward, resize_matrix=_edge_dropped)),
    "interpolate.height_width_swapped": Mistake(
        "interpolate_positions", "LAYOUT", "rows of `height` places → of `width` places",
        "right for square grids",
        forward=changed(interpolate_positions_forward, height=lambda a: a.width, width=lambda a: a.height,
                        new_height=lambda a: a.new_width, new_width=lambda a: a.new_height)),
    "interpolate.gradient_resized": Mistake(
        "interpolate_positions", "GRADIENT", "the gradient is resized back → R_hᵀ dy R_w",
        "the table learns by the ratio of the sizes too slowly or too fast",
        backward=remembering(interpolate_positions_backward, vertical=lambda r: _resized_back(r.vertical),
                             horizontal=lambda r: _resized_back(r.horizontal))),
    "interpolate.prefix_gradient_lost": Mistake(
        "interpolate_positions", "GRADIENT", "prefix rows get 0 → their own gradient",
        "the class token's position does not learn",
        backward=_prefix_lost),
}
