"""Tolerances: they enclose what float32 gives in any order, they hold for honest runs, and exact steps add nothing."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from refimpl.exact import PROFILES, Bound, Undecided, bound, nearest, prove
from refimpl.exact.evaluate import round_up
from refimpl.exact.functions import to_balls
from tests.exact.formulas import FORMULAS, numbers

U = {name: profile.storage.unit_roundoff for name, profile in PROFILES.items()}
every_profile = pytest.mark.parametrize("profile", PROFILES)


class AnyOrder:
    """NumPy in float32, with every sum in its own random order and grouping, and products fused into it or not.

    Arrays have a leading axis of independent evaluations.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def constant(self, value: float) -> np.float32:
        return np.float32(value)

    def sum(self, x: np.ndarray, axis: int = -1, keepdims: bool = False) -> np.ndarray:
        order = np.argsort(self.rng.random(x.shape), axis=axis)
        total = self._tree(np.moveaxis(np.take_along_axis(x, order, axis), axis, 0))
        return np.expand_dims(total, axis) if keepdims else total

    def _tree(self, rows: np.ndarray) -> np.ndarray:
        if len(rows) == 1:
            return rows[0]
        cut = self.rng.integers(1, len(rows))
        return self._tree(rows[:cut]) + self._tree(rows[cut:])

    def matmul(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        left, right = a[..., :, None, :], b.mT[..., None, :, :]  # (..., M, 1, K), (..., 1, N, K)
        if self.rng.random() < 0.5:
            return self.sum(left * right)
        total = np.zeros(np.broadcast_shapes(left.shape, right.shape)[:-1], np.float32)
        for k in self.rng.permutation(left.shape[-1]):  # fused: the product is exact in float64
            product = left[..., k].astype(np.float64) * right[..., k]
            total = (total + product).astype(np.float32)
        return total


@pytest.mark.parametrize("name", FORMULAS)
def test_bound_encloses_10_000_float32_evaluations_in_any_order(name):
    formula, arrays = FORMULAS[name]
    want, tolerance = proven(name, "f32")
    worst = 0.0
    for batch in range(10):
        inputs = [np.repeat(a[None].astype(np.float32), 1000, axis=0) for a in arrays]
        got = formula(AnyOrder(seed=100 + batch), *inputs)
        assert got.dtype == np.float32
        error = np.abs(got - want)
        assert np.all(error <= tolerance)
        worst = max(worst, np.max(error / tolerance))
    assert worst > 0.02  # a bound far above all that happens would catch no mistake


def proven(name: str, profile: str) -> tuple[np.ndarray, np.ndarray]:
    compute = computation(name)
    want = prove(compute)
    return want["y"], bound(compute, profile, want)["y"]


def computation(name: str) -> Any:
    formula, arrays = FORMULAS[name]
    return lambda xp: {"y": formula(xp, *(xp.asarray(a) for a in arrays))}


@every_profile
@pytest.mark.parametrize("name", FORMULAS)
def test_an_honest_run_keeps_its_bound(name, profile):
    want, tolerance = proven(name, profile)
    error = np.abs(nearest(computation(name), profile)["y"] - want)
    assert np.all(error <= tolerance)
    assert np.any(error > 0)
    assert np.all(np.isfinite(tolerance))


def tolerance(profile: str, compute: Any) -> np.ndarray:
    """Return the tolerance of one output around its own proven value."""
    named = lambda xp: {"y": compute(xp)}  # noqa: E731
    return bound(named, profile, prove(named))["y"]


def floats(*values: Any) -> np.ndarray:
    return np.asarray(values, np.float64)


EXACT = {
    "products that fit": lambda xp: xp.asarray(floats(3, -5)) * xp.asarray(floats(7, 0.375)),
    "times a power of two": lambda xp: xp.asarray(floats(3)) * xp.constant(2.0**-7) * 4,
    "over a power of two": lambda xp: xp.asarray(floats(-3)) / 16,
    "plus zero": lambda xp: xp.asarray(floats(3)) + 0 - xp.zeros((1,)),
    "sums of integers": lambda xp: xp.sum(xp.asarray(np.arange(-20.0, 22)), axis=-1),
    "sums that share a last bit": lambda xp: xp.sum(xp.asarray(floats(0.5, 63.25, -1.75))),
    "one term among zeros": lambda xp: xp.sum(xp.asarray(floats(0, 1, 0)) * 3),
    "running sums": lambda xp: xp.cumulative_sum(xp.asarray(floats(1.5, 2.25, -3.5))),
    "scattered sums": lambda xp: xp.scatter_add(xp.asarray([1, 1, 0]), xp.asarray(floats(1.5, 2.25, -3.5)), 3),
    "matrix products": lambda xp: xp.asarray(numbers(3, 5, seed=40, scale=256) // 32) @ xp.asarray(np.eye(5, 4) * 3),
    "masked weights": lambda xp: xp.asarray(floats(0, 0, 1)) @ xp.asarray(floats(9, 7, 0.375)),
    "sums of nothing": lambda xp: xp.sum(xp.zeros((3, 0)), axis=1) + xp.zeros((3, 0)) @ xp.zeros((0,)),
    "products of factors": lambda xp: xp.prod(xp.asarray(floats(1.5, -2.5, 0, 2))),
    "functions at exact points": lambda xp: xp.stack(
        [xp.exp(0 * xp.pi), xp.cos(0 * xp.pi), xp.sin(0 * xp.pi), xp.tanh(0 * xp.pi), xp.log(xp.constant(1))]
    ),
    "roots": lambda xp: xp.sqrt(xp.asarray(floats(4, 2.25))),
    "powers": lambda xp: xp.stack([xp.pi**0, xp.constant(2) ** -3, xp.constant(4) ** xp.constant(0.5)]),
    "selection": lambda xp: xp.maximum(xp.where(xp.asarray([True, False]), xp.asarray(floats(3, 5)), -xp.inf), 1),
    "a fill that is not selected": lambda xp: xp.where(xp.asarray(True), xp.asarray(floats(1.5)), -(2**100) + 1),
    "sign, abs, floor": lambda xp: xp.sign(xp.pi) + xp.floor(xp.abs(-xp.pi)),
    "integers": lambda xp: xp.astype(xp.arange(-255, 256), xp.float64),
}


@every_profile
@pytest.mark.parametrize("name", EXACT)
def test_nothing_is_added_where_everything_is_representable(name, profile):
    got = tolerance(profile, EXACT[name])
    assert not got.any()


def radius(profile: str, compute: Any) -> float:
    """Return the radius of a computed number."""
    xp = Bound(profile)
    return float(compute(xp).data.ravel()[0].rad())


@every_profile
def test_an_inexact_operand_that_comes_through_is_not_rounded_again(profile):
    third = lambda xp: xp.asarray(floats(1)) / 3  # noqa: E731
    once = pytest.approx(radius(profile, third), rel=1e-6)
    assert radius(profile, lambda xp: third(xp) + 0) == once
    assert radius(profile, lambda xp: xp.zeros((1,)) - third(xp)) == once
    assert radius(profile, lambda xp: xp.constant(0.25) * third(xp) * 4) == once
    assert radius(profile, lambda xp: third(xp) / xp.constant(8) / xp.constant(0.125)) == once
    assert radius(profile, lambda xp: xp.sum(xp.asarray(floats(0, 1, 0)) * third(xp))) == once
    assert radius(profile, lambda xp: xp.cumulative_sum(xp.asarray(floats(1, 0)) * third(xp))[1:]) == once
    assert radius(profile, lambda xp: xp.scatter_add(xp.asarray([0]), third(xp), 1)) == once
    assert radius(profile, lambda xp: third(xp) ** 1) == once


@pytest.mark.parametrize("profile", ["bf16", "f16"])
def test_a_wide_operand_that_comes_through_is_stored(profile):
    u = U[profile]
    two, zero = (lambda xp: xp.asarray(floats(2))), (lambda xp: xp.asarray(floats(0)))
    third = lambda xp: xp.constant(1) / 3  # noqa: E731
    assert radius(profile, lambda xp: third(xp) * two(xp)) == pytest.approx(u * 2 / 3, rel=0.01)
    assert radius(profile, lambda xp: two(xp) * third(xp)) == pytest.approx(u * 2 / 3, rel=0.01)
    assert radius(profile, lambda xp: third(xp) / two(xp)) == pytest.approx(u / 6, rel=0.01)
    assert radius(profile, lambda xp: zero(xp) + third(xp)) == pytest.approx(u / 3, rel=0.01)
    assert radius(profile, lambda xp: third(xp) - zero(xp)) == pytest.approx(u / 3, rel=0.01)
    assert radius(profile, lambda xp: xp.maximum(third(xp), zero(xp))) == pytest.approx(u / 3, rel=0.01)
    assert radius(profile, lambda xp: xp.where(xp.asarray(True), third(xp), zero(xp))) == pytest.approx(u / 3, rel=0.01)
    assert radius(profile, lambda xp: xp.stack([third(xp), zero(xp)[0]])) == pytest.approx(u / 3, rel=0.01)


@pytest.mark.parametrize("profile", ["f64", "f32"])
@pytest.mark.parametrize(
    ("units", "step"),
    [
        (1, lambda xp, x: x * 3),
        (1, lambda xp, x: x - 7),
        (2, lambda xp, x: 1 / x),
        (2, lambda xp, x: xp.sqrt(x)),
        (8, lambda xp, x: xp.log(x)),
        (8, lambda xp, x: xp.tanh(x / 8)),
        (8, lambda xp, x: xp.erf(x / 8)),
        (4 + 2, lambda xp, x: xp.exp(xp.sign(x))),
        (4 + 4, lambda xp, x: xp.exp(xp.sign(x) * -2)),
        (4 + 5, lambda xp, x: x**5),
        (13, lambda xp, x: xp.sum(x[:, None] * xp.ones((13,)), axis=1)),
        (5, lambda xp, x: x[:, None] * xp.ones((5,)) @ xp.ones((5,))),
    ],
)
def test_one_step_has_the_models_constant(units, step, profile):
    """Odd integers of as many bits as the profile has, so that the step itself must round."""
    x = np.asarray([1.0, 1.25, 1.5]) + 2 * U[profile]
    compute = lambda xp: {"y": step(xp, xp.asarray(x))}  # noqa: E731
    want = prove(compute)
    got = bound(compute, profile, want)["y"] / np.abs(want["y"]) / U[profile]
    rounded_once = 2.0**-53 / U[profile]  # of `want` itself
    assert np.all(got >= units * (1 - 1e-6))
    assert np.all(got <= (units + rounded_once) * (1 + 2.0**-7) + units**2 * U[profile])


def test_a_power_errs_as_the_exponential_of_a_product():
    x, y = floats(10000, 3, 0.5), floats(-0.75, 1.5, 20.25)
    got = tolerance("f32", lambda xp: xp.asarray(x) ** xp.asarray(y)) / x**y / U["f32"]
    size = np.abs(y * np.log(x))
    assert np.all(got >= 4 + 2 * size + 9 * size)
    assert np.all(got <= (4 + 2 * size + 9 * size) * 1.01)


@pytest.mark.parametrize("profile", ["f64", "f32"])
def test_sine_and_cosine_err_by_4u_absolute(profile):
    x = np.asarray([0.1, 1.0, 3.140625])
    for name in ("sin", "cos"):
        got = tolerance(profile, lambda xp, name=name: getattr(xp, name)(xp.astype(xp.asarray(x * 64), xp.int64) / 64))
        assert np.all(got >= 4 * U[profile])
        assert np.all(got <= (4 + 0.5) * U[profile] * (1 + 2.0**-7))


def test_parameters_round_once_on_entry():
    assert tolerance("f32", lambda xp: xp.constant(0.1)) == pytest.approx(0.1 * U["f32"], rel=2**-7)
    assert tolerance("f64", lambda xp: xp.constant(0.1)) == 0
    assert tolerance("f32", lambda xp: xp.astype(xp.asarray(2**24 + 1), xp.float64)) == pytest.approx(1, rel=2**-7)
    assert tolerance("f32", lambda xp: xp.astype(xp.asarray(2**24 + 2), xp.float64)) == 0


def test_a_sum_of_numbers_that_need_more_bits_adds_gamma():
    wide = tolerance("f32", lambda xp: xp.sum(xp.asarray(np.asarray([2.0**23 + 1, 0.5, -1.0]))))
    assert wide == pytest.approx(3 * U["f32"] * (2**23 + 2.5), rel=2**-7)
    scattered = tolerance(
        "f32", lambda xp: xp.scatter_add(xp.asarray([1, 1, 0, 1]), xp.asarray(floats(2**23 + 1, 0.5, 0.5, 0)), 2)
    )
    assert scattered == pytest.approx([0, 2 * U["f32"] * (2**23 + 1.5)], rel=2**-7)
    assert tolerance("f64", lambda xp: xp.sum(xp.asarray(np.asarray([2.0**23 + 1, 0.5, -1.0])))) == 0


def test_running_sums_count_the_terms_of_each_prefix():
    got = tolerance("f32", lambda xp: xp.cumulative_sum(xp.asarray(np.asarray([2.0**23 + 1, 0.5, 0.0, 0.5]))))
    assert got[0] == 0
    assert got[1:] == pytest.approx(np.asarray([2, 2, 3]) * U["f32"] * 2**23, rel=2**-6)


class TestUnderflow:
    def test_a_product_below_the_normal_range_errs_by_half_the_least_subnormal(self):
        x = np.asarray([2.0**-14 * 1.25])
        got = tolerance("f16", lambda xp: xp.asarray(x) * xp.asarray(np.asarray([2.0**-9])))
        assert got == pytest.approx(2.0**-25, rel=2**-7)
        assert tolerance("f16", lambda xp: xp.asarray(x) * xp.asarray(np.asarray([2.0**-8]))) == 0

    def test_sums_do_not_underflow(self):
        x = np.asarray([2.0**-14 + 2.0**-24, -(2.0**-14)])
        assert tolerance("f16", lambda xp: xp.sum(xp.asarray(x))) == 0
        assert tolerance("f16", lambda xp: xp.asarray(x)[0] + xp.asarray(x)[1]) == 0

    def test_sums_of_inexact_numbers_do_not_underflow_either(self):
        tiny = lambda xp: xp.asarray(floats(2.0**-17, 2.0**-18)) / 3  # noqa: E731
        parts = radius("f16", lambda xp: tiny(xp)[:1]) + radius("f16", lambda xp: tiny(xp)[1:])
        rounding = 2.0**-18 * 1.1 * U["f16"]
        assert radius("f16", lambda xp: xp.sum(tiny(xp))) < parts + rounding
        assert radius("f16", lambda xp: tiny(xp)[:1] + tiny(xp)[1:]) < parts + rounding

    def test_a_sum_with_a_wide_term_can_underflow_when_it_is_stored(self):
        compute = lambda xp: xp.asarray(floats(2.0**-17)) + xp.constant(2.0**-18) / 3  # noqa: E731
        assert radius("f16", compute) == pytest.approx(2.0**-25, rel=0.2)

    def test_each_product_of_a_sum_may_underflow(self):
        x = np.full(5, 2.0**-80)
        got = bound(lambda xp: {"y": xp.asarray(x) @ xp.asarray(x)}, "f32", {"y": np.asarray(5 * 2.0**-160)})["y"]
        assert got >= 5 * 2.0**-150
        assert nearest(lambda xp: {"y": xp.asarray(x) @ xp.asarray(x)}, "f32")["y"] == 0

    def test_powers_of_two_underflow_as_well(self):
        x = np.asarray([3 * 2.0**-24])
        assert tolerance("f16", lambda xp: xp.asarray(x) / 4) == pytest.approx(2.0**-25, rel=2**-7)
        assert nearest(lambda xp: {"y": xp.asarray(x) / 4}, "f16")["y"] == 2.0**-24

    def test_float32_underflows_too(self):
        got = tolerance("f32", lambda xp: xp.exp(xp.asarray(-100)))
        assert 2.0**-150 < got < 2.0**-146
        assert nearest(lambda xp: {"y": xp.exp(xp.asarray(-100))}, "f32")["y"] == 27 * 2.0**-149


class TestOverflow:
    def test_what_may_overflow_is_unbounded(self):
        x = np.asarray([1000.0, 10.0])
        got = tolerance("f16", lambda xp: xp.asarray(x) * xp.asarray(x) / 100)
        assert np.isinf(got[0])
        assert np.isfinite(got[1])
        assert np.all(np.isfinite(tolerance("bf16", lambda xp: xp.asarray(x) * xp.asarray(x))))

    def test_a_power_of_two_can_be_too_great(self):
        assert np.isinf(tolerance("f16", lambda xp: xp.asarray(floats(2.0**15)) * 2))
        assert tolerance("f16", lambda xp: xp.asarray(floats(2.0**14)) * 2) == 0

    def test_a_ball_reaches_further_than_its_midpoint(self):
        xp = Bound("f16")
        near_zero = xp.asarray(floats(1)) / 3 * 3 - 1
        hull = xp.where(near_zero > 0, 60000, -40000)  # 10000 ± 50000
        assert np.isfinite(float((hull * 1).data[0].rad()))
        assert (xp.asarray(floats(1.5)) * hull).data[0].is_nan()

    def test_a_sum_that_overflows_in_some_order_is_unbounded(self):
        x = np.asarray([3e38, 3e38, -3e38, -3e38]).astype(np.float32)
        assert np.isinf(tolerance("f32", lambda xp: xp.sum(xp.asarray(x))))
        assert np.isinf(tolerance("f32", lambda xp: xp.prod(xp.asarray(np.asarray([2.0**100, 2.0**100, 2.0**-100])))))
        assert tolerance("f64", lambda xp: xp.sum(xp.asarray(x))) == 0

    def test_the_greatest_number_is_finite(self):
        assert tolerance("f16", lambda xp: xp.asarray(np.asarray(65504.0)) * 1) == 0

    def test_unbounded_lanes_that_are_not_selected_are_dropped(self):
        x = np.asarray([1000.0, 10.0])
        got = tolerance("f16", lambda xp: xp.where(xp.asarray(x < 100), xp.asarray(x) * xp.asarray(x), 0))
        assert got[0] == 0

    def test_an_infinite_result_matches_itself_alone(self):
        assert tolerance("f32", lambda xp: xp.where(xp.asarray(True), -xp.inf, 1)) == 0
        two = lambda xp: {"y": xp.where(xp.asarray(True), -xp.inf, 1)}  # noqa: E731
        assert np.isinf(bound(two, "f32", {"y": np.asarray(1.0)})["y"])


class TestSixteenBits:
    def test_arrays_are_stored_narrow_and_accumulated_wide(self):
        x = numbers(64, seed=41)
        summed = tolerance("bf16", lambda xp: xp.sum(xp.asarray(x)))
        total = abs(np.sum(x))
        assert summed == pytest.approx(total * U["bf16"], rel=0.02)  # one store, nothing of 64 u

    def test_positions_and_angles_stay_wide(self):
        positions = np.asarray([4097.0])
        wide = tolerance("bf16", lambda xp: xp.sin(xp.asarray(positions, wide=True) * xp.constant(0.125)))
        narrow = tolerance("bf16", lambda xp: xp.sin(xp.asarray(positions) * xp.constant(0.125)))
        assert wide < 2 * U["bf16"]
        assert narrow > 0.5

    @pytest.mark.parametrize("profile", ["bf16", "f16"])
    def test_a_result_is_narrow_if_an_operand_is(self, profile):
        xp = Bound(profile)
        wide, narrow = xp.constant(0.1), xp.asarray(np.asarray([1.0, 2.0]))
        assert (wide * 3 + xp.arange(2) / 3).wide
        for x in (narrow * 2, narrow + wide, wide / narrow, xp.maximum(wide, narrow), narrow @ narrow, xp.sum(narrow)):
            assert not x.wide
        for x in (xp.stack([wide, narrow[0]]), xp.where(xp.asarray(True), wide, narrow), xp.sin(wide), narrow * xp.pi):
            assert not x.wide
        for x in (xp.exp(wide), wide**wide, xp.log(wide), xp.zeros((2,)), xp.sum(xp.stack([wide, wide]))):
            assert x.wide
        assert not xp.zeros_like(narrow).wide

    def test_what_leaves_is_stored(self):
        got = tolerance("bf16", lambda xp: xp.constant(1) / 3)
        assert U["bf16"] / 3 < got < U["bf16"] / 3 * 1.02
        y = nearest(lambda xp: {"y": xp.constant(1) / 3}, "bf16")["y"]
        assert y == float(ml_dtypes.bfloat16(1 / 3))

    def test_a_narrow_result_is_rounded_before_it_is_used(self):
        got = tolerance("bf16", lambda xp: xp.asarray(np.asarray(1.0)) / 3 * 3)
        assert 2 * U["bf16"] < got < 2.1 * U["bf16"]


class TestOpenComparisons:
    x = np.asarray([1.0, 2.0, -1.0])

    def zero(self, xp):
        return xp.asarray(self.x) / 3 * 3 - xp.asarray([1, 1, 1])  # near 0, 1, -2

    def test_where_gives_the_hull(self):
        compute = lambda xp: {"y": xp.where(self.zero(xp) > 0, xp.asarray([5, 6, 7]), -1)}  # noqa: E731
        want = {"y": np.asarray([5.0, 6.0, -1.0])}
        assert bound(compute, "f32", want)["y"].tolist() == pytest.approx([6.0, 0.0, 0.0], rel=2**-7)

    def test_maximum_and_floor_give_the_hull(self):
        compute = lambda xp: {"y": xp.floor(xp.maximum(self.zero(xp), 0) + 1)}  # noqa: E731
        got = bound(compute, "f32", {"y": np.asarray([1.0, 2.0, 1.0])})["y"]
        assert got.tolist() == pytest.approx([1.0, 1.0, 0.0], rel=2**-6)

    @pytest.mark.parametrize("use", [bool, lambda c: ~c, lambda c: c[0], lambda c: c & c, lambda c: c.mT])
    def test_nothing_else_takes_them(self, use):
        with pytest.raises(Undecided, match=r"only xp\.where takes it"):
            use(self.zero(Bound("f32")) > 0)

    def test_decided_ones_are_ordinary(self):
        assert bool(~(Bound("f32").constant(0.1) > 1))


def test_tolerances_round_up_to_8_bits():
    rng = np.random.default_rng(42)
    x = np.ldexp(rng.uniform(1, 2, 3000), rng.integers(-160, 130, 3000))
    x[:8] = [0.0, 1.0, 255.0, 257.0, 2.0**-149, 2.0**-200, 3.4e38, 1e300]
    got = round_up(to_balls(x.astype(object))).astype(np.float64)
    finite = np.isfinite(got)
    assert np.all(got >= x)
    assert np.all((got[finite] <= x[finite] * (1 + 2.0**-7)) | (got[finite] - x[finite] <= 2.0**-149))
    assert got[:8].tolist() == [0.0, 1.0, 255.0, 258.0, 2.0**-149, 2.0**-149, math.inf, math.inf]
    mantissa = np.frexp(got[finite])[0] * 256
    assert np.array_equal(mantissa, np.rint(mantissa))


def test_a_point_just_above_8_bits_rounds_up():
    points = to_balls(np.asarray([1, 1], object)) + to_balls(np.asarray([2.0**-40, 0.0], object)) ** 2
    assert round_up(points).tolist() == [1 + 2.0**-7, 1.0]
    assert np.isinf(round_up(to_balls(np.asarray([math.inf, math.nan], object)))).all()


def test_a_want_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"want: got shape \(2,\); allowed: \(3,\)"):
        bound(lambda xp: {"y": xp.zeros((3,))}, "f32", {"y": np.zeros(2)})


def test_integers_have_no_tolerance():
    got = bound(lambda xp: {"n": xp.arange(3)}, "f32", {"n": np.arange(3)})["n"]
    assert got.dtype == np.float32
    assert not got.any()
