"""Proven values: precision rises until every element rounds, and what never rounds is named."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from refimpl.exact import Exact, Undecided, Unresolved, bound, nearest, prove


def bits_used(compute, **options):
    """Return the proven values and the precisions tried."""
    tried = []

    def noting(xp):
        tried.append(xp.bits)
        return compute(xp)

    return prove(noting, **options), tried


def test_values_are_correctly_rounded():
    x = np.random.default_rng(30).standard_normal(500)
    got = prove(lambda xp: {"y": xp.exp(xp.asarray(x))})["y"]
    with ctx.workprec(400):
        want = [float(arb(v).exp()) for v in x]
    assert got.dtype == np.float64
    assert got.tolist() == want


def test_a_near_tie_raises_the_precision():
    def compute(xp):  # 1 + 2^-53 is a tie; the exponential adds about 2^-400 to it
        tiny = xp.exp(xp.asarray(-277)) * xp.asarray(np.asarray(2.0**-53))
        return {"y": 1 + xp.asarray(np.asarray(2.0**-53)) + tiny}

    got, tried = bits_used(compute)
    assert got["y"] == 1 + 2.0**-52
    assert tried == [128, 256, 512]


def test_an_exact_tie_in_exact_steps_resolves_at_once():
    got, tried = bits_used(lambda xp: {"y": 1 + xp.constant(2.0**-53), "z": 1 + 3 * xp.constant(2.0**-53)})
    assert (got["y"], got["z"], tried) == (1.0, 1 + 2.0**-51, [128])


def test_an_exact_tie_behind_an_inexact_step_is_an_error_that_names_the_element():
    def compute(xp):
        third = xp.asarray([1, 2, 1]) / 3
        return {"fine": third, "tie": xp.stack([third, third * 3 + xp.constant(2.0**-53)])}

    with pytest.raises(Unresolved, match=r"output 'tie', element \(1, 0\): \[1\.0{15}1.* 4096 bits; an exact tie"):
        prove(compute)


def test_exact_zeros_jump_to_the_precision_they_need():
    def compute(xp):
        w = xp.exp(xp.asarray([1, 2, 3]))
        w = w / xp.sum(w)
        return {"zero": xp.sum(w) - 1, "w": w}

    got, tried = bits_used(compute)
    assert got["zero"] == 0.0
    assert math.copysign(1, got["zero"]) == 1
    assert tried == [128, 1280]


def test_integer_powers_of_an_exact_zero_are_zero():
    def compute(xp):  # FLINT's own power of a ball with midpoint 0 is NaN
        third = xp.asarray([1, 2]) / 3
        return {"y": (third - third) ** 3}

    assert prove(compute)["y"].tolist() == [0.0, 0.0]


def test_zeros_beside_other_open_elements_do_not_jump():
    def compute(xp):
        third = xp.asarray(1) / 3
        return {"zero": third - third, "near": 1 + xp.constant(2.0**-53) + xp.exp(xp.asarray(-277)) * third}

    assert bits_used(compute)[1] == [128, 256, 512, 1280]


def test_tiny_and_huge_results_are_compared_before_they_are_built():
    got = prove(lambda xp: {"y": xp.exp(xp.asarray([-(2**34), 2**34, -745, 710]))})["y"]
    assert got.tolist() == [0.0, math.inf, 5e-324, math.inf]


def test_infinities_stay_and_nan_is_an_error_that_names_the_element():
    empty = np.asarray([True, False])
    got = prove(lambda xp: {"lse": xp.where(xp.asarray(empty), -xp.inf, xp.log(xp.asarray([2, 3])))})["lse"]
    assert got.tolist() == [-math.inf, math.log(3)]
    with pytest.raises(Unresolved, match=r"output 'y', element \(1,\): not a number"):
        prove(lambda xp: {"y": 1 / xp.asarray([2, 0])})


def test_nan_in_the_lane_that_is_not_selected_is_dropped():
    x = np.asarray([4.0, -1.0])
    for value in (
        prove(lambda xp: {"y": xp.where(xp.asarray(x > 0), xp.log(xp.asarray(x)), 0)})["y"],
        nearest(lambda xp: {"y": xp.where(xp.asarray(x > 0), xp.log(xp.asarray(x)), 0)}, "f64")["y"],
    ):
        assert value.tolist() == [math.log(4), 0.0]


def test_an_open_comparison_raises_the_precision():
    def compute(xp):  # exp(2^-100) exceeds 1 by 2^-100
        return {"y": xp.exp(xp.asarray(np.asarray([2.0**-400, -(2.0**-400)]))) > 1}

    got, tried = bits_used(compute)
    assert got["y"].tolist() == [True, False]
    assert got["y"].dtype == np.bool_
    assert tried == [128, 256, 512]


def test_a_comparison_that_stays_open_is_an_error():
    with pytest.raises(Undecided, match=r"equal: 1 of 2 comparisons are open at 512 bits"):
        prove(lambda xp: {"y": xp.asarray([1, 2]) / 3 * 3 == xp.asarray([1, 1])}, cap=512)


def test_maximum_and_floor_raise_the_precision_until_the_result_rounds():
    def compute(xp):
        x = xp.exp(xp.asarray(np.asarray([2.0**-400, -(2.0**-400)])))
        return {"floor": xp.floor(x), "maximum": xp.maximum(x - 1, 0)}

    got, tried = bits_used(compute)
    assert got["floor"].tolist() == [1.0, 0.0]
    assert got["maximum"].tolist() == [2.0**-400, 0.0]
    assert tried == [128, 1280]


def test_integers_and_booleans_come_out_as_they_are():
    got = prove(lambda xp: {"n": xp.arange(3) * 5, "b": xp.arange(3) > 1})
    assert got["n"].dtype == np.int64
    assert got["n"].tolist() == [0, 5, 10]
    assert got["b"].tolist() == [False, False, True]


def test_precision_is_set_by_the_namespace_and_put_back():
    before = ctx.prec
    coarse, fine = Exact(64), Exact(256)
    x, y = coarse.asarray(1) / 3, fine.asarray(1) / 3
    assert x.data[()].rel_accuracy_bits() < 66
    assert y.data[()].rel_accuracy_bits() > 250
    z = coarse.exp(x) + 1  # interleaved with the finer namespace
    assert (fine.exp(y) + 1).data[()].rel_accuracy_bits() > 250
    assert z.data[()].rel_accuracy_bits() < 66
    assert ctx.prec == before


def test_results_do_not_depend_on_the_precision_outside():
    def compute(xp):
        return {"y": xp.exp(xp.asarray(np.linspace(-3, 3, 50)))}

    want = prove(compute)
    tolerance = bound(compute, "f64", want)
    with ctx.workprec(20):
        assert np.array_equal(prove(compute)["y"], want["y"])
        assert np.array_equal(bound(compute, "f64", want)["y"], tolerance["y"])
        assert np.array_equal(nearest(compute, "f64")["y"], want["y"])
