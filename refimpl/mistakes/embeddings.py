"""Mistakes in token lookup and in learned positions."""

from __future__ import annotations

from functools import partial

from ..embeddings.learned import learned_position_backward, learned_position_forward
from ..embeddings.token import token_embedding_backward, token_embedding_forward
from ..namespace import Array, array_namespace, constant, scatter_add
from .mistake import Function, Mistake, Pair, changed, drop_bits, precision, remembering, rewired, round_bits, then
from .positions import from_zero


def _square_of_scale(change: Function) -> Pair:
    """Change the C under the root, forward and backward alike."""

    def wrong(value: float, like: Array) -> Array:
        return change(constant(value, like=like))

    forward = rewired(token_embedding_forward, constant=wrong)
    return {"forward": forward, "backward": rewired(token_embedding_backward, constant=wrong)}


def _bfloat16_root(C: Array) -> Array:
    return round_bits(array_namespace(C).sqrt(C), 8)


def _without_row(weight: Array, row: int | None) -> Array:
    xp = array_namespace(weight)
    return weight if row is None else xp.where(xp.arange(weight.shape[0])[:, None] == row, 0.0, weight)


def _last_write_wins(ids: Array, updates: Array, length: int) -> Array:
    """Stand in for `sums[ids] = updates`: of equal ids only the last one counts."""
    xp = array_namespace(ids, updates)
    rest = updates.shape[ids.ndim :]
    ids, rows = xp.reshape(ids, (-1,)), xp.reshape(updates, (-1, *rest))
    order = xp.arange(ids.shape[0])
    again = xp.any((ids[:, None] == ids[None, :]) & (order[:, None] < order[None, :]), axis=1)
    return scatter_add(ids, xp.where(xp.reshape(again, (-1,) + (1,) * len(rest)), xp.zeros_like(rows), rows), length)


def _sum_in_bits(bits: int, ids: Array, updates: Array, length: int) -> Array:
    """Round to so many bits after every addition."""
    xp = array_namespace(ids, updates)
    if updates.shape == ids.shape:  # places that are counted
        return scatter_add(ids, updates, length)
    ids, rows = xp.reshape(ids, (-1,)), xp.reshape(updates, (-1, updates.shape[-1]))
    dropped, table = precision(updates) - bits, xp.arange(length)[:, None]
    sums = xp.zeros_like(rows[:1, :])
    for i in range(ids.shape[0]):
        sums = drop_bits(sums + xp.where(table == ids[i], rows[i, :], 0.0), dropped)
    return sums


def _read_from(shift: int) -> Pair:
    """Read row p + shift of a learned table, around its end."""
    forward = changed(learned_position_forward, weight=lambda a: _roll(a.weight, -shift))
    backward = then(learned_position_backward, lambda dweight: _roll(dweight, shift))
    return {"forward": forward, "backward": backward}


def _roll(weight: Array, rows: int) -> Array:
    return array_namespace(weight).roll(weight, rows, axis=0)


# fmt: off
TOKEN_EMBEDDING: dict[str, Mistake] = {
    "embedding.scale_missing": Mistake(
        "token_embedding", "SCALE", "weight[ids] → √C · weight[ids]",
        "tokens are √C times too small beside positions",
        forward=changed(token_embedding_forward, scale_by_sqrt_width=lambda a: False)),
    "embedding.scale_twice": Mistake(
        "token_embedding", "SCALE", "C · weight[ids] → √C · weight[ids]",
        "tokens drown positions; the table learns √C times too fast",
        **_square_of_scale(lambda C: C * C)),
    "embedding.scale_divided": Mistake(
        "token_embedding", "SCALE", "weight[ids] / √C → √C · weight[ids]",
        "positions drown tokens",
        **_square_of_scale(lambda C: 1 / C)),
    "embedding.scale_in_bfloat16": Mistake(
        "token_embedding", "PRECISION", "√C rounded to 8 bits → √C in the precision of the result",
        "all tokens off by one factor, at most 0.4 %; Gemma means it",
        **_square_of_scale(lambda C: _bfloat16_root(C) ** 2)),
    "embedding.scale_missing_in_gradient": Mistake(
        "token_embedding", "GRADIENT", "dweight[ids] += dy → √C · dy",
        "the table learns √C times too slowly",
        backward=remembering(token_embedding_backward, scale_by_sqrt_width=lambda r: False)),
    "embedding.grad_overwrite": Mistake(
        "token_embedding", "GRADIENT", "dweight[ids] = dy → dweight[ids] += dy, once for each place",
        "a frequent token learns from its last place only", ("pytorch#1631",),
        backward=rewired(token_embedding_backward, scatter_add=_last_write_wins)),
    "embedding.grad_accumulated_in_16_bits": Mistake(
        "token_embedding", "PRECISION", "gradients of equal ids summed in bfloat16 → in float32",
        "the gradient of a frequent token stops growing",
        backward=rewired(token_embedding_backward, scatter_add=partial(_sum_in_bits, 8))),
    "embedding.padding_row_trains": Mistake(
        "token_embedding", "GRADIENT", "row padding_idx gets its gradient → 0",
        "the padding vector drifts", ("pytorch#26302", "pytorch#28716"),
        backward=remembering(token_embedding_backward, padding_idx=lambda r: None)),
    "embedding.padding_row_zeroed": Mistake(
        "token_embedding", "MASK", "padding gives 0 → its row, as any id does",
        "a pretrained padding vector vanishes",
        forward=changed(token_embedding_forward, weight=lambda a: _without_row(a.weight, a.padding_idx))),
    "embedding.padding_zero_ignored": Mistake(
        "token_embedding", "EDGE", "`if padding_idx` → `is not None`: 0 is a row",
        "padding trains, only where its id is 0",
        backward=remembering(token_embedding_backward, padding_idx=lambda r: r.padding_idx or None)),
}

IN_FLOAT16: dict[str, Function] = {  # the same backward pass, wrong in the other 16-bit format
    "embedding.grad_accumulated_in_16_bits": rewired(
        token_embedding_backward, scatter_add=partial(_sum_in_bits, 11)),
}

LEARNED_POSITION: dict[str, Mistake] = {
    "learned.offset_two": Mistake(
        "learned_position", "OFFSET", "row p + 2 → row p",
        "right for the tables of BART and OPT, noise for others",
        **_read_from(2)),
    "learned.decode_from_zero": Mistake(
        "learned_position", "OFFSET", "rows counted from the start of the call → from the past length",
        "the prompt is right, every later token stands at 0",
        forward=changed(learned_position_forward, positions=lambda a: from_zero(a.positions))),
    "learned.grad_overwrite": Mistake(
        "learned_position", "GRADIENT", "dweight[positions] = dy → dweight[positions] += dy",
        "the table learns from the last sequence of a batch only",
        backward=rewired(learned_position_backward, scatter_add=_last_write_wins)),
}
