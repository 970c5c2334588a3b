"""Mistakes in biases in which content meets position: Shaw, Transformer-XL, DeBERTa."""

from __future__ import annotations

from ..bias.buckets import log_bucket_starts
from ..bias.deberta import deberta_bias_backward, deberta_bias_forward, deberta_buckets
from ..bias.relative import picked_backward
from ..bias.shaw_keys import shaw_keys_backward, shaw_keys_forward
from ..bias.shaw_values import shaw_values_backward, shaw_values_forward
from ..bias.transformer_xl import transformer_xl_bias_backward, transformer_xl_bias_forward
from ..namespace import Array, array_namespace, constant
from .bias_distance import negated
from .embeddings import _last_write_wins
from .mistake import Mistake, Pair, changed, remembering, rewired, then


def _rows_first(x: Array) -> Array:
    return array_namespace(x).flip(x, axis=0)


def _shifted_without_mask(products: Array, rows: Array) -> Array:
    """Shift by a zero column and a reshape, on the S greatest distances: keys ahead get the next query's products."""
    xp = array_namespace(products)
    *batch, T, _ = products.shape
    S = rows.shape[1]
    kept = products[..., :S]
    padded = xp.concat([xp.zeros_like(kept[..., :1]), kept], axis=-1)  # (*B, T, S + 1)
    return xp.reshape(xp.reshape(padded, (*batch, T * (S + 1)))[..., T:], (*batch, T, S))


def _shifted_back(dy: Array, rows: Array, N: int) -> Array:
    """Undo `_shifted_without_mask`."""
    xp = array_namespace(dy)
    *batch, T, S = dy.shape
    flat = xp.reshape(dy, (*batch, T * S))
    padded = xp.reshape(xp.concat([xp.zeros_like(dy[..., 0]), flat], axis=-1), (*batch, T, S + 1))
    rest = xp.zeros((*batch, T, N - S), dtype=dy.dtype)
    return xp.concat([padded[..., 1:], rest], axis=-1)


def _no_scale(scale: float | None, D: int, like: Array) -> Array:
    return constant(1, like=like)


def _scale_of_one(scale: float | None, D: int, like: Array) -> Array:
    xp = array_namespace(like)
    return 1 / xp.sqrt(constant(D, like=like)) if scale is None else constant(scale, like=like)


def _unscaled() -> Pair:
    forward = rewired(shaw_keys_forward, score_scale=_no_scale)
    return {"forward": forward, "backward": rewired(shaw_keys_backward, score_scale=_no_scale)}


def _scaled_as_one() -> Pair:
    forward = rewired(deberta_bias_forward, _scale_of_three=_scale_of_one)
    return {"forward": forward, "backward": rewired(deberta_bias_backward, _scale_of_three=_scale_of_one)}


def _rounded_down(exact: int, limit: int, steps: int, powers: range, *, strict: bool) -> list[int]:
    """Return where floor instead of ceil begins each bucket: one step later."""
    return log_bucket_starts(exact, limit, steps, range(powers.start + 1, powers.stop + 1), strict=False)


_floor_buckets = rewired(deberta_buckets, log_bucket_starts=_rounded_down)


def _overwriting(products: Array, rows: Array, N: int) -> Array:
    return rewired(picked_backward, scatter_add=_of_last_pair)(products, rows, N)


def _of_last_pair(ids: Array, updates: Array, length: int) -> Array:
    """Stand in for `sums[ids] = updates`, whatever the shape of an update."""
    xp = array_namespace(ids, updates)
    rest = updates.shape[1:]
    sums = _last_write_wins(ids, xp.reshape(updates, (updates.shape[0], -1)), length)
    return xp.reshape(sums, (length, *rest))


# fmt: off
SHAW_KEYS: dict[str, Mistake] = {
    "shaw.keys_sign": Mistake(
        "shaw_keys", "OFFSET", "row of query − key → of key − query",
        "behind and ahead change places; nothing shows in training from scratch",
        forward=rewired(shaw_keys_forward, relative_positions=negated)),
    "shaw.keys_offset_ignored": Mistake(
        "shaw_keys", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(shaw_keys_forward, q_offset=lambda a: 0)),
    "shaw.keys_not_scaled": Mistake(
        "shaw_keys", "SCALE", "q·a added to q·k/√D → both divided by √D",
        "positions weigh √D times too much",
        **_unscaled()),
    "shaw.keys_grad_overwrite": Mistake(
        "shaw_keys", "GRADIENT", "of the keys that share a row the last one counts → their sum",
        "the rows at the ends learn from one key",
        backward=rewired(shaw_keys_backward, picked_backward=_overwriting)),
}

