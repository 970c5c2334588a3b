"""Mistakes in cached decode, in blocks of keys, and in merging them."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, attention_forward
from ..attention.blocked import (
    BlockedAttentionResiduals,
    Running,
    _absorb,
    _blocks,
    blocked_attention_backward,
    blocked_attention_forward,
)
from ..attention.decode import Decoded, attention_decode_backward, attention_decode_forward
from ..attention.heads import repeat_heads, score_scale
from ..attention.merge import MergeBlocksResiduals, merge_blocks_backward, merge_blocks_forward
from ..namespace import Array, array_namespace, unbroadcast
from .mistake import Function, Mistake, Pair, changed, rewired, taking_arguments_of, then


def _offset(change: Function) -> Pair:
    """Return decode whose attention starts elsewhere; `change` takes q_offset, which is the length of the cache."""
    attend = changed(attention_forward, q_offset=lambda a: change(a.q_offset))
    return {"forward": rewired(attention_decode_forward, attention_forward=attend)}


@taking_arguments_of(attention_decode_forward)
def _new_first(
    q: Array, k: Array, v: Array, k_cache: Array, v_cache: Array, *others: Array | None, **options: Any
) -> Any:
    """[new | cache] in place of [cache | new], under the same mask."""
    past, T = k_cache.shape[-2], k.shape[-2]
    xp = array_namespace(q)
    keys, values = xp.concat([k, k_cache], axis=-2), xp.concat([v, v_cache], axis=-2)
    old, new = slice(0, past), slice(past, past + T)
    swapped = (keys[..., new, :], values[..., new, :], keys[..., old, :], values[..., old, :])
    return attention_decode_forward(q, *swapped, *others, **options)


def _new_first_backward(dy: Decoded, residuals: Any) -> Any:
    dq, dk, dv, dk_cache, dv_cache, dbias, dsink = attention_decode_backward(dy, residuals)
    xp, T = array_namespace(dk), dk.shape[-2]
    dkeys, dvalues = xp.concat([dk_cache, dk], axis=-2), xp.concat([dv_cache, dv], axis=-2)
    return dq, dkeys[..., :T, :], dvalues[..., :T, :], dkeys[..., T:, :], dvalues[..., T:, :], dbias, dsink


def _without(*outputs: str) -> Function:
    """Return decode's backward with no cotangent of some outputs."""

    def backward(dy: Decoded, residuals: Any) -> Any:
        xp = array_namespace(*dy)
        zeros = {name: None if getattr(dy, name) is None else xp.zeros_like(getattr(dy, name)) for name in outputs}
        return attention_decode_backward(dy._replace(**zeros), residuals)

    return backward


def _cache_detached(gradients: Any) -> Any:
    dq, dk, dv, dk_cache, dv_cache, *others = gradients
    return dq, dk, dv, dk_cache * 0, dv_cache * 0, *others


def _never_shrunk(state: Running, scores: Array, kept: Array, values: Array) -> Running:
    """Leave old sums as they are when a larger score comes."""
    right = _absorb(state, scores, kept, values)
    alone = _absorb(state._replace(total=state.total * 0, y=state.y * 0), scores, kept, values)
    return right._replace(total=state.total + alone.total, y=state.y + alone.y)


def _full_blocks(S: int, block: int) -> list[slice]:
    """Leave out a last block that is not full, if it is not the only one."""
    blocks = _blocks(S, block)
    return blocks[:-1] if len(blocks) > 1 and S % block else blocks


def _full_blocks_backward(dy: Attention, residuals: BlockedAttentionResiduals) -> Any:
    """Undo it: what was left out is masked."""
    xp = array_namespace(*dy)
    read = _full_blocks(residuals.k.shape[-2], residuals.block)[-1].stop
    kept = residuals.kept & (xp.arange(residuals.k.shape[-2]) < read)
    return blocked_attention_backward(dy, residuals._replace(kept=kept))


def _empty_block_nan(state: Running, scores: Array, kept: Array, values: Array) -> Running:
    """Compute exp(-inf - (-inf)) for a row that has not seen a key, and carry it on."""
    right = _absorb(state, scores, kept, values)
    xp = array_namespace(scores)
    spoilt = xp.where(right.some, right.total, xp.nan) + 0 * state.total
    return right._replace(total=spoilt, y=right.y + 0 * spoilt[..., None])


