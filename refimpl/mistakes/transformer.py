"""Mistakes in dropout and in the complete embedding layer."""

from __future__ import annotations

from typing import Any

from ..embeddings.dropout import dropout_backward, dropout_forward
from ..embeddings.transformer import (
    TransformerEmbeddingResiduals,
    transformer_embedding_backward,
    transformer_embedding_forward,
)
from ..namespace import Array, array_namespace, constant
from .mistake import Mistake, changed, remembering, taking_arguments_of


def _root_of_width(x: Array) -> Array:
    return array_namespace(x).sqrt(constant(x.shape[-1], like=x))


@taking_arguments_of(transformer_embedding_forward)
def _scale_after_sum(*arrays: Array, scale_by_sqrt_width: bool = True, **options: Any) -> Any:
    y, residuals = transformer_embedding_forward(*arrays, scale_by_sqrt_width=False, **options)
    token = residuals.token._replace(scale_by_sqrt_width=scale_by_sqrt_width)
    return y * _root_of_width(y) if scale_by_sqrt_width else y, residuals._replace(token=token)


def _scale_after_sum_backward(dy: Array, residuals: TransformerEmbeddingResiduals) -> Any:
    dweight, dposition = transformer_embedding_backward(dy, residuals)
    scaled = dposition is not None and residuals.token.scale_by_sqrt_width
    return dweight, dposition * _root_of_width(dy) if scaled else dposition


def _other_axis_is_time(a: Any) -> bool:
    """Turn batch_first around, unless the learned table is too short for that."""
    T = a.ids.shape[0 if a.batch_first else -1]
    fits = a.position_weight is None or a.start + T <= a.position_weight.shape[0]
    return a.batch_first != fits


@taking_arguments_of(transformer_embedding_forward)
def _position_not_dropped(ids: Array, weight: Array, position_weight: Array | None = None, **options: Any) -> Any:
    _, residuals = transformer_embedding_forward(ids, weight, position_weight, **options)
    tokens, _ = transformer_embedding_forward(ids, weight, **{**options, "position": "none"})
    undropped = {**options, "keep": None, "p": 0.0}
    positions, _ = transformer_embedding_forward(ids, weight * 0, position_weight, **undropped)
    return tokens + positions, residuals


def _position_not_dropped_backward(dy: Array, residuals: TransformerEmbeddingResiduals) -> Any:
    dweight, _ = transformer_embedding_backward(dy, residuals)
    return dweight, transformer_embedding_backward(dy, residuals._replace(dropout=None))[1]


def _position_mean(dy: Array, residuals: TransformerEmbeddingResiduals) -> Any:
    dweight, dposition = transformer_embedding_backward(dy, residuals)
    if residuals.learned is None:
        return dweight, dposition
    return dweight, dposition / (residuals.token.ids.size // residuals.learned.positions.size)


# fmt: off
DROPOUT: dict[str, Mistake] = {
    "dropout.no_rescale": Mistake(
        "dropout", "SCALE", "x where kept → x / (1 − p) where kept",
        "activations grow by 1 / (1 − p) from training to inference",
        forward=changed(dropout_forward, p=lambda a: 0.0)),
    "dropout.divided_by_p": Mistake(
        "dropout", "SCALE", "x / p → x / (1 − p): p is the probability of dropping",
        "right for p = 0.5; p = 0.1 multiplies by 10",
        forward=changed(dropout_forward, p=lambda a: 1 - a.p if a.p else a.p)),
    "dropout.mask_inverted": Mistake(
        "dropout", "MASK", "True drops → True keeps",
        "with p = 0.1 nine tenths are gone",
        forward=changed(dropout_forward, keep=lambda a: ~a.keep)),
    "dropout.mask_not_replayed": Mistake(
        "dropout", "GRADIENT", "backward draws another mask → the mask of the forward pass",
        "gradients are noisy, and training still works a little",
        backward=remembering(dropout_backward, keep=lambda r: array_namespace(r.keep).roll(r.keep, 1))),
    "dropout.rescale_missing_in_gradient": Mistake(
        "dropout", "GRADIENT", "dx = dy where kept → dy / (1 − p) where kept",
        "gradients shrink by 1 − p a layer",
        backward=remembering(dropout_backward, p=lambda r: 0.0)),
}

TRANSFORMER_EMBEDDING: dict[str, Mistake] = {
    "transformer_embedding.scale_missing": Mistake(
        "transformer_embedding", "SCALE", "weight[ids] + PE → √C · weight[ids] + PE",
        "positions drown tokens",
        forward=changed(transformer_embedding_forward, scale_by_sqrt_width=lambda a: False)),
    "transformer_embedding.scale_after_sum": Mistake(
        "transformer_embedding", "SCALE", "√C · (weight[ids] + PE) → √C · weight[ids] + PE",
        "positions are √C times too large",
        forward=_scale_after_sum, backward=_scale_after_sum_backward),
    "transformer_embedding.start_ignored": Mistake(
        "transformer_embedding", "OFFSET", "PE(t) → PE(start + t)",
        "the prompt is right, every later token stands at 0",
        forward=changed(transformer_embedding_forward, start=lambda a: 0)),
    "transformer_embedding.batch_as_time": Mistake(
        "transformer_embedding", "LAYOUT", "positions number the batch → time",
        "all tokens of a sequence stand at one position",
        forward=changed(transformer_embedding_forward, batch_first=_other_axis_is_time)),
    "transformer_embedding.position_not_dropped": Mistake(
        "transformer_embedding", "MASK", "dropout(tokens) + PE → dropout(tokens + PE)",
        "less regularization than the paper's",
        forward=_position_not_dropped, backward=_position_not_dropped_backward),
    "transformer_embedding.position_gradient_mean": Mistake(
        "transformer_embedding", "GRADIENT", "dposition_weight: mean over the batch → sum",
        "the learned table learns B times too slowly",
        backward=_position_mean),
}
