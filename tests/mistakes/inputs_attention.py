"""Inputs that show, and that hide, mistakes in masks, softmax with a sink, and attention in all its forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mistakes.given import Input, Shape, reals

Inputs = dict[str, tuple[Input, Input | None]]
NO_KEY = -np.inf


def option(**params: Any) -> Input:
    return Input(params, {})


def causal(T: int, S: int, q_offset: int) -> Input:
    return option(T=T, S=S, q_offset=q_offset)


def window(left: int | None, right: int | None, T: int = 5, S: int = 7, q_offset: int = 2) -> Input:
    return option(T=T, S=S, left=left, right=right, q_offset=q_offset)


def chunked(chunk: int, T: int = 7, S: int = 7, q_offset: int = 0, left_padding: int = 0) -> Input:
    return option(T=T, S=S, chunk=chunk, q_offset=q_offset, left_padding=left_padding)


def prefix(length: int, T: int = 3, S: int = 7, q_offset: int = 2) -> Input:
    return option(T=T, S=S, prefix=length, q_offset=q_offset)


def padding(*lengths: int, S: int = 5, **params: Any) -> Input:
    return Input({"S": S, **params}, {"lengths": np.asarray(lengths)})


def documents(*queries: int, keys: tuple[int, ...] | None = None) -> Input:
    arrays = {"q_documents": np.asarray(queries)}
    return Input({}, arrays if keys is None else arrays | {"k_documents": np.asarray(keys)})


def sunk(shape: Shape, sink: Any = (1.5, -0.5), keep: Any = None, shift: float = 0.0) -> Input:
    arrays = {"x": reals("x", shape) + shift, "sink": np.asarray(sink)}
    return Input({}, arrays if keep is None else arrays | {"mask": np.asarray(keep, dtype=bool)})


def capped(cap: float, scale: float = 3.0) -> Input:
    return Input({"cap": cap}, {"x": scale * reals("x", (3, 5))})


def rms(*weight: int, H: int = 3, scale: float = 1.0, ones: bool = False, **params: Any) -> Input:
    arrays = {"x": reals("x", (2, H, 5, 4), scale)}
    return Input(params, arrays | ({"weight": np.ones(weight) if ones else reals("weight", weight)} if weight else {}))


def l2(logit_scale: Any = None, D: int = 4, scale: float = 1.0, **params: Any) -> Input:
    arrays = {"x": reals("x", (2, 3, 5, D), scale)}
    return Input(params, arrays if logit_scale is None else arrays | {"logit_scale": np.asarray(logit_scale)})


def attention(
    H: int = 2, G: int = 2, T: int = 3, S: int = 5, *, scale: float = 2.0, bias: Shape | None = None,
    sink: bool | float = False, keep: bool = False, masked: bool = False,
    cotangents: tuple[str, ...] = ("y", "lse"), **params: Any,
) -> Input:  # fmt: skip
    arrays = {"q": reals("q", (2, H, T, 4), scale), "k": reals("k", (2, G, S, 4)), "v": reals("v", (2, G, S, 3))}
    if bias is not None:
        arrays["bias"] = reals("bias", bias)
    if sink is not False:
        arrays["sink"] = reals("sink", (H,)) if sink is True else np.full(H, sink)
    if keep:
        arrays["keep"] = reals("keep", (2, H, T, S)) > -0.5
    if masked:
        arrays["mask"] = reals("mask", (T, S)) > -0.5
    return Input(params, arrays, cotangents)


def heads(*, sink: bool = False, keep: bool = False, **params: Any) -> Input:
    shapes = {"x": (2, 5, 3), "w_q": (3, 8), "w_k": (3, 8), "w_v": (3, 4), "w_o": (4, 5)}
    arrays = {name: reals(name, shape) for name, shape in shapes.items()}
    arrays |= {"sink": reals("sink", (2,))} if sink else {}
    arrays |= {"keep": reals("keep", (2, 2, 5, 5)) > -0.5} if keep else {}
    return Input({"H": 2, **params}, arrays)


def cached(T: int = 3, P: int = 2, later: bool = True, bias: bool = False) -> Input:
    old, new = attention(T=T, S=P).arrays, attention(T=T, S=T).arrays
    arrays = new | {"k_cache": old["k"] + 0.5, "v_cache": old["v"] - 0.5}
    arrays |= {"bias": reals("bias", (2, T, P + T))} if bias else {}
    return Input({}, arrays, ("y", "lse", "k_cache", "v_cache") if later else ("y", "lse"))


def blocked(block: int, bias: Any = None, keep: Any = None, cotangents: tuple[str, ...] = ("y", "lse")) -> Input:
    arrays = attention().arrays | ({} if bias is None else {"bias": np.asarray(bias)})
    return Input({"block": block}, arrays | ({} if keep is None else {"mask": np.asarray(keep, bool)}), cotangents)


def merged(lse1: Any, lse2: Any, cotangents: tuple[str, ...] = ("y", "lse"), alike: bool = False) -> Input:
    y1, y2 = reals("y1", (3, 4)), reals("y1" if alike else "y2", (3, 4))
    return Input({}, {"y1": y1, "lse1": np.asarray(lse1), "y2": y2, "lse2": np.asarray(lse2)}, cotangents)


def latent(H: int = 2, T: int = 3, S: int = 5, N: int = 3, R: int = 4, q_offset: int = 2, **params: Any) -> Input:
    shapes = {
        "q": (2, H, T, N + R), "latent": (2, S, 7), "k_rope": (2, S, R), "norm_weight": (7,),
        "w_uk": (7, H * N), "w_uv": (7, H * 2), "cos": (S, R // 2), "sin": (S, R // 2),
    }  # fmt: skip
    return Input({"q_offset": q_offset, **params}, {name: reals(name, shape) for name, shape in shapes.items()})


LOGITS, EQUAL, EMPTY = (0.5, -1.0, 2.0), (0.5, 0.5, 0.5), (NO_KEY, 1.0, NO_KEY)
FIRST_EMPTY = ((0, 0, 1, 1, 0), (0, 0, 0, 0, 1), (1, 0, 1, 0, 1))
FIRST_FULL = ((1, 0, 0, 1, 0), (1, 1, 0, 0, 1), (1, 0, 1, 0, 1))

MASK_INPUTS: Inputs = {
    "causal_mask.top_left": (causal(3, 5, 2), causal(3, 5, 0)),
    "causal_mask.bottom_right": (causal(3, 5, 0), causal(3, 5, 2)),
    "causal_mask.strict": (causal(3, 5, 2), causal(3, 5, 7)),
    "causal_mask.polarity": (causal(3, 5, 2), None),
    "window.plus_one": (window(1, 0), window(None, 0)),
    "window.minus_one": (window(2, 0), window(0, 0)),
    "window.sides_swapped": (window(2, 1), window(2, 2)),
    "window.zero_is_off": (window(0, 0), window(2, 1)),
    "window.queries_from_zero": (window(2, 0), window(2, 0, q_offset=0)),
    "window.left_ignored": (window(2, 0), window(None, 0)),
    "window.right_ignored": (window(2, 0), window(2, None)),
    "chunked.sliding": (chunked(3), chunked(7)),
    "chunked.not_causal": (chunked(3), chunked(1)),
    "chunked.queries_from_zero": (chunked(3, T=2, q_offset=5), chunked(3)),
    "chunked.padding_counted": (chunked(3, left_padding=2), chunked(3, left_padding=3)),
    "prefix.plus_one": (prefix(5), prefix(2)),
    "prefix.causal": (prefix(5), prefix(2)),
    "prefix.queries_from_zero": (prefix(2), prefix(5)),
    "prefix.whole_text": (prefix(5), prefix(7)),
    "padding.other_side": (padding(3, 2), padding(5, 5)),
    "padding.polarity": (padding(3, 2), None),
    "padding.plus_one": (padding(3, 2), padding(5, 5)),
    "document.leak": (documents(0, 0, 1, 1, 1), documents(3, 3, 3)),
    "document.earlier_seen": (documents(0, 0, 1, 1, 1), documents(3, 3, 3)),
    "document.polarity": (documents(0, 0, 1, 1, 1), None),
}

SINK_INPUTS: Inputs = {
    "sink.dropped": (sunk((2, 5)), sunk((2, 5), (-800.0, -900.0))),
    "sink.added_after_maximum": (sunk((2, 5), shift=3.0), sunk((2, 1), keep=((0,), (0,)))),
    "sink.sign": (sunk((2, 5)), None),
    "sink.not_learned": (sunk((2, 5)), sunk((2, 5), (-800.0, -900.0))),
    "sink.gradient_sign": (sunk((2, 5)), sunk((2, 5), (-800.0, -900.0))),
    "sink.gradient_without_weight": (sunk((2, 5)), sunk((2, 5), (800.0, 900.0))),
    "softcap.clamped": (capped(1.5), capped(2.0**30)),
    "softcap.not_multiplied_back": (capped(1.5), capped(1.0)),
    "softcap.not_divided": (capped(1.5), capped(1.0)),
    "softcap.x_tanh": (capped(1.5), None),
    "softcap.twice": (capped(1.5), capped(2.0**30)),
    "softcap.straight_through": (capped(1.5), capped(2.0**30)),
    "softcap.gradient_of_capped": (capped(1.5), capped(2.0**30)),
}

OPENING_INPUTS: Inputs = {
    "attention.softcap_ignored": (attention(softcap=1.5), attention(softcap=2.0**30)),
    "attention.softcap_after_bias": (attention(softcap=1.5, bias=(3, 5)), attention(softcap=1.5)),
    "attention.softcap_after_mask": (attention(softcap=1.5, masked=True), attention(softcap=1.5)),
    "attention.softcap_straight_through": (attention(softcap=1.5), attention(softcap=2.0**30)),
    "attention.sink_dropped": (attention(sink=True), attention(sink=-800.0)),
    "attention.sink_scaled": (attention(sink=True), attention()),
    "attention.sink_not_in_lse": (attention(sink=True), attention(sink=-800.0)),
    "attention.sink_not_learned": (attention(sink=True), attention(sink=-800.0)),
    "attention.dropout_before_softmax": (attention(keep=True, p=0.3), attention()),
    "attention.dropout_no_rescale": (attention(keep=True, p=0.3), attention(keep=True, p=0.0)),
    "attention.dropout_not_in_gradient": (attention(keep=True, p=0.3), attention()),
    "attention.sink_has_value": (attention(sink=True), attention(sink=-800.0)),
}

PIECE_INPUTS: Inputs = {
    "multi_head.sink_dropped": (heads(sink=True), heads()),
    "multi_head.softcap_ignored": (heads(softcap=0.5), heads(softcap=2.0**30)),
    "multi_head.dropout_ignored": (heads(keep=True, p=0.3), heads()),
    "qk_norm.over_other_axes": (rms(4), rms(4, H=1)),
    "qk_norm.centred": (rms(4), None),
    "qk_norm.eps_outside": (rms(4, eps=0.5), rms(4, eps=0.0)),
    "qk_norm.unit_offset_forgotten": (rms(4, unit_offset=True), rms(4)),
    "qk_norm.not_projected": (rms(4), None),
    "qk_norm.gain_missing_in_gradient": (rms(4), rms(4, ones=True)),
    "l2_qk_norm.root_mean_square": (l2(), l2(D=1)),
    "l2_qk_norm.eps_added": (l2(eps=0.5), l2(eps=2.0**-60)),
    "l2_qk_norm.bound_ignored": (l2(LOGITS, max_logit_scale=1.0), l2(LOGITS, max_logit_scale=3.0)),
    "l2_qk_norm.not_exponential": (l2(LOGITS), l2()),
    "l2_qk_norm.gradient_above_bound": (l2(LOGITS, max_logit_scale=1.0), l2(LOGITS, max_logit_scale=3.0)),
    "l2_qk_norm.not_projected": (l2(), l2(scale=2.0**-40, eps=1.0)),
    "decode.queries_from_zero": (cached(), None),
    "decode.itself_unseen": (cached(), None),
    "decode.not_causal": (cached(), cached(T=1)),
    "decode.new_first": (cached(), None),
    "decode.cache_detached": (cached(), None),
    "decode.later_steps_ignored": (cached(), cached(later=False)),
    "blocked.never_shrunk": (blocked(2), blocked(5)),
    "blocked.last_block_dropped": (blocked(2), blocked(5)),
    "blocked.empty_block_nan": (blocked(2, keep=FIRST_EMPTY), blocked(2, keep=FIRST_FULL)),
    "blocked.maximum_of_masked": (
        blocked(2, bias=[0.0, 2000.0, 1.0, -1.0, 0.5], keep=[1, 0, 1, 1, 1]),
        blocked(2, bias=[0.0, 2.0, 1.0, -1.0, 0.5], keep=[1, 0, 1, 1, 1]),
    ),
    "blocked.row_sum_of_block": (blocked(2), blocked(5)),
    "blocked.dlse_ignored": (blocked(2), blocked(2, cotangents=("y",))),
    "merge.averaged": (merged(LOGITS, EQUAL), merged(EQUAL, EQUAL, alike=True)),
    "merge.summed": (merged(LOGITS, EQUAL), None),
    "merge.base_two": (merged(LOGITS, EQUAL), None),
    "merge.both_empty_nan": (merged(EMPTY, EMPTY), merged(EMPTY, EQUAL)),
    "merge.lse_not_differentiated": (merged(LOGITS, EQUAL), merged(LOGITS, EQUAL, ("lse",))),
    "mla.scale_of_nope": (latent(), latent(scale=0.3)),
    "mla.mscale_missing": (latent(scale=0.3), latent()),
    "mla.rope_first": (latent(), None),
    "mla.layout_swapped": (latent(), latent(R=2)),
    "mla.causal_ignored": (latent(), latent(T=1, q_offset=4)),
    "mla.k_rope_of_one_head": (latent(), latent(H=1)),
    "mla.norm_detached": (latent(), None),
    "mla.table_gradient_of_k_only": (latent(), None),
}