def _maximum_of_masked(state: Running, scores: Array, kept: Array, values: Array) -> Running:
    """Let masked scores into the running maximum."""
    xp = array_namespace(scores)
    some = state.some | xp.any(kept, axis=-1)
    m = xp.maximum(xp.where(state.some, state.m, -xp.inf), xp.max(scores, axis=-1))
    e = xp.where(kept, xp.exp(scores - m[..., None]), 0.0)
    forget = xp.exp(xp.where(state.some, state.m - m, 0.0))
    total = forget * state.total + xp.sum(e, axis=-1)
    return Running(m, total, forget[..., None] * state.y + e @ values, some)


def _row_of_block(dy: Attention, residuals: BlockedAttentionResiduals) -> Any:
    """Take the row sum of softmax over one block, not over all."""
    xp = array_namespace(*dy)
    q, k, v, bias, kept, y, lse, scale, block = residuals
    right = blocked_attention_backward(dy, residuals)
    group, scaling = q.shape[-3] // k.shape[-3], score_scale(scale, q.shape[-1], q)
    keys, values = repeat_heads(k, group), repeat_heads(v, group)
    scores = (q @ xp.matrix_transpose(keys)) * scaling
    scores = scores if bias is None else scores + bias
    weights = xp.where(kept, xp.exp(xp.where(kept, scores - lse[..., None], 0.0)), 0.0)
    dy_y = xp.zeros_like(y) if dy.y is None else dy.y
    products = weights * (dy_y @ xp.matrix_transpose(values))
    missing = [xp.sum(dy_y * y, axis=-1, keepdims=True) - xp.sum(products[..., at], axis=-1, keepdims=True)
               + xp.zeros_like(products[..., at]) for at in _blocks(k.shape[-2], block)]  # fmt: skip
    extra = weights * xp.concat(missing, axis=-1)
    dq = right[0] + (extra @ keys) * scaling
    return dq, *right[1:3], None if bias is None else right[3] + unbroadcast(extra, tuple(bias.shape))


@taking_arguments_of(merge_blocks_forward)
def _averaged(y1: Array, lse1: Array, y2: Array, lse2: Array) -> Any:
    right, residuals = merge_blocks_forward(y1, lse1, y2, lse2)
    return right._replace(y=(y1 + y2) / 2), residuals


def _averaged_backward(dy: Attention, residuals: MergeBlocksResiduals) -> Any:
    xp = array_namespace(*dy)
    dlse = xp.zeros_like(residuals.share1) if dy.lse is None else dy.lse
    dy_y = xp.zeros_like(residuals.y1) if dy.y is None else dy.y
    return dy_y / 2, residuals.share1 * dlse, dy_y / 2, residuals.share2 * dlse


@taking_arguments_of(merge_blocks_forward)
def _summed(y1: Array, lse1: Array, y2: Array, lse2: Array) -> Any:
    right, residuals = merge_blocks_forward(y1, lse1, y2, lse2)
    return right._replace(y=y1 + y2), residuals


def _summed_backward(dy: Attention, residuals: MergeBlocksResiduals) -> Any:
    dy1, dlse1, dy2, dlse2 = _averaged_backward(dy, residuals)
    return 2 * dy1, dlse1, 2 * dy2, dlse2


@taking_arguments_of(merge_blocks_forward)
def _unguarded(y1: Array, lse1: Array, y2: Array, lse2: Array) -> Any:
    right, residuals = merge_blocks_forward(y1, lse1, y2, lse2)
    xp = array_namespace(y1)
    some = xp.isfinite(right.lse)
    y = xp.where(some[..., None], right.y, xp.nan)
    return Attention(y, xp.where(some, right.lse, xp.nan)), residuals


@taking_arguments_of(merge_blocks_forward)
def _base_two(y1: Array, lse1: Array, y2: Array, lse2: Array) -> Any:
    """2^lse in place of exp(lse)."""
    xp = array_namespace(y1)
    log2 = xp.log(2 * xp.ones_like(lse1[(0,) * lse1.ndim]))
    right, residuals = merge_blocks_forward(y1, lse1 * log2, y2, lse2 * log2)
    return right._replace(lse=right.lse / log2), (residuals, log2)


def _base_two_backward(dy: Attention, residuals: Any) -> Any:
    right, log2 = residuals
    natural = dy._replace(lse=None if dy.lse is None else dy.lse / log2)
    dy1, dlse1, dy2, dlse2 = merge_blocks_backward(natural, right)
    return dy1, dlse1 * log2, dy2, dlse2 * log2


