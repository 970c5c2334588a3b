"""Inputs that show, and that hide, mistakes behind door 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mistakes.given import Input, Shape, reals


def of_shapes(params: dict[str, Any], **shapes: Shape) -> Input:
    return Input(params, {name: reals(name, shape) for name, shape in shapes.items()})


def buckets(relative: Any, **params: Any) -> Input:
    return Input(params, {"relative": np.asarray(relative)})


def t5(T: int, S: int, q_offset: int = 0, N: int = 8, **params: Any) -> Input:
    return of_shapes({"T": T, "S": S, "q_offset": q_offset, **params}, weight=(N, 3))


def kerple(T: int, S: int, q_offset: int = 0, equal: bool = False) -> Input:
    a, p = 0.5 + abs(reals("a", (3,))), 0.5 + abs(reals("p", (3,)))
    return Input({"T": T, "S": S, "q_offset": q_offset}, {"a": a, "p": a if equal else p})


def fire(T: int, S: int, q_offset: int = 0, L0: float = 4.5, H: int = 2) -> Input:
    arrays = {name: reals(name, shape) for name, shape in {"w1": (5,), "b1": (5,), "w2": (5, H), "b2": (H,)}.items()}
    single = {"c": np.asarray(0.5), "m": np.asarray(0.75), "L0": np.asarray(L0)}
    return Input({"T": T, "S": S, "q_offset": q_offset}, arrays | single)


def sandwich(T: int, S: int, q_offset: int = 0, H: int = 3, **params: Any) -> Input:
    return Input({"T": T, "S": S, "q_offset": q_offset, "H": H, "C": 6, **params}, {})


def swin(height: int, width: int) -> Input:
    return of_shapes({"height": height, "width": width}, weight=((2 * height - 1) * (2 * width - 1), 2))


def swin_v2(height: int, width: int, **params: Any) -> Input:
    return of_shapes({"height": height, "width": width, **params}, w1=(2, 5), b1=(5,), w2=(5, 3))


def grid(height: int, width: int, H: int = 3, D: int = 4, batch: Shape = (2,)) -> Input:
    shapes = {"q": (*batch, H, height * width, D), "table_h": (2 * height - 1, D), "table_w": (2 * width - 1, D)}
    return of_shapes({"height": height, "width": width}, **shapes)


def keys(T: int, S: int, q_offset: int = 0, D: int = 4, N: int = 5, **params: Any) -> Input:
    return of_shapes({"S": S, "q_offset": q_offset, **params}, q=(2, 3, T, D), table=(N, D))


def values(T: int, S: int, q_offset: int = 0, N: int = 5) -> Input:
    return of_shapes({"q_offset": q_offset}, weights=(2, 3, T, S), v=(2, 3, S, 4), table=(N, 4))


def xl(T: int, S: int, zero: tuple[str, ...] = ()) -> Input:
    shapes = {"q": (2, 2, T, 4), "k": (2, 2, S, 4), "r": (T + S - 1, 3), "w_r": (3, 8), "u": (2, 4), "v": (2, 4)}
    arrays = {name: reals(name, shape) * (name not in zero) for name, shape in shapes.items()}
    return Input({}, arrays)


def deberta(T: int, S: int, q_offset: int = 0, N: int = 12, **params: Any) -> Input:
    shapes = {"q": (2, 2, T, 4), "k": (2, 2, S, 4), "key_table": (2, N, 4), "query_table": (2, N, 4)}
    return of_shapes({"q_offset": q_offset, **params}, **shapes)


def cope(T: int, S: int, q_offset: int = 0, D: int = 4) -> Input:
    return of_shapes({"q_offset": q_offset}, q=(2, 3, T, D), k=(2, 3, S, D), table=(6, D))


def fox(T: int, S: int, q_offset: int = 0) -> Input:
    return of_shapes({"T": T, "q_offset": q_offset}, gate_logits=(2, 3, S))


FAR = [0, -3, 3, -64, 64, -65, 65, -100, 128]

# id: (shows it, hides it)
BIAS_INPUTS: dict[str, tuple[Input, Input | None]] = {
    "t5.sign": (buckets(FAR), buckets([0])),
    "t5.causal_in_encoder": (buckets(FAR), buckets(FAR, bidirectional=False)),
    "t5.boundary_round": (buckets(FAR), buckets([0, -3, 3, -65, 65, 100])),
    "t5.last_bucket_at_max_distance": (buckets(FAR), buckets([0, -7, 7, -1000])),
    "t5.max_distance_ignored": (buckets(FAR, max_distance=64), buckets(FAR)),
    "t5.bias_sign": (t5(3, 5), t5(1, 1)),
    "t5.bias_causal_in_encoder": (t5(3, 5), t5(3, 5, bidirectional=False)),
    "t5.bias_offset_ignored": (t5(3, 5, 2), t5(3, 5)),
    "t5.bias_max_distance_ignored": (t5(3, 15, max_distance=5), t5(3, 15)),
    "t5.table_grad_overwrite": (t5(3, 5), t5(1, 3)),
    "kerple.log_base_two": (kerple(3, 5), kerple(1, 1)),
    "kerple.log_offset_ignored": (kerple(3, 5, 2), kerple(3, 5)),
    "kerple.log_keys_ahead_free": (kerple(3, 5), kerple(1, 5, 4)),
    "kerple.dead": (kerple(3, 5), kerple(1, 1)),
    "kerple.log_gradient_without_p": (kerple(3, 5), kerple(1, 1)),
    "kerple.zero_nan": (kerple(3, 5), kerple(2, 3, 4)),
    "kerple.power_keys_ahead_free": (kerple(3, 5), kerple(1, 5, 4)),
    "kerple.parameters_swapped": (kerple(3, 5), kerple(1, 1)),
    "kerple.power_offset_ignored": (kerple(3, 5, 2), kerple(3, 5)),
    "fire.threshold_ignored": (fire(5, 7, 1), None),
    "fire.offset_ignored": (fire(3, 7, 4), fire(3, 7)),
    "fire.relu_missing": (fire(5, 7, 1), None),
    "fire.relu_gradient_missing": (fire(5, 7, 1), None),
    "fire.threshold_gradient_everywhere": (fire(5, 7, 1), fire(3, 7, 0, L0=20.0)),
    "sandwich.from_zero": (sandwich(3, 5), sandwich(1, 1)),
    "sandwich.cosine_missing": (sandwich(3, 5), sandwich(1, 1)),
    "sandwich.heads_reversed": (sandwich(3, 5), sandwich(3, 5, H=1)),
    "sandwich.offset_ignored": (sandwich(3, 5, 2), sandwich(3, 5)),
    "sandwich.base_ignored": (sandwich(3, 5, base=100.0), sandwich(3, 5)),
    "swin.key_minus_query": (swin(2, 3), swin(1, 1)),
    "swin.columns_first": (swin(2, 3), swin(1, 5)),
    "swin.table_grad_overwrite": (swin(2, 3), swin(1, 1)),
    "swin_v2.key_minus_query": (swin_v2(2, 3), swin_v2(1, 1)),
    "swin_v2.pretrained_window_ignored": (swin_v2(2, 3, pretrained_height=5, pretrained_width=4), swin_v2(2, 3)),
    "swin_v2.sign_missing": (swin_v2(2, 3), swin_v2(1, 1)),
    "swin_v2.linear_offsets": (swin_v2(3, 4), swin_v2(1, 1)),
    "swin_v2.sixteen_missing": (swin_v2(2, 3), None),
    "swin_v2.sigmoid_gradient_missing": (swin_v2(2, 3), None),
    "decomposed.key_minus_query": (grid(2, 3), grid(1, 1)),
    "decomposed.columns_first": (grid(2, 3), grid(1, 5)),
    "decomposed.scaled_query": (grid(2, 3), grid(2, 3, D=1)),
    "decomposed.gradient_of_first_head": (grid(2, 3), grid(2, 3, H=1, batch=())),
    "shaw.keys_sign": (keys(3, 5), keys(1, 1)),
    "shaw.keys_offset_ignored": (keys(3, 5, 2), keys(3, 5)),
    "shaw.keys_not_scaled": (keys(3, 5), keys(3, 5, D=1)),
    "shaw.keys_grad_overwrite": (keys(3, 7), keys(3, 3)),
    "shaw.values_sign": (values(3, 5), values(1, 1)),
    "shaw.values_offset_ignored": (values(3, 5, 2), values(3, 5)),
    "shaw.values_ignored": (values(3, 5), None),
    "shaw.values_weights_miss_table": (values(3, 5), None),
    "transformer_xl.ascending": (xl(3, 5), xl(1, 1)),
    "transformer_xl.shift_garbage": (xl(3, 5), xl(1, 5)),
    "transformer_xl.u_v_swapped": (xl(3, 5), None),
    "transformer_xl.content_bias_missing": (xl(3, 5), None),
    "transformer_xl.gradient_of_keys_missing": (xl(3, 5), xl(3, 5, zero=("u",))),
    "deberta.sign": (deberta(3, 5), deberta(1, 1)),
    "deberta.mirrored": (deberta(3, 5), deberta(3, 5, mirrored=True)),
    "deberta.not_mirrored": (deberta(3, 5, mirrored=True), deberta(3, 5)),
    "deberta.scale_of_one": (deberta(3, 5), deberta(3, 5, scale=0.25)),
    "deberta.log_floor": (deberta(2, 13, 6, max_distance=10), deberta(3, 4, max_distance=10)),
    "deberta.log_buckets_ignored": (deberta(2, 13, 6, max_distance=10), deberta(3, 4, max_distance=10)),
    "deberta.content_to_position_only": (deberta(3, 5), None),
    "deberta.gradient_not_transposed": (deberta(3, 5), None),
    "cope.gates_not_scaled": (cope(3, 5, 2), cope(3, 5, 2, D=1)),
    "cope.bias_scaled": (cope(3, 5, 2), cope(3, 5, 2, D=1)),
    "cope.future_gates_open": (cope(3, 5), cope(1, 5, 4)),
    "cope.row_below": (cope(3, 5, 2), None),
    "cope.gates_detached": (cope(3, 5, 2), None),
    "fox.key_dims_itself": (fox(3, 5, 2), fox(1, 5)),
    "fox.gate_itself": (fox(3, 5, 2), fox(1, 1)),
    "fox.offset_ignored": (fox(3, 5, 2), fox(3, 5)),
    "fox.keys_ahead_positive": (fox(3, 5), fox(1, 1)),
    "fox.summed_forward": (fox(3, 5, 2), None),
}
