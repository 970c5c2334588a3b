"""Door 3's definitions against published numbers, and each gradient against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from . import GRADIENTS
from .checks import assert_gradient_is_the_derivative, close, y
from .differences import slopes
from .kernels import fire

RANDOM = np.random.default_rng(33)


def reals(*shape):
    return RANDOM.normal(size=shape)


GRID = {"height": 2, "width": 3}
Q, K = reals(2, 2, 3), reals(2, 5, 3)
FIRE = {name: reals(*shape) for name, shape in {"w1": (4,), "b1": (4,), "w2": (4, 2), "b2": (2,)}.items()}
FIRE |= {"c": np.array(0.1), "m": np.array(-0.9), "L0": np.array(2.5)}
TABLES = {"key_table": reals(2, 8, 3), "query_table": reals(2, 8, 3)}
XL = {"r": reals(6, 2), "w_r": reals(2, 6), "u": reals(2, 3), "v": reals(2, 3)}
CASES = {
    "t5_bias": ({"weight": reals(8, 2)}, {"T": 2, "S": 4, "q_offset": 1, "max_distance": 6}),
    "kerple_log": ({"a": np.array([0.4, 2.0]), "p": np.array([1.5, 0.2])}, {"T": 2, "S": 4, "q_offset": 1}),
    "kerple_power": ({"a": np.array([0.4, 2.0]), "p": np.array([1.5, 0.2])}, {"T": 2, "S": 4, "q_offset": 1}),
    "fire": (FIRE, {"T": 3, "S": 4, "q_offset": 1}),
    "swin_bias": ({"weight": reals(15, 2)}, GRID),
    "swin_v2_bias": ({"w1": reals(2, 4), "b1": reals(4), "w2": reals(4, 2)}, GRID),
    "decomposed_2d_bias": ({"q": reals(2, 6, 3), "table_h": reals(3, 3), "table_w": reals(5, 3)}, GRID),
    "shaw_keys": ({"q": Q, "table": reals(4, 3)}, {"S": 5, "q_offset": 2, "left": 1}),
    "shaw_values": ({"weights": reals(2, 2, 5), "v": K, "table": reals(5, 3)}, {"q_offset": 2}),
    "transformer_xl_bias": ({"q": Q, "k": K, **XL}, {}),
    "deberta_bias": ({"q": Q, "k": K, **TABLES}, {"q_offset": 3, "max_distance": 5, "mirrored": True}),
    "cope": ({"q": Q, "k": K, "table": reals(3, 3)}, {"q_offset": 2}),
    "fox": ({"gate_logits": reals(2, 5)}, {"T": 2, "q_offset": 2}),
}


@pytest.mark.parametrize("op", CASES)
def test_gradient_is_the_derivative(op):
    assert_gradient_is_the_derivative(op, *CASES[op])


def test_differences_agree_with_the_chain_rule_entry_by_entry():
    inputs, params = CASES["fire"]
    cotangents = {"y": reals(2, 3, 4)}
    by_rule, by_difference = GRADIENTS["fire"](inputs, params, cotangents), slopes(fire, inputs, params, cotangents)
    for name, gradient in by_rule.items():
        for at in np.ndindex(gradient.shape):
            assert mp.almosteq(gradient[at], by_difference[name][at], rel_eps=1e-50, abs_eps=1e-50), f"{name}{at}"


def test_fire_shares_the_slope_where_position_and_threshold_tie():
    inputs = {**FIRE, "m": np.array(0.5), "L0": np.array(4.0)}
    cotangents = {"y": reals(2, 1, 4)}
    got = [GRADIENTS["fire"](inputs, {"T": 1, "S": 4, "q_offset": 2}, cotangents)["m"]]
    got.append(slopes(fire, inputs, {"T": 1, "S": 4, "q_offset": 2}, cotangents)["m"])
    close(got[0], got[1], 1e-30)


@pytest.mark.parametrize(("both", "last", "bucket"), [(True, 91, 15), (False, 113, 31)])
def test_t5_last_bucket_begins_well_before_the_maximal_distance(both, last, bucket):
    """The default 32 buckets up to 128 as the released float formula puts them."""
    relative = -np.array([last - 1, last, 128, 100000])
    assert list(y("t5_buckets", {"relative": relative}, bidirectional=both)) == [bucket - 1, bucket, bucket, bucket]


def test_t5_buckets_are_those_of_the_released_formula():
    """relative_position_bucket of T5, evaluated with 60 digits and a floor that forgives the last ten of them."""
    relative = np.arange(-300, 301)
    got = y("t5_buckets", {"relative": relative})
    with mp.workdps(60):
        for n, bucket in zip(relative, got, strict=True):
            want, far = (16 if n > 0 else 0), abs(int(n))
            scaled = mp.log(mp.mpf(max(far, 1)) / 8) / mp.log(mp.mpf(128) / 8) * 8
            want += far if far < 8 else min(8 + int(mp.floor(scaled + mp.mpf(10) ** -50)), 15)
            assert bucket == want, n


def test_kerple_by_hand():
    logarithmic = y("kerple_log", {"a": np.array([1.0]), "p": np.array([2.0])}, T=1, S=3, q_offset=2)
    close(logarithmic, [[[-2 * np.log(3), -2 * np.log(2), 0]]])
    close(y("kerple_power", {"a": np.array([0.5]), "p": np.array([2.0])}, T=1, S=3, q_offset=2), [[[-2, -0.5, 0]]])


def test_fire_of_the_first_key_is_nearly_one_beyond_the_threshold():
    """The normaliser makes the farthest key of every query the same: psi(i) / (psi(i) + eps)."""
    one = {"w1": np.ones(1), "b1": np.zeros(1), "w2": np.ones((1, 1)), "b2": np.zeros(1)}
    one |= {"c": np.array(0.1), "m": np.array(1.0), "L0": np.array(2.0)}
    bias = y("fire", one, T=3, S=3, q_offset=5, eps=0.0)[0]
    close(bias[:, 0], np.ones(3))
    close(bias[0, 2], np.log(1.3) / np.log(1.5))


def test_sandwich_is_zero_on_the_diagonal_and_falls():
    bias = y("sandwich", {}, H=2, C=4, T=1, S=3, q_offset=2)
    close(bias[:, 0, 2], [0, 0])
    close(bias[0, 0, 1], 2 / 8 * (np.cos(1 / 100) + np.cos(1 / 10000) - 2))
    close(bias[0], 2 * bias[1])


def test_swin_index_of_a_two_by_two_window():
    """The relative_position_index that Swin's code prints for window 2."""
    index = [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    close(y("swin_bias", {"weight": np.arange(9.0)[:, None]}, height=2, width=2)[0], index)


def test_swin_v2_is_eight_of_nothing_and_log_spaced():
    flat = {"w1": np.zeros((2, 1)), "b1": np.zeros(1), "w2": np.ones((1, 1))}
    close(y("swin_v2_bias", flat, height=2, width=2), np.full((1, 4, 4), 8))
    down = {"w1": np.array([[1.0], [0.0]]), "b1": np.zeros(1), "w2": np.ones((1, 1))}
    rim = np.log2(9) / 3
    close(y("swin_v2_bias", down, height=2, width=1)[0], [[8, 8], [16 / (1 + np.exp(-rim)), 8]])


def test_shaw_rows_are_clipped_on_both_sides():
    bias = y("shaw_keys", {"q": np.ones((1, 1, 1)), "table": np.arange(3.0)[:, None]}, S=5, q_offset=2)
    close(bias, [[[0, 0, 1, 2, 2]]])


def test_transformer_xl_first_row_is_the_greatest_distance():
    one = {"q": np.zeros((1, 2, 1)), "k": np.zeros((1, 3, 1)), "w_r": np.ones((1, 1)), "u": np.ones((1, 1))}
    bias = y("transformer_xl_bias", {**one, "v": np.ones((1, 1)), "r": np.arange(4.0)[:, None]})
    close(bias, [[[1, 2, 3], [0, 1, 2]]])


def test_deberta_rows():
    """DeBERTa-v3's 256 buckets up to 512: exact to 128, then logarithmic; row 256 is distance 0."""
    table = {"key_table": np.arange(512.0).reshape(1, 512, 1), "query_table": np.zeros((1, 512, 1))}
    one = {"q": np.ones((1, 1, 1)), "k": np.zeros((1, 520, 1)), **table}
    rows = y("deberta_bias", one, q_offset=519, max_distance=512, scale=1.0)[0, 0]
    close(rows[[519, 518, 391, 390, 389, 8, 0]], [256, 257, 384, 385, 386, 511, 511])


def test_cope_without_content_counts_half_of_every_key():
    """q near 0 opens every gate by half; a table of q.e[n] = n shows the count."""
    zero = {"q": np.zeros((1, 1, 1)), "k": np.zeros((1, 3, 1)), "table": np.zeros((4, 1))}
    close(y("cope", zero, q_offset=2), np.zeros((1, 1, 3)))
    zero = {"q": np.full((1, 1, 1), 1e-30), "k": np.zeros((1, 3, 1)), "table": np.arange(4.0)[:, None] * 1e30}
    close(y("cope", zero, q_offset=2), [[[1.5, 1, 0.5]]])


def test_fox_diagonal_is_zero_and_an_open_gate_forgets_nothing():
    bias = y("fox", {"gate_logits": np.array([[0.0, 0.0, 1e6]])}, T=3)[0]
    close(bias, [[0, 0, 0], [-np.log(2), 0, 0], [-np.log(2), 0, 0]])
