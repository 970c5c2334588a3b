"""Mistakes in normalization and in the embedding layer of BERT."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..embeddings.bert import bert_embedding_backward, bert_embedding_forward
from ..embeddings.dropout import dropout_backward, dropout_forward
from ..embeddings.layer_norm import layer_norm_backward, layer_norm_forward
from ..embeddings.rms_norm import rms_norm_backward, rms_norm_forward
from ..embeddings.token import take_rows, token_embedding_forward
from ..namespace import Array, array_namespace, constant, unbroadcast
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then


def _times(x: Array | None, factor: Array) -> Array | None:
    return None if x is None else x * factor


def _lessened(x: Array) -> Array:
    """sqrt((C - 1) / C), which a variance over C - 1 divides by."""
    C = constant(x.shape[-1], like=x)
    return array_namespace(x).sqrt((C - 1) / C)


@taking_arguments_of(layer_norm_forward)
def _unbiased(x: Array, weight: Any = None, bias: Any = None, *, eps: float = 1e-5) -> Any:
    C = x.shape[-1]
    y, residuals = layer_norm_forward(x, weight, None, eps=eps * (C - 1) / C)
    y = y * _lessened(x)
    return y if bias is None else y + bias, residuals._replace(biased=bias is not None)


def _unbiased_backward(dy: Array, residuals: Any) -> Any:
    dx, dweight, dbias = layer_norm_backward(dy, residuals)
    return dx * _lessened(dy), _times(dweight, _lessened(dy)), dbias


@taking_arguments_of(layer_norm_forward)
def _not_centred(x: Array, weight: Any = None, bias: Any = None, *, eps: float = 1e-5) -> Any:
    y, residuals = rms_norm_forward(x, weight, eps=eps)
    return y if bias is None else y + bias, (residuals, bias is not None)


def _not_centred_backward(dy: Array, residuals: Any) -> Any:
    dbias = array_namespace(dy).sum(dy, axis=tuple(range(dy.ndim - 1))) if residuals[1] else None
    return *rms_norm_backward(dy, residuals[0]), dbias


def _gained(dy: Array, gain: Array | None) -> Array:
    return dy if gain is None else dy * gain


def _variance_constant(dy: Array, residuals: Any) -> Any:
    g = _gained(dy, residuals.weight)
    dx = (g - array_namespace(dy).mean(g, axis=-1, keepdims=True)) * residuals.inverse_deviation
    return dx, *layer_norm_backward(dy, residuals)[1:]


def _mean_constant(dy: Array, residuals: Any) -> Any:
    g, n = _gained(dy, residuals.weight), residuals.normalized
    dx = (g - n * array_namespace(dy).mean(g * n, axis=-1, keepdims=True)) * residuals.inverse_deviation
    return dx, *layer_norm_backward(dy, residuals)[1:]


@taking_arguments_of(rms_norm_forward)
def _centred(x: Array, weight: Any = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Any:
    return layer_norm_forward(x, 1 + weight if unit_offset else weight, eps=eps)


@taking_arguments_of(rms_norm_forward)
def _by_length(x: Array, weight: Any = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Any:
    y, residuals = rms_norm_forward(x, weight, eps=eps / x.shape[-1], unit_offset=unit_offset)
    return y / _root_of_width(x), residuals


def _by_length_backward(dy: Array, residuals: Any) -> Any:
    return rms_norm_backward(dy / _root_of_width(dy), residuals)


def _root_of_width(x: Array) -> Array:
    return array_namespace(x).sqrt(constant(x.shape[-1], like=x))


def _rms_constant(dy: Array, residuals: Any) -> Any:
    return _gained(dy, residuals.gain) * residuals.inverse_rms, rms_norm_backward(dy, residuals)[1]


@taking_arguments_of(bert_embedding_forward)
def _dropped_first(keep: Any = None, p: float = 0.0, eps: float = 1e-12, **given: Any) -> Any:
    y, residuals = bert_embedding_forward(**given, eps=eps)
    if keep is None:
        return y, residuals
    total = take_rows(given["weight"], given["ids"]) + take_rows(given["segment_weight"], given["segments"])
    total = total + take_rows(given["position_weight"], residuals.position.positions)
    total, dropped = dropout_forward(total, keep=keep, p=p)
    y, norm = layer_norm_forward(total, given["norm_weight"], given["norm_bias"], eps=eps)
    return y, residuals._replace(norm=norm, dropout=dropped)


_tables_backward = rewired(bert_embedding_backward, layer_norm_backward=lambda dy, norm: (dy, None, None))


def _dropped_first_backward(dy: Array, residuals: Any) -> Any:
    g, dnorm_weight, dnorm_bias = layer_norm_backward(dy, residuals.norm)
    g = g if residuals.dropout is None else dropout_backward(g, residuals.dropout)
    return *_tables_backward(g, residuals._replace(dropout=None))[:3], dnorm_weight, dnorm_bias


def _mean_over_copies(gradient: Array, shape: tuple[int, ...]) -> Array:
    total = unbroadcast(gradient, shape)
    return total / (gradient.size // total.size)


# fmt: off
EMBEDDING_LAYERS: dict[str, Mistake] = {
    "layer_norm.unbiased_variance": Mistake(
        "layer_norm", "SCALE", "variance / (C − 1) → / C",
        "everything is too small by √(1 − 1/C), unseen at C = 1024",
        convention="layer_norm.eps_under_root",
        forward=_unbiased, backward=_unbiased_backward),
    "layer_norm.not_centred": Mistake(
        "layer_norm", "SCALE", "x / sqrt(mean of x^2 + eps) → (x − mean) / sqrt(var + eps)",
        "right for vectors of mean 0",
        forward=_not_centred, backward=_not_centred_backward),
    "layer_norm.eps_missing": Mistake(
        "layer_norm", "EDGE", "/ sqrt(var) → / sqrt(var + eps)",
        "NaN for a constant vector, and nothing else",
        forward=changed(layer_norm_forward, eps=lambda a: 0.0)),
    "layer_norm.gradient_variance_constant": Mistake(
        "layer_norm", "GRADIENT", "dx = (g − mean of g) / deviation → less n · mean of g n",
        "the gradient stretches x, which cannot change y",
        backward=_variance_constant),
    "layer_norm.gradient_mean_constant": Mistake(
        "layer_norm", "GRADIENT", "dx = (g − n · mean of g n) / deviation → less the mean of g",
        "the gradient shifts x, which cannot change y",
        backward=_mean_constant),
    "layer_norm.gain_missing_in_gradient": Mistake(
        "layer_norm", "GRADIENT", "g = dy → dy · weight",
        "right as long as all gains are 1",
        backward=remembering(layer_norm_backward, weight=lambda r: None if r.weight is None else r.weight * 0 + 1)),
    "rms_norm.centred": Mistake(
        "rms_norm", "SCALE", "the mean is taken off → it is not",
        "right for vectors of mean 0",
        forward=_centred, backward=then(layer_norm_backward, lambda g: g[:2])),
    "rms_norm.sum_of_squares": Mistake(
        "rms_norm", "SCALE", "sqrt(sum of x^2 + eps) → sqrt(mean of x^2 + eps)",
        "everything is √C times too small",
        forward=_by_length, backward=_by_length_backward),
    "rms_norm.unit_offset_missing": Mistake(
        "rms_norm", "SCALE", "· weight → · (1 + weight) where weights are kept so",
        "a new model gives 0",
        convention="rms_norm.unit_offset",
        forward=changed(rms_norm_forward, unit_offset=lambda a: False)),
    "rms_norm.eps_missing": Mistake(
        "rms_norm", "EDGE", "/ sqrt(mean of x^2) → / sqrt(mean of x^2 + eps)",
        "NaN for a vector of zeros, and nothing else",
        forward=changed(rms_norm_forward, eps=lambda a: 0.0)),
    "rms_norm.gradient_rms_constant": Mistake(
        "rms_norm", "GRADIENT", "dx = g / rms → (g − n · mean of g n) / rms",
        "the gradient stretches x, which cannot change y",
        backward=_rms_constant),
    "bert_embedding.scale_sqrt_width": Mistake(
        "bert_embedding", "SCALE", "√C · weight[ids] + ... → weight[ids] + ...",
        "segments and positions are drowned, and no normalization brings them back",
        forward=rewired(bert_embedding_forward,
                        token_embedding_forward=partial(token_embedding_forward, scale_by_sqrt_width=True))),
    "bert_embedding.segment_missing": Mistake(
        "bert_embedding", "INDEXING", "segment 0 throughout → the segment that is given",
        "right for single sentences",
        forward=changed(bert_embedding_forward, segments=lambda a: a.segments * 0)),
    "bert_embedding.positions_from_zero": Mistake(
        "bert_embedding", "OFFSET", "0 .. T−1 → the positions that are given",
        "right for BERT, wrong for RoBERTa and for later chunks", ("transformers#1761",),
        forward=changed(bert_embedding_forward, positions=lambda a: None)),
    "bert_embedding.eps_of_layer_norm": Mistake(
        "bert_embedding", "SCALE", "eps 1e−5, the default of a framework's layer norm → the layer's own",
        "right for embeddings of size 1, wrong for small ones",
        forward=changed(bert_embedding_forward, eps=lambda a: 1e-5)),
    "bert_embedding.dropped_before_norm": Mistake(
        "bert_embedding", "MASK", "layer_norm(dropout(sum)) → dropout(layer_norm(sum))",
        "what is dropped comes back, as something else than 0",
        forward=_dropped_first, backward=_dropped_first_backward),
    "bert_embedding.position_gradient_mean": Mistake(
        "bert_embedding", "GRADIENT", "dposition_weight: mean over the batch → sum",
        "positions learn B times too slowly",
        backward=rewired(bert_embedding_backward, unbroadcast=_mean_over_copies)),
    "bert_embedding.padding_row_trains": Mistake(
        "bert_embedding", "GRADIENT", "row padding_idx of weight gets its gradient → 0",
        "the padding vector drifts",
        backward=remembering(bert_embedding_backward, token=lambda r: r.token._replace(padding_idx=None))),
}
