"""Inputs that show, and that hide, mistakes behind door 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mistakes.given import Input, Shape, reals

PATCHES, DIAGONAL = [[0, 1, 2], [0, 0, 1]], [[0, 1, 2], [0, 1, 2]]
VIDEO, TEXT = [[0, 1, 1], [0, 1, 2], [0, 2, 1]], [[0, 1, 2]] * 3
FACTORS = {"short_factors": np.asarray([1.0, 1.25, 2.0]), "long_factors": np.asarray([1.5, 4.0, 30.0])}


def of(**params: Any) -> Input:
    return Input(params, {})


def turned(shape: Shape, **params: Any) -> Input:
    table = (shape[-2], shape[-1] // 2)
    return Input(params, {"x": reals("x", shape), "cos": reals("cos", table), "sin": reals("sin", table)})


def rotary(shape: Shape, positions: Any, frequencies: Any = None, **params: Any) -> Input:
    given = {} if frequencies is None else {"frequencies": np.asarray(frequencies)}
    return Input(params, {"x": reals("x", shape), "positions": np.asarray(positions)} | given)


def dynamic(length: int, D: int = 6, factor: float = 4.0) -> Input:
    return of(D=D, length=length, trained_length=32, factor=factor)


def parts(D: int = 12, trained_length: int = 1024, factor: float = 4.0) -> Input:
    return of(D=D, trained_length=trained_length, factor=factor)


def yarn(D: int = 10, trained_length: int = 2048, factor: float = 8.0, **params: Any) -> Input:
    return of(D=D, trained_length=trained_length, factor=factor, **params)


def longrope(length: int, factor: float = 32.0, arrays: dict[str, np.ndarray] = FACTORS) -> Input:
    return Input({"length": length, "trained_length": 16, "factor": factor}, arrays)


def angles(positions: Any, F: int = 3, factor: float | None = None, cotangents: Any = ("cos", "sin")) -> Input:
    arrays = {"positions": np.asarray(positions), "frequencies": reals("frequencies", (F,))}
    return Input({}, arrays | ({} if factor is None else {"attention_factor": np.asarray(factor)}), cotangents)


def mixed(positions: Any, scale: float = 1.0) -> Input:
    frequencies = reals("frequencies", (2, 2, 3), scale)
    return Input({}, {"positions": np.asarray(positions), "frequencies": frequencies}, ("cos", "sin"))


def coordinates(positions: Any, **params: Any) -> Input:
    return Input(params, {"positions": np.asarray(positions)})


def partial(D: int, R: int, **params: Any) -> Input:
    return Input(
        params, {"x": reals("x", (2, 3, D)), "cos": reals("cos", (3, R // 2)), "sin": reals("sin", (3, R // 2))}
    )


def still(D: int, R: int) -> Input:
    return Input({}, {"x": reals("x", (2, 3, D)), "cos": np.ones((3, R // 2)), "sin": np.zeros((3, R // 2))})


def xpos(positions: Any, centre: int = 2, scale_base: float = 16.0, **params: Any) -> Input:
    return rotary((2, len(positions), 4), positions, centre=centre, scale_base=scale_base, **params)


def mla(H: int = 2, R: int = 4, sin: float = 1.0, cotangents: Any = ("q", "k"), **params: Any) -> Input:
    shapes = {"q_nope": (H, 3, 5), "q_pe": (H, 3, R), "k_nope": (H, 3, 5), "k_pe": (3, R)}
    tables = {"cos": reals("cos", (3, R // 2)), "sin": reals("sin", (3, R // 2), sin)}
    return Input(params, {name: reals(name, shape) for name, shape in shapes.items()} | tables, cotangents)


def weights(H: int, D: int, **params: Any) -> Input:
    return Input({"H": H, **params}, {"weight": reals("weight", (3, H * D))})


ROTARY_EMBEDDING_INPUTS: dict[str, tuple[Input, Input | None]] = {
    "rotary.frequencies_ignored": (rotary((2, 3, 4), [0, 1, 2], [0.5, 0.25]), rotary((2, 3, 4), [0, 1, 2])),
    "rotary.frequencies_detached": (rotary((2, 3, 4), [0, 1, 2], [0.5, 0.25]), rotary((2, 3, 4), [0, 1, 2])),
}

ROTARY_INPUTS: dict[str, tuple[Input, Input | None]] = {
    "frequencies.theta_default": (of(D=4, base=500.0), of(D=2, base=500.0)),
    "frequencies.exponent_halved": (of(D=4), of(D=2)),
    "frequencies.bfloat16": (of(D=64), of(D=2)),
    "linear_scaling.missing": (of(D=4, factor=4.0), of(D=4, factor=1.0)),
    "linear_scaling.multiplied": (of(D=4, factor=4.0), of(D=4, factor=1.0)),
    "linear_scaling.base_scaled": (of(D=4, factor=4.0), of(D=4, factor=1.0)),
    "ntk.exponent_missing": (of(D=6, factor=4.0), of(D=6, factor=1.0)),
    "ntk.linear": (of(D=6, factor=4.0), of(D=6, factor=1.0)),
    "ntk.factor_ignored": (of(D=6, factor=4.0), of(D=6, factor=1.0)),
    "dynamic_ntk.static": (dynamic(40), dynamic(56)),
    "dynamic_ntk.alpha_not_reduced": (dynamic(64), dynamic(64, factor=1.0)),
    "dynamic_ntk.exponent_missing": (dynamic(64), dynamic(32)),
    "dynamic_ntk.never": (dynamic(64), dynamic(32)),
    "by_parts.ramp_over_index": (parts(), parts(factor=1.0)),
    "by_parts.mirrored": (parts(), parts(factor=1.0)),
    "by_parts.everywhere": (parts(), parts(trained_length=1)),
    "llama3.missing": (of(D=6, base=100.0, trained_length=48), of(D=22, factor=1.0)),
    "llama3.smooth_reversed": (of(D=22), of(D=22, factor=1.0)),
    "llama3.blend_missing": (of(D=6, base=100.0, trained_length=48), of(D=2)),
    "yarn.truncated": (yarn(truncate=False), yarn()),
    "yarn.not_truncated": (yarn(), yarn(truncate=False)),
    "yarn.clamped_to_last_pair": (yarn(6, 600, base=10.0), yarn(64, 2048)),
    "yarn.mirrored": (yarn(), yarn(factor=1.0)),
    "yarn.factor_ignored": (yarn(), yarn(factor=1.0)),
    "yarn.factor_squared": (yarn(), yarn(factor=1.0)),
    "yarn.unguarded": (of(factor=0.5), of(factor=4.0)),
    "yarn.mscale_all_dim_ignored": (of(factor=4.0, mscale_all_dim=0.5), of(factor=4.0)),
    "yarn.mscale_ignored": (of(factor=4.0, mscale=0.5), of(factor=4.0)),
    "yarn.attention_factor_missing": (of(factor=4.0), of(factor=1.0)),
    "yarn.attention_factor_squared": (of(factor=4.0), of(factor=1.0)),
    "longrope.capacity": (longrope(9), longrope(17)),
    "longrope.always_short": (longrope(17), longrope(16)),
    "longrope.multiplied": (longrope(9), None),
    "longrope.factor_ignored": (longrope(9), longrope(9, 1.0)),
    "proportional.partial": (of(D=16, proportion=0.25, base=100.0), of(D=16, proportion=1.0)),
    "proportional.all_turn": (of(D=16, proportion=0.25, base=100.0), of(D=16, proportion=1.0)),
    "proportional.slow_turn": (of(D=16, proportion=0.25, base=100.0), of(D=16, proportion=0.0)),
    "angles.factor_on_cos_alone": (angles([1, 2], factor=1.5), angles([1, 2], factor=1.0, cotangents=("cos",))),
    "angles.bf16_positions": (angles([257]), angles([0, 40, 256])),
    "angles.one_based": (angles([0, 1, 2]), None),
    "angles.frequency_gradient_without_position": (angles([0, 1, 2]), angles([1, 1])),
    "angles.frequency_gradient_mean": (angles([0, 1, 2]), angles([7])),
    "angles.cotangents_swapped": (angles([0, 1, 2]), angles([0, 0])),
    "mrope.sectioned": (coordinates(VIDEO, sections=[2, 1, 1], cycled=True), coordinates(TEXT, sections=[2, 1, 1])),
    "mrope.cycled": (coordinates(VIDEO, sections=[2, 1, 1]), coordinates(TEXT, sections=[2, 1, 1])),
    "mrope.time_alone": (coordinates(VIDEO, sections=[2, 1, 1]), coordinates(TEXT, sections=[2, 1, 1])),
    "mrope.axes_reversed": (coordinates(VIDEO, sections=[2, 1, 1]), coordinates(TEXT, sections=[2, 1, 1])),
    "axial.axes_swapped": (coordinates(PATCHES, D=8), coordinates(DIAGONAL, D=8)),
    "axial.exponent_of_whole_width": (coordinates(PATCHES, D=8), coordinates(PATCHES, D=4)),
    "axial.split_ignored": (coordinates(PATCHES, D=8, split_frequencies=True), coordinates(PATCHES, D=8)),
    "axial.split": (coordinates(PATCHES, D=8), coordinates(PATCHES, D=8, split_frequencies=True)),
    "axial.one_based": (coordinates(PATCHES, D=8), None),
    "mixed.axes_swapped": (mixed(PATCHES), mixed(DIAGONAL)),
    "mixed.one_based": (mixed(PATCHES), None),
    "mixed.gradient_of_first_axis": (mixed(PATCHES), mixed(DIAGONAL)),
    "partial.last_channels": (partial(10, 4), partial(4, 4)),
    "partial.pairs_across_the_head": (partial(10, 4, interleaved=False), partial(10, 4)),
    "partial.layout_swapped": (partial(10, 4), partial(10, 2)),
    "partial.rest_without_gradient": (partial(10, 4), partial(4, 4)),
    "partial.backward_forward_again": (partial(10, 4), still(10, 4)),
    "axial_rope.interleaved": (rotary((2, 3, 8), PATCHES, layout="halves"), rotary((2, 3, 8), PATCHES)),
    "axial_rope.halves": (rotary((2, 3, 8), PATCHES), rotary((2, 3, 8), PATCHES, layout="halves")),
    "axial_rope.axes_swapped": (rotary((2, 3, 8), PATCHES), rotary((2, 3, 8), DIAGONAL)),
    "axial_rope.backward_forward_again": (rotary((2, 3, 8), PATCHES), rotary((2, 1, 8), [[0], [0]])),
    "xpos.backward_inverse": (xpos([0, 1, 2]), xpos([2, 2])),
    "xpos.backward_forward_again": (xpos([0, 1, 2]), xpos([0, 0])),
    "xpos.keys_like_queries": (xpos([0, 1, 2], keys=True), xpos([2, 2], keys=True)),
    "xpos.queries_like_keys": (xpos([0, 1, 2]), xpos([2, 2])),
    "xpos.centre_ignored": (xpos([0, 1, 2]), xpos([0, 1, 2], 0)),
    "xpos.centre_from_the_call": (xpos([0, 1, 2]), xpos([0, 1, 2], 1)),
    "xpos.scale_base_default": (xpos([0, 1, 2]), xpos([0, 1, 2], scale_base=512.0)),
    "mla_rope.position_first": (mla(), None),
    "mla_rope.layout_swapped": (mla(), mla(R=2)),
    "mla_rope.k_pe_gradient_mean": (mla(), mla(H=1)),
    "mla_rope.table_gradient_of_q_alone": (mla(), mla(cotangents=("q",))),
    "mla_rope.backward_forward_again": (mla(), mla(sin=0.0)),
    "permute.inverse": (weights(2, 6), weights(3, 4)),
    "permute.across_heads": (weights(3, 4), weights(1, 6)),
    "permute.backward_again": (weights(2, 6), weights(3, 4)),
    "temperature.offset_missing": (rotary((2, 3, 5), [1, 2, 3], step=4), rotary((2, 2, 5), [0, 1], step=4)),
    "temperature.offset_one": (rotary((2, 3, 5), [1, 2, 3], step=4, offset=0), rotary((2, 3, 5), [1, 2, 3], step=4)),
    "temperature.from_zero": (rotary((2, 3, 5), [9, 10, 11], step=4), rotary((2, 3, 5), [0, 1, 2], step=4)),
    "temperature.not_floored": (rotary((2, 3, 5), [0, 1, 2], step=4), rotary((2, 3, 5), [0, 1, 2], step=1)),
    "temperature.gradient_missing": (rotary((2, 3, 5), [9, 10, 11], step=4), rotary((2, 3, 5), [0, 1, 2], step=4)),
}
