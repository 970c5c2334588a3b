"""The comparator: shape, dtype, NaN, infinities, tolerance, and the figures that it reports."""

import math

import ml_dtypes
import numpy as np
import pytest

from refimpl.check.compare import SUSPICIOUS, Comparison, accepted_dtypes, compare, cosine

WANT = np.array([[1.0, -2.0, 0.5], [4.0, 0.25, -8.0]])
TOL = np.full(WANT.shape, 0.5, np.float32)


def found(
    got: object, want: np.ndarray = WANT, tol: np.ndarray | None = TOL, profile: str = "f64", honest: float = 0.1
) -> Comparison:
    return compare(np.asarray(got), want, tol, profile=profile, honest=honest)


def changed(at: tuple[int, int], value: float) -> np.ndarray:
    got = WANT.copy()
    got[at] = value
    return got


def test_equal_values_pass_with_budget_zero() -> None:
    assert found(WANT.copy())[:5] == (True, "", 0.0, 0.0, (0, 0))


def test_exactly_the_tolerance_passes_and_one_ulp_more_fails() -> None:
    assert found(changed((0, 1), -1.5)).ok
    beyond = found(changed((0, 1), np.nextafter(-1.5, 0)))
    assert (beyond.ok, beyond.reason, beyond.at, beyond.out) == (False, "out of tolerance", (0, 1), 1)


def test_figures_are_those_of_the_worst_element() -> None:
    got = changed((0, 0), 1.75)
    got[1, 2] = -7.0
    result = found(got)
    assert (result.at, result.got, result.want, result.tol) == ((1, 2), -7.0, -8.0, 0.5)
    assert (result.budget, result.honest, result.out, result.size) == (2.0, 10.0, 2, 6)
    assert result.cosine == pytest.approx(cosine(got, WANT))
    assert 0.9 < result.cosine < 1


def test_the_largest_error_is_worst_where_tolerances_are_zero() -> None:
    got = changed((0, 1), -2.5)
    got[1, 0] = 40.0
    result = found(got, tol=np.zeros(WANT.shape, np.float32))
    assert (result.at, result.budget, result.out) == ((1, 0), math.inf, 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_fails_even_under_an_infinite_tolerance(value: float) -> None:
    for tol in (TOL, np.full(WANT.shape, np.inf, np.float32)):
        result = found(changed((1, 1), value), tol=tol)
        assert not result.ok
        assert (result.at, result.budget) == ((1, 1), math.inf)
        assert math.isnan(result.cosine)
        assert (result.reason == "NaN") == math.isnan(value)


def test_a_tolerance_that_is_nan_passes_nothing_but_equal_values() -> None:
    tol = np.full(WANT.shape, np.nan, np.float32)
    assert found(WANT.copy(), tol=tol).ok
    assert not found(changed((0, 0), 1.0000001), tol=tol).ok


def test_infinities_are_compared_by_sign() -> None:
    want = changed((0, 0), -math.inf)
    assert found(want.copy(), want).budget == 0
    assert not found(changed((0, 0), math.inf), want).ok
    assert not found(changed((0, 0), -1e308), want).ok


def test_shape_comes_before_everything() -> None:
    result = found(WANT.T.astype(np.float32))
    assert (result.ok, result.reason, result.at) == (False, "shape (3, 2), want (2, 3)", None)
    assert not found(WANT[None]).ok
    assert not found(1.0).ok


@pytest.mark.parametrize(
    ("profile", "right", "wrong"),
    [
        ("f64", ("float64",), ("float32", "int64", "bool", "complex128", "object")),
        ("f32", ("float32",), ("float64", "float16", "int32")),
        ("bf16", (ml_dtypes.bfloat16, "float32"), ("float64", "float16")),
        ("f16", ("float16", "float32"), ("float64", ml_dtypes.bfloat16)),
    ],
)
def test_dtypes_of_reals(profile: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    for dtype in right:
        assert found(WANT.astype(dtype), profile=profile).ok
    for dtype in wrong:
        result = found(WANT.astype(dtype), profile=profile)
        assert not result.ok
        assert result.reason.startswith(f"dtype {np.dtype(dtype).name}, want {accepted_dtypes(WANT.dtype, profile)[0]}")


def test_a_wrong_dtype_does_not_hide_whether_the_values_are_right() -> None:
    right, wrong = found(WANT.astype(np.float32)), found(np.zeros(WANT.shape, np.float32))
    assert (right.reason, right.off) == ("dtype float32, want float64", False)
    assert (wrong.reason, wrong.off) == ("dtype float32, want float64; out of tolerance", True)


def test_integers_are_exact_in_any_integer_dtype() -> None:
    want = np.array([0, 1, 2**53 + 1], np.int64)
    assert found(want.astype(np.uint64), want, None).ok
    assert found(np.array([0, 1, 2], np.int8), np.array([0, 1, 2]), None).ok
    result = found(want - [0, 0, 1], want, None)
    assert (result.ok, result.budget, result.at, result.out) == (False, math.inf, (2,), 1)
    assert not found(want.astype(np.float64), want, None).ok


def test_booleans_are_exact_and_booleans() -> None:
    want = np.array([True, False, True])
    assert found(want.copy(), want, None).ok
    assert not found(~want, want, None).ok
    assert not found(want.astype(np.int8), want, None).ok


def test_an_empty_array_and_a_single_number_are_compared() -> None:
    assert found(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))).ok
    assert not found(np.zeros((3, 0)), np.zeros((0, 3)), np.zeros((0, 3))).ok
    assert found(np.float64(2.0), np.array(2.0), np.array(0.0)).at == ()
    assert not found(np.float64(2.5), np.array(2.0), np.array(0.25)).ok


def test_suspicious_is_within_tolerance_and_far_beyond_honest() -> None:
    assert not found(changed((0, 0), 1.4), honest=0.4 / SUSPICIOUS + 0.001).suspicious
    assert found(changed((0, 0), 1.4), honest=0.4 / SUSPICIOUS - 0.001).suspicious
    assert not found(changed((0, 0), 9.0), honest=0.001).suspicious  # it fails


def test_the_honest_error_is_never_less_than_one_rounding_of_the_largest_value() -> None:
    result = found(changed((0, 0), 1 + 2.0**-20), honest=0.0, profile="f64")
    assert result.honest == 2.0**-20 / (8 * 2.0**-53)
    assert found(WANT.copy(), honest=0.0).honest == 0


def test_cosine() -> None:
    assert cosine(np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 0
    assert cosine(np.array([1e300, 1e300]), np.array([1e300, 1e300])) == pytest.approx(1)
    assert cosine(np.array([2.0, -2.0]), np.array([-1.0, 1.0])) == pytest.approx(-1)
    assert math.isnan(cosine(np.zeros(2), np.ones(2)))
