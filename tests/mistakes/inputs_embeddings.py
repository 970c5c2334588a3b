"""For every mistake in tables, sinusoids and normalization an input that shows it, and one that hides it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.mistakes.given import Input, Shape, reals

REPEATED, UNIQUE = [[2, 0, 2], [5, 2, 0]], [[2, 0, 1], [5, 3, 6]]
LEFT_PADDED = [[False, False, True, True], [True, True, True, True]]


def tokens(ids: Any, **params: Any) -> Input:
    return Input(params, {"ids": np.asarray(ids), "weight": reals("weight", (7, 3))})


def table(ids: Any, scale: float = 4.0, C: int = 3, **params: Any) -> Input:
    arrays = {"ids": np.asarray(ids), "weight": reals("weight", (7, C), scale)}
    return Input({"max_norm": 1.5, "eps": 0.125, **params}, arrays)


def head(h: Shape, V: int) -> Input:
    return Input({}, {"h": reals("h", h), "weight": reals("weight", (V, h[-1])), "bias": reals("bias", (V,))})


def segments(numbers: Any, N: int = 3) -> Input:
    return Input({}, {"segments": np.asarray(numbers), "weight": reals("weight", (N, 5))})


def counted(T: int, **params: Any) -> Input:
    return Input({"T": T, **params}, {})


def padded(mask: Any, **params: Any) -> Input:
    return Input(params, {"mask": np.asarray(mask, dtype=bool)})


def packed(documents: Any) -> Input:
    return Input({}, {"documents": np.asarray(documents)})


def learned(positions: Any, **params: Any) -> Input:
    return Input(params, {"positions": np.asarray(positions), "weight": reals("weight", (7, 3))})


def grid(height: int, width: int, new_height: int, new_width: int, prefix: int = 0, antialias: bool = False) -> Input:
    sizes = {"height": height, "width": width, "new_height": new_height, "new_width": new_width}
    weight = reals("weight", (prefix + height * width, 2))
    return Input({**sizes, "prefix": prefix, "antialias": antialias}, {"weight": weight})


def at(positions: Any, C: int, **params: Any) -> Input:
    return Input({"C": C, **params}, {"positions": np.asarray(positions)})


def by(shift: Any, C: int, **params: Any) -> Input:
    return Input({"C": C, **params}, {"shift": np.asarray(shift)})


def moment(timesteps: Any, C: int, **params: Any) -> Input:
    return Input({"C": C, **params}, {"timesteps": np.asarray(timesteps)})


def moved(T: int, C: int = 4, **moves: float) -> Input:
    """Positions of two sequences; each move that is named gets numbers of that scale."""
    shapes = {"global_shift": (2,), "local_shift": (2, T), "log_scale": (2,)}
    arrays = {"positions": reals("positions", (2, T), 3.0)}
    return Input({"C": C}, arrays | {name: reals(name, shapes[name], scale) for name, scale in moves.items()})


def normed(shape: Shape, gains: tuple[str, ...] = ("weight",), mean: float = 0.0, **params: Any) -> Input:
    arrays = {"x": reals("x", shape) + mean} | {name: reals(name, shape[-1:]) for name in gains}
    return Input(params, arrays)


def opposite(**params: Any) -> Input:
    """Vectors x and -x side by side, of mean 0."""
    x = reals("x", (3, 2))
    return Input(params, {"x": np.concatenate([x, -x], axis=-1)})


def unit_gain(shape: Shape) -> Input:
    return Input({}, {"x": reals("x", shape), "weight": np.ones(shape[-1:])})


def bert(B: int, T: int, *, C: int = 4, segment: bool = True, keep: float | None = None, **params: Any) -> Input:
    arrays = {"ids": np.arange(B * T).reshape(B, T) % 5, "segments": np.arange(B * T).reshape(B, T) % 2 * segment}
    shapes = {
        "weight": (5, C),
        "segment_weight": (2, C),
        "position_weight": (7, C),
        "norm_weight": (C,),
        "norm_bias": (C,),
    }
    arrays |= {name: reals(name, shape) for name, shape in shapes.items()}
    if "positions" in params:
        arrays["positions"] = np.asarray(params.pop("positions"))
    if keep is not None:
        arrays["keep"] = np.abs(reals("keep", (B, T, C))) < keep
    return Input(params, arrays)


SIN_COS, COS_SIN = {"layout": "sin_cos"}, {"layout": "cos_sin"}

EMBEDDING_INPUTS: dict[str, tuple[Input, Input | None]] = {
    "embedding.freq_ignored": (tokens(REPEATED, scale_grad_by_freq=True), tokens(UNIQUE, scale_grad_by_freq=True)),
    "embedding.freq_by_sequence": (
        tokens(REPEATED, scale_grad_by_freq=True),
        tokens([2, 0, 2], scale_grad_by_freq=True),
    ),
    "renorm.all_rows": (table([0, 3]), table(range(7))),
    "renorm.short_rows_grow": (table([0, 3], 0.25), table([0, 3], 64.0)),
    "renorm.sum_of_sizes": (table([0, 3]), table([0, 3], C=1)),
    "renorm.eps_missing": (table([0, 3]), table([0, 3], eps=0.0)),
    "tied_head.scaled": (head((2, 3), 5), head((2, 1), 5)),
    "tied_head.not_transposed": (head((2, 3), 3), head((2, 3), 5)),
    "tied_head.share_missing": (head((2, 3), 5), None),
    "tied_head.share_of_last": (head((2, 3), 5), head((1, 2, 3), 5)),
    "segment.all_first": (segments([[0, 1], [2, 0]]), segments([[0, 0]])),
    "segment.numbered_from_one": (segments([[0, 1], [2, 0]]), segments([[0, 0]], 1)),
    "segment.grad_overwrite": (segments([[0, 1], [1, 0]]), segments([0, 1, 2])),
    "positions.offset_missing": (counted(3, offset=2), counted(3)),
    "positions.start_ignored": (counted(3, start=5), counted(3)),
    "positions.one_based": (counted(3), counted(0)),
    "positions.padding_counted": (padded(LEFT_PADDED), padded([[True, True, True]])),
    "positions.padding_keeps_count": (padded([True, True, False]), padded(LEFT_PADDED)),
    "positions.first_missing": (padded(LEFT_PADDED), padded([[False, False]])),
    "positions.packed_not_reset": (packed([0, 0, 1, 1, 1]), packed([4, 4, 4])),
    "positions.documents_by_number": (packed([0, 0, 1, 0]), packed([0, 0, 1, 1, 1])),
    "positions.beginning_forgotten": (packed([0, 0, 1, 1, 1]), packed([0, 0, 1, 1])),
    "learned.padding_row_trains": (learned([1, 2, 1], padding_idx=1), learned([3, 2], padding_idx=1)),
    "interpolate.other_kernel": (grid(2, 3, 5, 7), grid(3, 5, 3, 5)),
    "interpolate.corners_aligned": (grid(2, 3, 5, 7), grid(3, 5, 3, 5)),
    "interpolate.edge_dropped": (grid(2, 3, 5, 7), grid(3, 5, 3, 5)),
    "interpolate.height_width_swapped": (grid(2, 3, 5, 7), grid(3, 3, 5, 5)),
    "interpolate.gradient_resized": (grid(2, 3, 5, 7), grid(3, 5, 3, 5)),
    "interpolate.prefix_gradient_lost": (grid(2, 3, 5, 7, prefix=2), grid(2, 3, 5, 7)),
    "sinusoidal.layout_ignored": (at([1.5, 2.0], 6, **SIN_COS), at([1.5, 2.0], 2, **SIN_COS)),
    "sinusoidal.halves_exchanged": (at([1.5, 2.0], 6, **COS_SIN), at([1.5, 2.0], 6)),
    "sinusoidal.shift_ignored": (at([1.5, 2.0], 6, frequency_shift=1), at([1.5, 2.0], 2, frequency_shift=1)),
    "sinusoidal.padding_missing": (at([1.5, 2.0], 5, pad_odd=True), at([1.5, 2.0], 4, pad_odd=True)),
    "relative_shift.transposed": (by([1, 2], 4), by([0], 4)),
    "relative_shift.layout_ignored": (by([1, 2], 4, **SIN_COS), by([0], 4, **SIN_COS)),
    "relative_shift.padding_to_zero": (by([1, 2], 5, pad_odd=True), by([1, 2], 4, pad_odd=True)),
    "relative_shift.base_ignored": (by([1, 2], 4), by([1, 2], 2)),
    "relative_shift.bf16_shift": (by([257], 4), by([1, 40, 256], 4)),
    "sinusoidal_2d.xy_swapped": (at([[1.0, 2.5]], 8), at([[3, 3]], 8)),
    "sinusoidal_2d.frequency_over_full_width": (at([[1.0, 2.5]], 8), at([[1.0, 2.5]], 4)),
    "sinusoidal_2d.from_zero": (at([[1.0, 2.5]], 8), None),
    "sinusoidal_2d.gradient_swapped": (at([[1.0, 2.5]], 8), None),
    "timestep.flipped": (moment([0.5, 7.25], 6), moment([0.5, 7.25], 6, layout="interleaved")),
    "timestep.other_shift": (moment([0.5, 7.25], 6), moment([0.5, 7.25], 2)),
    "timestep.scale_ignored": (moment([0.5, 7.25], 6, scale=4.0), moment([0.5, 7.25], 6)),
    "timestep.truncated": (moment([0.5, 7.25], 6), moment([1, 7], 6)),
    "timestep.scale_missing_in_gradient": (moment([0.5, 7.25], 6, scale=4.0), moment([0.5, 7.25], 6)),
    "cape.stretched_first": (moved(3, global_shift=1.0, local_shift=1.0, log_scale=1.0), moved(3, log_scale=1.0)),
    "cape.stretch_inverted": (moved(3, log_scale=1.0), moved(3, global_shift=1.0)),
    "cape.halves": (moved(3), moved(3, C=2)),
    "cape.stretch_missing_in_gradient": (moved(3, log_scale=1.0), moved(3, local_shift=1.0)),
    "cape.gradient_of_scale_itself": (moved(3, log_scale=1.0), moved(3, log_scale=0.0)),
    "cape.global_gradient_mean": (moved(3, global_shift=1.0), moved(1, global_shift=1.0)),
    "layer_norm.unbiased_variance": (normed((3, 5)), None),
    "layer_norm.not_centred": (normed((3, 5), ("weight", "bias"), mean=1.0), None),
    "layer_norm.eps_missing": (normed((3, 5), eps=0.25), normed((3, 5), eps=0.0)),
    "layer_norm.gradient_variance_constant": (normed((3, 5)), None),
    "layer_norm.gradient_mean_constant": (normed((3, 5)), None),
    "layer_norm.gain_missing_in_gradient": (normed((3, 5)), unit_gain((3, 5))),
    "rms_norm.centred": (normed((3, 5), mean=1.0), None),
    "rms_norm.sum_of_squares": (normed((3, 5)), normed((3, 1))),
    "rms_norm.unit_offset_missing": (normed((3, 5), unit_offset=True), normed((3, 5))),
    "rms_norm.eps_missing": (normed((3, 5), eps=0.25), normed((3, 5), eps=0.0)),
    "rms_norm.gradient_rms_constant": (normed((3, 5)), None),
    "bert_embedding.scale_sqrt_width": (bert(2, 3), bert(2, 3, C=1)),
    "bert_embedding.segment_missing": (bert(2, 3), bert(2, 3, segment=False)),
    "bert_embedding.positions_from_zero": (bert(2, 3, positions=[4, 5, 6]), bert(2, 3)),
    "bert_embedding.eps_of_layer_norm": (bert(2, 3, eps=0.5), bert(2, 3, eps=1e-5)),
    "bert_embedding.dropped_before_norm": (bert(2, 3, keep=0.5, p=0.25), bert(2, 3)),
    "bert_embedding.position_gradient_mean": (bert(2, 3), bert(1, 3)),
    "bert_embedding.padding_row_trains": (bert(2, 3, padding_idx=0), bert(1, 3, padding_idx=4)),
}
