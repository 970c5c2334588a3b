"""For every mistake an input that shows it, and where there is one an input that hides it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mistakes.given import Input as Input
from tests.mistakes.given import Shape
from tests.mistakes.given import reals as reals
from tests.mistakes.inputs_attention import MASK_INPUTS, OPENING_INPUTS, PIECE_INPUTS, SINK_INPUTS
from tests.mistakes.inputs_bias import BIAS_INPUTS
from tests.mistakes.inputs_embeddings import EMBEDDING_INPUTS
from tests.mistakes.inputs_rotary import ROTARY_EMBEDDING_INPUTS, ROTARY_INPUTS


def tokens(ids: Any, C: int, **params: Any) -> Input:
    return Input(params, {"ids": np.asarray(ids), "weight": reals("weight", (7, C))})


def scaled(C: int) -> Input:
    return tokens(REPEATED, C, scale_by_sqrt_width=True)


def learned(positions: Any) -> Input:
    return Input({}, {"positions": np.asarray(positions), "weight": reals("weight", (11, 3))})


def at(positions: Any, C: int, **params: Any) -> Input:
    return Input({"C": C, **params}, {"positions": np.asarray(positions)})


def dropped(p: float, keep: Any) -> Input:
    keep = np.asarray(keep, dtype=bool)
    return Input({"p": p}, {"x": reals("x", keep.shape), "keep": keep})


def layer(B: int, T: int, C: int, *, table: int = 0, keep: Any = None, **params: Any) -> Input:
    arrays = {"ids": np.arange(B * T).reshape(B, T) % 5, "weight": reals("weight", (5, C))}
    if table:
        arrays["position_weight"] = reals("position_weight", (table, C))
        params["position"] = "learned"
    if keep is not None:
        arrays["keep"] = np.resize(np.asarray(keep, dtype=bool), (B, T, C))
    return Input(params, arrays)


def angles(positions: Any, D: int, **params: Any) -> Input:
    return Input({"D": D, **params}, {"positions": np.asarray(positions)})


def turned(shape: Shape, table: Shape | None = None, **params: Any) -> Input:
    table = (shape[-2], shape[-1] // 2) if table is None else table
    return Input(params, {"x": reals("x", shape), "cos": reals("cos", table), "sin": reals("sin", table)})


def turned_by_zero(shape: Shape) -> Input:
    table = (shape[-2], shape[-1] // 2)
    return Input({}, {"x": reals("x", shape), "cos": np.ones(table), "sin": np.zeros(table)})


def rotary(shape: Shape, positions: Any, **params: Any) -> Input:
    return Input(params, {"x": reals("x", shape), "positions": np.asarray(positions)})


def slopes(H: int, **params: Any) -> Input:
    return Input({"H": H, **params}, {})


def bias(T: int, S: int, q_offset: int = 0, H: int = 3, **params: Any) -> Input:
    return Input({"T": T, "S": S, "q_offset": q_offset, **params}, {"slopes": reals("slopes", (H,))})


def linear(x: Shape, F: int, biased: bool = True, decimals: int | None = None) -> Input:
    arrays = {"x": reals("x", x), "weight": reals("weight", (x[-1], F))} | (
        {"bias": reals("bias", (F,))} if biased else {}
    )
    return Input({}, arrays if decimals is None else {name: array.round(decimals) for name, array in arrays.items()})


def rows(shape: Shape, keep: Any = None, scale: float = 1.0) -> Input:
    mask = {} if keep is None else {"mask": np.broadcast_to(np.asarray(keep, dtype=bool), shape)}
    return Input({}, {"x": reals("x", shape, scale)} | mask)


def attention(
    H: int = 2, G: int | None = None, T: int = 3, S: int = 5, D: int = 4, E: int = 3, *, q_offset: int | None = None,
    scale: float = 1.0, below: bool = False, keep: Any = None, bias: Shape | None = None,
    cotangents: tuple[str, ...] = ("y", "lse"),
) -> Input:  # fmt: skip
    G = H if G is None else G
    arrays = {"q": reals("q", (2, H, T, D), scale), "k": reals("k", (2, G, S, D)), "v": reals("v", (2, G, S, E))}
    if below:
        arrays |= {"q": -BELOW * abs(arrays["q"]), "k": abs(arrays["k"])}
    if keep is not None:
        arrays["mask"] = np.asarray(keep, dtype=bool)
    if bias is not None:
        arrays["bias"] = reals("bias", bias)
    return Input({} if q_offset is None else {"q_offset": q_offset}, arrays, cotangents)


def heads(
    H: int = 2, G: int | None = None, D: int = 4, E: int = 4, *, biased: bool = True, tables: bool = True, **params: Any
) -> Input:
    G, C, T = H if G is None else G, 5, 3
    shapes = {"x": (2, T, C), "w_q": (C, H * D), "w_k": (C, G * D), "w_v": (C, G * E), "w_o": (H * E, 6)}
    shapes |= {"b_q": (H * D,), "b_k": (G * D,), "b_v": (G * E,), "b_o": (6,)} if biased else {}
    shapes |= {"cos": (T, D // 2), "sin": (T, D // 2)} if tables else {}
    return Input({"H": H, "G": G, **params}, {name: reals(name, shape) for name, shape in shapes.items()})


REPEATED, UNIQUE = [[2, 0, 2], [5, 2, 0]], [[2, 0, 1], [5, 3, 6]]
SOME = [True, False, True, True, True]  # keys 0, 2, 3, 4
ROWS = [[True] * 5, [False] * 5, SOME]  # the second query has no key
ALL = [True] * 5
BELOW = 2.0**18  # scores of this size lie below every fill

# id: (shows it, hides it)
INPUTS: dict[str, tuple[Input, Input | None]] = {
    "embedding.scale_missing": (scaled(7), scaled(1)),
    "embedding.scale_twice": (scaled(7), scaled(1)),
    "embedding.scale_divided": (scaled(7), scaled(1)),
    "embedding.scale_in_bfloat16": (scaled(7), scaled(4)),
    "embedding.scale_missing_in_gradient": (scaled(7), scaled(1)),
    "embedding.grad_overwrite": (tokens(REPEATED, 3), tokens(UNIQUE, 3)),
    "embedding.grad_accumulated_in_16_bits": (tokens(REPEATED, 3), None),
    "embedding.padding_row_trains": (tokens(REPEATED, 3, padding_idx=2), tokens(REPEATED, 3, padding_idx=1)),
    "embedding.padding_row_zeroed": (tokens(REPEATED, 3, padding_idx=2), tokens(REPEATED, 3, padding_idx=1)),
    "embedding.padding_zero_ignored": (tokens(REPEATED, 3, padding_idx=0), tokens(REPEATED, 3, padding_idx=2)),
    "learned.offset_two": (learned([0, 1, 2]), None),
    "learned.decode_from_zero": (learned([[6], [7]]), learned([0, 1, 2])),
    "learned.grad_overwrite": (learned([[0, 1], [0, 1]]), learned([0, 1, 2])),
    "sinusoidal.halves": (at([1, 2], 6), at([1, 2], 2)),
    "sinusoidal.cos_first": (at([0, 1], 5), at([0, 1], 1)),
    "sinusoidal.denominator_half_minus_one": (at([1, 7], 8), at([1, 7], 2)),
    "sinusoidal.exponent_per_channel": (at([1.5, 2.0], 4), at([1.5, 2.0], 1)),
    "sinusoidal.base_ignored": (at([3], 4, base=100.0), at([3], 2, base=100.0)),
    "sinusoidal.start_ignored": (at([5, 6], 4), at([0, 1], 4)),
    "sinusoidal.one_based": (at([0, 1], 4), None),
    "sinusoidal.bf16_positions": (at([257], 4), at([0, 40, 256], 4)),
    "sinusoidal.odd_width_zero": (at([1.5, 3.0], 5), at([1.5, 3.0], 4)),
    "sinusoidal.positions_truncated": (at([0.5, 1.25], 4), at([0, 1], 4)),
    "sinusoidal.gradient_without_frequency": (at([0.5, 1.0], 4), at([0.5, 1.0], 2)),
    "sinusoidal.gradient_sign": (at([0.5, 1.0], 4), at([0.0], 4)),
    "dropout.no_rescale": (dropped(0.1, [SOME]), dropped(0.0, [SOME])),
    "dropout.divided_by_p": (dropped(0.1, [SOME]), dropped(0.5, [SOME])),
    "dropout.mask_inverted": (dropped(0.1, [SOME]), None),
    "dropout.mask_not_replayed": (dropped(0.1, [SOME]), dropped(0.1, [ALL])),
    "dropout.rescale_missing_in_gradient": (dropped(0.1, [SOME]), dropped(0.0, [SOME])),
    "transformer_embedding.scale_missing": (layer(2, 3, 4), layer(2, 3, 1)),
    "transformer_embedding.scale_after_sum": (layer(2, 3, 4, table=5), layer(2, 3, 4, position="none")),
    "transformer_embedding.start_ignored": (layer(2, 3, 4, start=4), layer(2, 3, 4)),
    "transformer_embedding.batch_as_time": (layer(2, 3, 4), layer(2, 3, 4, position="none")),
    "transformer_embedding.position_not_dropped": (layer(2, 3, 4, table=5, keep=SOME, p=0.25), layer(2, 3, 4, table=5)),
    "transformer_embedding.position_gradient_mean": (layer(2, 3, 4, table=5), layer(1, 3, 4, table=5)),
    **EMBEDDING_INPUTS,
    "rope.theta_default": (angles([3], 4, base=500.0), angles([3], 2, base=500.0)),
    "rope.exponent_halved": (angles([3], 4), angles([3], 2)),
    "rope.bf16_positions": (angles([257], 4), angles([0, 40, 256], 4)),
    "rope.bf16_inv_freq": (angles([512], 6), angles([512], 2)),
    "rope.bf16_table": (angles([1], 4), angles([0], 4)),
    "rope.negative_position_abs": (angles([-1], 4), angles([0, 1], 4)),
    "rope.table_too_short": (angles([8191], 4), angles([0, 40, 4095], 4)),
    "rope.sin_cos_swapped": (angles([0, 1], 4), None),
    "rope.layout_swapped": (turned((2, 3, 4)), turned((2, 3, 2))),
    "rope.layout_swapped_back": (turned((2, 3, 4), interleaved=False), turned((2, 3, 2), interleaved=False)),
    "rope.layout_mixed": (turned((2, 3, 4)), turned((2, 3, 2))),
    "rope.deinterleaved_output": (turned((2, 3, 4)), turned((2, 3, 2))),
    "rope.output_layout_ignored": (turned((2, 3, 4), interleaved_output=False), turned((2, 3, 4))),
    "rope.conjugate": (turned((2, 3, 4)), None),
    "rope.in_place": (turned((2, 3, 4)), None),
    "rope.tables_swapped": (turned((2, 3, 4)), None),
    "rope.backward_forward_again": (turned((2, 3, 4)), turned_by_zero((2, 3, 4))),
    "rope.table_gradient_mean": (turned((2, 3, 4)), turned((2, 3, 4), (2, 3, 2))),
    "rotary.layout_swapped": (rotary((2, 3, 4), [0, 1, 2]), rotary((2, 3, 2), [0, 1, 2])),
    "rotary.layout_swapped_back": (
        rotary((2, 3, 4), [0, 1, 2], interleaved=False),
        rotary((2, 3, 2), [0, 1, 2], interleaved=False),
    ),
    "rope.axis_heads": (rotary((2, 3, 5, 4), range(5)), rotary((2, 1, 1, 4), [7])),
    "rope.decode_from_zero": (rotary((2, 3, 1, 4), [7]), rotary((2, 3, 5, 4), range(5))),
    "rope.offset_plus_one": (rotary((3, 4), [0, 1, 2]), None),
    "rope.offset_not_broadcast": (rotary((2, 3, 2, 4), [[[0, 1]], [[5, 6]]]), rotary((1, 3, 2, 4), [[[5, 6]]])),
    "rotary.bf16_positions": (rotary((1, 4), [257]), rotary((3, 4), [0, 40, 256])),
    "rotary.backward_forward_again": (rotary((2, 4), [0, 1]), rotary((2, 4), [0, 0])),
    **ROTARY_EMBEDDING_INPUTS,
    **ROTARY_INPUTS,
    "alibi.slopes_geometric": (slopes(6), slopes(8)),
    "alibi.slopes_next_power": (slopes(6), slopes(8)),
    "alibi.slopes_from_one": (slopes(6), None),
    "alibi.max_bias_ignored": (slopes(4, max_bias=5), slopes(4)),
    "alibi.sign": (bias(3, 5), bias(1, 1)),
    "alibi.decode_zero": (bias(1, 5, 4), bias(3, 5, 2)),
    "alibi.offset_ignored": (bias(3, 5, 2), bias(3, 5)),
    "alibi.key_only": (bias(3, 5), bias(1, 1)),
    "alibi.full": (bias(3, 5, key_only=True), bias(3, 5)),
    "alibi.abs_missing": (bias(3, 5), bias(1, 5, 4)),
    "alibi.one_step_off": (bias(3, 5), None),
    "alibi.future_free": (bias(3, 5), bias(1, 5, 4)),
    "alibi.bf16_distances": (bias(1, 300, 299), bias(3, 5)),
    "alibi.heads_reversed": (bias(3, 5), bias(3, 5, H=1)),
    "alibi.gradient_sign": (bias(3, 5), bias(1, 1)),
    **BIAS_INPUTS,
    **MASK_INPUTS,
    "linear.weight_transposed": (linear((2, 3, 4), 4), linear((2, 3, 4), 5)),
    "linear.bias_missing": (linear((2, 3, 4), 5), linear((2, 3, 4), 5, biased=False)),
    "linear.bias_gradient_mean": (linear((2, 3, 4), 5), linear((1, 4), 5)),
    "linear.weight_gradient_of_last": (linear((2, 3, 4), 5), linear((1, 3, 4), 5)),
    "linear.tf32": (linear((2, 3, 4), 5), linear((2, 3, 4), 5, decimals=0)),
    "softmax.axis": (rows((2, 3, 5)), rows((1, 1))),
    "softmax.polarity": (rows((3, 5), SOME), rows((3, 5))),
    "softmax.mask_after": (rows((3, 5), SOME), rows((3, 5), ALL)),
    "softmax.mask_multiplied": (rows((3, 5), SOME), rows((3, 5), ALL)),
    "softmax.zero_is_masked": (Input({}, {"x": np.asarray([[0.0, 1.5, -0.75], [-2.0, 0.0, 0.0]])}), rows((3, 5))),
    "softmax.minus_1e4": (rows((3, 5), SOME, BELOW), rows((3, 5), SOME)),
    "softmax.full_row_nan": (rows((3, 5), ROWS), rows((3, 5), SOME)),
    "softmax.full_row_uniform": (rows((3, 5), ROWS), rows((3, 5), SOME)),
    "softmax.no_max_subtraction": (rows((3, 5), scale=2000.0), rows((3, 5))),
    "softmax.no_row_sum": (rows((3, 5)), None),
    "softmax.diagonal": (rows((3, 5)), rows((3, 1))),
    **SINK_INPUTS,
    "attention.gqa_tile": (attention(4, 2), attention(4, 1)),
    "attention.scale_none": (attention(), attention(D=1)),
    "attention.scale_twice": (attention(), attention(D=1)),
    "attention.scale_split": (attention(), attention(D=1)),
    "attention.scale_of_values": (attention(), attention(E=4)),
    "alibi.scaled_with_qk": (attention(bias=(2, 3, 5)), attention(D=1, bias=(2, 3, 5))),
    "attention.bias_ignored": (attention(bias=(2, 3, 5)), attention()),
    "attention.bias_first_head": (attention(bias=(2, 3, 5)), attention(bias=(3, 5))),
    "attention.causal_top_left": (attention(q_offset=2), attention(T=5, q_offset=0)),
    "attention.causal_bottom_right": (attention(q_offset=0), attention(T=5, q_offset=0)),
    "attention.causal_strict": (attention(q_offset=2), attention(q_offset=5)),
    "attention.not_causal": (attention(q_offset=2), attention(q_offset=5)),
    "attention.mask_ignored_when_causal": (attention(q_offset=2, keep=SOME), attention(keep=SOME)),
    "attention.polarity": (attention(keep=SOME), attention()),
    "attention.mask_after_softmax": (attention(keep=SOME), attention(keep=ALL)),
    "attention.mask_multiplied": (attention(keep=SOME), attention(keep=ALL)),
    "attention.mask_added": (attention(keep=SOME), attention()),
    "attention.zero_times_inf": (attention(keep=SOME), attention()),
    "attention.minus_1e4": (attention(keep=SOME, below=True), attention(keep=SOME)),
    "attention.finite_sentinel": (attention(keep=SOME, below=True), attention(keep=SOME)),
    "attention.full_row_nan": (attention(keep=ROWS), attention(keep=SOME)),
    "attention.full_row_uniform": (attention(keep=ROWS), attention(keep=SOME)),
    "attention.no_max_subtraction": (attention(scale=2000.0), attention()),
    "attention.softmax_axis_query": (attention(), attention(T=1, S=1)),
    "attention.softmax_over_heads": (attention(), None),
    "attention.weights_bf16": (attention(), attention(S=1)),
    "attention.last_key_dropped": (attention(), attention(T=2, q_offset=0)),
    "attention.lse_without_max": (attention(), None),
    "attention.lse_base_two": (attention(), None),
    "attention.no_row_sum": (attention(), None),
    "attention.diagonal_softmax": (attention(), attention(S=1)),
    "attention.nan_poison": (attention(keep=ROWS), attention(keep=SOME)),
    "attention.dlse_ignored": (attention(), attention(cotangents=("y",))),
    "attention.dlse_sign": (attention(), attention(cotangents=("y",))),
    "attention.scale_missing_in_dq": (attention(), attention(D=1)),
    "attention.not_transposed": (attention(T=5), attention()),
    "attention.gqa_not_summed": (attention(4, 2), attention()),
    "attention.bias_not_reduced": (attention(bias=(3, 5)), attention(bias=(2, 2, 3, 5))),
    **OPENING_INPUTS,
    "multi_head.heads_split_wrong": (heads(), heads(1)),
    "multi_head.heads_merged_wrong": (heads(), heads(1)),
    "multi_head.scale_d_model": (heads(), heads(1)),
    "multi_head.gqa_tile": (heads(4, 2), heads(4, 1)),
    "multi_head.layout_swapped": (heads(), heads(D=2)),
    "rope.also_v": (heads(), heads(tables=False)),
    "multi_head.causal_ignored": (heads(q_offset=0), heads(q_offset=3)),
    "multi_head.output_bias_missing": (heads(), heads(biased=False)),
    "multi_head.table_gradient_of_q_only": (heads(), heads(tables=False)),
    "multi_head.share_of_v_missing": (heads(), None),
    **PIECE_INPUTS,
}
