"""Mistakes in ALiBi's slopes and in its bias."""

from __future__ import annotations

from typing import Any

from ..bias.alibi import AlibiResiduals, alibi_backward, alibi_forward, alibi_slopes
from ..namespace import Array, array_namespace, rational_powers
from .mistake import Function, Mistake, changed, remembering, then
from .positions import in_bfloat16


def _geometric(H: int, *, max_bias: int = 8, xp: Any, dtype: Any) -> Array:
    head, tail = rational_powers(2, [-max_bias * h for h in range(1, H + 1)], H, xp=xp, dtype=dtype)
    return head + tail


def _of_next_power(H: int, *, max_bias: int = 8, xp: Any, dtype: Any) -> Array:
    return alibi_slopes(1 << (H - 1).bit_length(), max_bias=max_bias, xp=xp, dtype=dtype)[:H]


def _from_one(H: int, *, max_bias: int = 8, xp: Any, dtype: Any) -> Array:
    slopes = alibi_slopes(H, max_bias=max_bias, xp=xp, dtype=dtype)
    return xp.concat([slopes[:1] * 0 + 1, slopes[:-1]])


def _steps(full: Function | None = None, keys: Function | None = None) -> Function:
    """Return alibi_forward with other steps between positions i and j, in its full form, its key-only form, or both."""

    def forward(slopes: Array, *, T: int, S: int, q_offset: int = 0, key_only: bool = False) -> Any:
        change = keys if key_only else full
        if change is None:
            return alibi_forward(slopes, T=T, S=S, q_offset=q_offset, key_only=key_only)
        xp = array_namespace(slopes)
        i, j = xp.arange(q_offset, q_offset + T)[:, None], xp.arange(S)[None, :]
        steps = xp.broadcast_to(change(xp, i, j), (T, S))
        return slopes[:, None, None] * xp.astype(steps, slopes.dtype), AlibiResiduals(steps, slopes.shape[0])

    return forward


def _last_head_first(x: Array) -> Array:
    return array_namespace(x).flip(x, axis=0)


# fmt: off
ALIBI_SLOPES: dict[str, Mistake] = {
    "alibi.slopes_geometric": Mistake(
        "alibi_slopes", "SCALE", "2^(−8h/H) for every H → the closest power of two, then every other of its double",
        "right for 2, 4, 8, ... heads; other pretrained models degrade", ("mlx#3071",),
        forward=_geometric),
    "alibi.slopes_next_power": Mistake(
        "alibi_slopes", "INDEXING", "the first H slopes of the next power of two → of the one below, then others",
        "right for 2, 4, 8, ... heads; the slow heads are missing",
        forward=_of_next_power),
    "alibi.slopes_from_one": Mistake(
        "alibi_slopes", "INDEXING", "2^(−8h/H) for h = 0 .. H − 1 → h = 1 .. H",
        "the first head sees little but its neighbours",
        forward=_from_one),
    "alibi.max_bias_ignored": Mistake(
        "alibi_slopes", "SCALE", "max_bias 8 → the one that is given",
        "right by default",
        forward=changed(alibi_slopes, max_bias=lambda a: 8)),
}

ALIBI: dict[str, Mistake] = {
    "alibi.sign": Mistake(
        "alibi", "SCALE", "+m |i − j| → −m |i − j|",
        "far keys win; the longer the text, the worse", ("attention-gym#86",),
        forward=changed(alibi_forward, slopes=lambda a: -a.slopes),
        backward=then(alibi_backward, lambda dslopes: -dslopes)),
    "alibi.decode_zero": Mistake(
        "alibi", "OFFSET", "one query: bias 0, built from a length of 1 → from all keys",
        "the prompt is right, later tokens have no bias", ("keras-hub#2861",),
        forward=_steps(
            lambda xp, i, j: -abs(i - j) * int(i.shape[0] > 1),
            lambda xp, i, j: j * int(i.shape[0] > 1))),
    "alibi.offset_ignored": Mistake(
        "alibi", "OFFSET", "−m |i − j| → −m |q_offset + i − j|",
        "right for whole sequences, wrong from the second call on",
        forward=changed(alibi_forward, q_offset=lambda a: 0)),
    "alibi.key_only": Mistake(
        "alibi", "LAYOUT", "+m j → −m |i − j|",
        "the same weights under a causal mask, another lse; without the mask other weights",
        convention="alibi.full", forward=changed(alibi_forward, key_only=lambda a: True)),
    "alibi.full": Mistake(
        "alibi", "LAYOUT", "−m |i − j| → +m j",
        "the same weights under a causal mask, another lse",
        convention="alibi.key_only", forward=changed(alibi_forward, key_only=lambda a: False)),
    "alibi.abs_missing": Mistake(
        "alibi", "MASK", "−m (i − j) → −m |i − j|",
        "the same under a causal mask; without it keys ahead are rewarded",
        convention="alibi.full", forward=_steps(lambda xp, i, j: j - i)),
    "alibi.one_step_off": Mistake(
        "alibi", "OFFSET", "m (j − i + 1) → −m |i − j|",
        "the same weights under a causal mask, another lse",
        convention="alibi.full", forward=_steps(lambda xp, i, j: j - i + 1)),
    "alibi.future_free": Mistake(
        "alibi", "MASK", "0 for keys ahead → −m |i − j|",
        "the same under a causal mask; without it all that is ahead is near",
        forward=_steps(lambda xp, i, j: -xp.maximum(i - j, 0))),
    "alibi.bf16_distances": Mistake(
        "alibi", "PRECISION", "distances in bfloat16 → in integers",
        "from 257 on, neighbours share a bias",
        forward=_steps(lambda xp, i, j: -in_bfloat16(abs(i - j)), lambda xp, i, j: in_bfloat16(j))),
    "alibi.heads_reversed": Mistake(
        "alibi", "INDEXING", "head h takes slope H − 1 − h → slope h",
        "pretrained heads look at the wrong distance",
        forward=changed(alibi_forward, slopes=lambda a: _last_head_first(a.slopes)),
        backward=then(alibi_backward, _last_head_first)),
    "alibi.gradient_sign": Mistake(
        "alibi", "GRADIENT", "dslopes = sum of dy |i − j| → −sum of dy |i − j|",
        "learned slopes grow the wrong way",
        backward=remembering(alibi_backward, steps=lambda r: -r.steps)),
}