def _lse_of_y_ignored(dy: Attention, residuals: MergeBlocksResiduals) -> Any:
    dy1, _, dy2, _ = merge_blocks_backward(dy, residuals)
    _, dlse1, _, dlse2 = _averaged_backward(dy, residuals)
    return dy1, dlse1, dy2, dlse2


# fmt: off
ATTENTION_DECODE: dict[str, Mistake] = {
    "decode.queries_from_zero": Mistake(
        "attention_decode", "OFFSET", "q_offset 0 → the length of the cache",
        "new tokens see the oldest key only", ("onnx#8068",),
        **_offset(lambda past: 0)),
    "decode.itself_unseen": Mistake(
        "attention_decode", "OFFSET", "j < P + i → j ≤ P + i",
        "a new token sees the cache, not itself",
        **_offset(lambda past: past - 1)),
    "decode.not_causal": Mistake(
        "attention_decode", "MASK", "every key → new ones up to the query",
        "right for one token at a time; a prompt sees its own future",
        **_offset(lambda past: None)),
    "decode.new_first": Mistake(
        "attention_decode", "INDEXING", "[new | cache] → [cache | new]",
        "right without a mask or a bias; the cache is out of order",
        forward=_new_first, backward=_new_first_backward),
    "decode.cache_detached": Mistake(
        "attention_decode", "GRADIENT", "dk_cache, dv_cache = 0 → the share of the old keys",
        "what was cached learns nothing from later tokens",
        backward=then(attention_decode_backward, _cache_detached)),
    "decode.later_steps_ignored": Mistake(
        "attention_decode", "GRADIENT", "no share from the returned cache → added to dk, dv",
        "each token learns from its own step alone",
        backward=_without("k_cache", "v_cache")),
}

BLOCKED_ATTENTION: dict[str, Mistake] = {
    "blocked.never_shrunk": Mistake(
        "blocked_attention", "SCALE", "total + sum of e → exp(m − m') total + sum of e",
        "right while the first block holds the largest score",
        forward=rewired(blocked_attention_forward, _absorb=_never_shrunk)),
    "blocked.last_block_dropped": Mistake(
        "blocked_attention", "EDGE", "full blocks → every key",
        "right while the block divides the length",
        forward=rewired(blocked_attention_forward, _blocks=_full_blocks),
        backward=_full_blocks_backward),
    "blocked.empty_block_nan": Mistake(
        "blocked_attention", "EDGE", "exp(−inf − (−inf)) for a row without keys → 0",
        "right until the first block of a row is empty",
        forward=rewired(blocked_attention_forward, _absorb=_empty_block_nan)),
    "blocked.maximum_of_masked": Mistake(
        "blocked_attention", "PRECISION", "running maximum of all scores → of those that are kept",
        "0/0 as soon as a masked score passes the kept ones by 100",
        forward=rewired(blocked_attention_forward, _absorb=_maximum_of_masked)),
    "blocked.row_sum_of_block": Mistake(
        "blocked_attention", "GRADIENT", "row sum over one block → over all keys",
        "right for one block",
        backward=_row_of_block),
    "blocked.dlse_ignored": Mistake(
        "blocked_attention", "GRADIENT", "nothing from lse → dscores + w dlse",
        "right while no loss uses lse, as merging does",
        backward=changed(blocked_attention_backward, dy=lambda a: a.dy._replace(
            lse=None if a.dy.lse is None else 0 * a.dy.lse))),
}

MERGE_BLOCKS: dict[str, Mistake] = {
    "merge.averaged": Mistake(
        "merge_blocks", "SCALE", "(y1 + y2) / 2 → weighed by exp(lse)",
        "right for blocks of equal weight",
        forward=_averaged, backward=_averaged_backward),
    "merge.summed": Mistake(
        "merge_blocks", "SCALE", "y1 + y2 → weighed by exp(lse)",
        "y grows with the number of blocks",
        forward=_summed, backward=_summed_backward),
    "merge.base_two": Mistake(
        "merge_blocks", "SCALE", "2^lse → exp(lse)",
        "right for blocks of equal weight; kernels keep lse to base 2",
        convention="attention.lse_natural",
        forward=_base_two, backward=_base_two_backward),
    "merge.both_empty_nan": Mistake(
        "merge_blocks", "EDGE", "exp(−inf − (−inf)) where both are empty → 0",
        "right until a row sees no key at all",
        forward=_unguarded),
    "merge.lse_not_differentiated": Mistake(
        "merge_blocks", "GRADIENT", "dlse1 without the share of y → with share1 (y1·dy − y·dy)",
        "queries and keys learn within blocks only",
        backward=_lse_of_y_ignored),
}