SHAW_VALUES: dict[str, Mistake] = {
    "shaw.values_sign": Mistake(
        "shaw_values", "OFFSET", "row of query − key → of key − query",
        "behind and ahead change places; nothing shows in training from scratch",
        forward=rewired(shaw_values_forward, relative_positions=negated)),
    "shaw.values_offset_ignored": Mistake(
        "shaw_values", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(shaw_values_forward, q_offset=lambda a: 0)),
    "shaw.values_ignored": Mistake(
        "shaw_values", "SCALE", "weights times v → times v plus the table",
        "relative keys alone, as wav2vec2-BERT has them",
        forward=changed(shaw_values_forward, table=lambda a: a.table * 0),
        backward=then(shaw_values_backward, lambda g: (*g[:2], g[2] * 0))),
    "shaw.values_weights_miss_table": Mistake(
        "shaw_values", "GRADIENT", "dweights = dy·v → dy·(v + table)",
        "attention does not learn where to look for a position",
        backward=remembering(shaw_values_backward, table=lambda r: r.table * 0)),
}

TRANSFORMER_XL_BIAS: dict[str, Mistake] = {
    "transformer_xl.ascending": Mistake(
        "transformer_xl_bias", "INDEXING", "r in ascending order of distances → in descending order",
        "the farther, the nearer",
        forward=changed(transformer_xl_bias_forward, r=lambda a: _rows_first(a.r)),
        backward=then(transformer_xl_bias_backward, lambda g: (*g[:2], _rows_first(g[2]), *g[3:]))),
    "transformer_xl.shift_garbage": Mistake(
        "transformer_xl_bias", "MASK", "keys ahead: 0, then the next query's products → their own distance",
        "right under the causal mask; a mask with holes, or none, lets them in",
        forward=rewired(transformer_xl_bias_forward, picked=_shifted_without_mask),
        backward=rewired(transformer_xl_bias_backward, picked_backward=_shifted_back)),
    "transformer_xl.u_v_swapped": Mistake(
        "transformer_xl_bias", "INDEXING", "v·k + (q + u)·W r → u·k + (q + v)·W r",
        "right while both are 0",
        forward=changed(transformer_xl_bias_forward, u=lambda a: a.v, v=lambda a: a.u),
        backward=then(transformer_xl_bias_backward, lambda g: (*g[:4], g[5], g[4]))),
    "transformer_xl.content_bias_missing": Mistake(
        "transformer_xl_bias", "SCALE", "(q + v)·W r alone → with u·k",
        "right while u is 0",
        forward=changed(transformer_xl_bias_forward, u=lambda a: a.u * 0),
        backward=then(transformer_xl_bias_backward, lambda g: (*g[:4], g[4] * 0, g[5]))),
    "transformer_xl.gradient_of_keys_missing": Mistake(
        "transformer_xl_bias", "GRADIENT", "dk = 0 → u times the sum of dy over the queries",
        "keys do not learn to be looked at for what they are",
        backward=then(transformer_xl_bias_backward, lambda g: (g[0], g[1] * 0, *g[2:]))),
}

DEBERTA_BIAS: dict[str, Mistake] = {
    "deberta.sign": Mistake(
        "deberta_bias", "OFFSET", "key minus query, as in T5 → query minus key",
        "behind and ahead change places",
        forward=rewired(deberta_bias_forward, relative_positions=negated)),
    "deberta.mirrored": Mistake(
        "deberta_bias", "OFFSET", "query_table at the key's distance j − i, as the paper writes it → at i − j",
        "pretrained weights look the wrong way in one of two terms",
        convention="deberta.same_row", forward=changed(deberta_bias_forward, mirrored=lambda a: True)),
    "deberta.not_mirrored": Mistake(
        "deberta_bias", "OFFSET", "query_table at i − j, as the authors' code has it → at j − i",
        "weights of an implementation after the paper look the wrong way in one of two terms",
        convention="deberta.mirrored", forward=changed(deberta_bias_forward, mirrored=lambda a: False)),
    "deberta.scale_of_one": Mistake(
        "deberta_bias", "SCALE", "1/√D → 1/√(3D), for three terms",
        "positions weigh √3 times too much",
        **_scaled_as_one()),
    "deberta.log_floor": Mistake(
        "deberta_bias", "INDEXING", "buckets by floor → by ceil of the logarithm",
        "right up to mid and at the ends of buckets",
        forward=rewired(deberta_bias_forward, deberta_buckets=_floor_buckets)),
    "deberta.log_buckets_ignored": Mistake(
        "deberta_bias", "EDGE", "a row a distance, cut at span → logarithmic buckets",
        "right for near keys; v2 loses all that is far",
        forward=changed(deberta_bias_forward, max_distance=lambda a: None)),
    "deberta.content_to_position_only": Mistake(
        "deberta_bias", "SCALE", "q·K_r alone → with k·Q_r",
        "half of the disentangled attention",
        forward=changed(deberta_bias_forward, query_table=lambda a: a.query_table * 0),
        backward=then(deberta_bias_backward, lambda g: (*g[:3], g[3] * 0))),
    "deberta.gradient_not_transposed": Mistake(
        "deberta_bias", "GRADIENT", "dk and dquery_table left at 0 → from dyᵀ",
        "keys and query_table do not learn from positions",
        backward=then(deberta_bias_backward, lambda g: (g[0], g[1] * 0, g[2], g[3] * 0))),
}
