"""The nearest arithmetic: NumPy's bits on + - × ÷ √, correct rounding elsewhere, sums strictly in sequence."""

import math

import ml_dtypes
import mpmath
import numpy as np
import pytest

from refimpl.exact import Nearest, nearest

DTYPES = {"f64": np.float64, "f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
pytestmark = pytest.mark.filterwarnings("error")


def any_bits(dtype: type, n: int, seed: int) -> np.ndarray:
    """Return numbers of a dtype with random bits: all magnitudes, subnormals, infinities and NaN among them."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    x = np.random.default_rng(seed).integers(0, np.iinfo(unsigned).max, n, dtype=unsigned, endpoint=True).view(dtype)
    x[:6] = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    with np.errstate(invalid="ignore"):
        return np.roll(np.where(np.isnan(x), np.asarray(np.nan, dtype), x), seed)  # no signalling NaN


@pytest.mark.parametrize("profile", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "sqrt", "square", "maximum", "negative"])
def test_operations_are_numpys_to_the_bit(name, profile):
    dtype = DTYPES[profile]
    x, y = any_bits(dtype, 100_000, seed=50), any_bits(dtype, 100_000, seed=51)
    operands = (x, y) if name in {"add", "subtract", "multiply", "divide", "maximum"} else (x,)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(*operands)
    got = nearest(lambda xp: {"y": getattr(xp, name)(*(xp.asarray(a) for a in operands))}, profile)["y"]
    assert want.dtype == dtype
    assert np.array_equal(got, want.astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("profile", DTYPES)
@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf"])
def test_functions_are_rounded_correctly(name, profile):
    dtype, rng = DTYPES[profile], np.random.default_rng(52)
    x = np.abs(rng.standard_normal(300) * np.exp2(rng.integers(-8, 5, 300))).astype(dtype).astype(np.float64)
    wide = "f64" if profile == "f64" else "f32"
    with mpmath.workdps(40):
        want = [
            float(getattr(mpmath, name)(mpmath.mpf(v))) for v in x
        ]  # a float64 of 40 digits: far from float32's ties
    with np.errstate(over="ignore"):
        want = np.asarray(want).astype(DTYPES[wide]).astype(dtype).astype(np.float64)
    assert np.array_equal(nearest(lambda xp: {"y": getattr(xp, name)(xp.asarray(x))}, profile)["y"], want)


def test_special_values_are_ieees():
    x = np.asarray([np.inf, -np.inf, np.nan, 0.0, -1.0, 1e300, -1e300])
    for name in ("exp", "log", "log1p", "tanh", "sin", "cos", "expm1", "erf"):
        got = nearest(lambda xp, name=name: {"y": getattr(xp, name)(xp.asarray(x))}, "f64")["y"]
        with np.errstate(all="ignore"):
            want = np.vectorize(math.erf)(x) if name == "erf" else getattr(np, name)(x)
        assert np.array_equal(np.isnan(got), np.isnan(want)), name
        assert np.allclose(got, want, rtol=1e-15, atol=0, equal_nan=True), name


def test_powers():
    x = np.asarray([0.0, 2.0, -2.0, -2.0, np.inf, 1.0, 321.0**2, 31.0**4, 1e30, 1e-30, 10000.0, 0.0, 10.0])
    y = np.asarray([0.5, -3.0, 3.0, 0.5, -1.0, np.nan, 1.5, 1.25, 1e30, 1e30, -0.25, -1.0, 38.5])
    got = nearest(lambda xp: {"y": xp.pow(xp.asarray(x), xp.asarray(y))}, "f32")["y"]
    ties = [33076160.0, 28629152.0]  # 321^3 and 31^5 are ties in float32, to even
    want = [
        0.0,
        0.125,
        -8.0,
        np.nan,
        0.0,
        1.0,
        *ties,
        np.inf,
        0.0,
        float(np.float32(0.1)),
        np.inf,
        np.float32(10**38.5),
    ]
    assert np.array_equal(got, want, equal_nan=True)


def test_powers_far_out_of_range_reach_their_limits():
    x, y = np.asarray([1e300, 1e300, -1e300]), np.asarray([1e300, -1e300, 1e300])
    assert nearest(lambda xp: {"y": xp.asarray(x) ** xp.asarray(y)}, "f64")["y"].tolist() == [np.inf, 0.0, np.inf]


def test_mutants_may_overflow_and_divide_by_zero_in_silence():
    def compute(xp):
        big = xp.exp(xp.asarray([100, 1]))
        return {"overflow": big, "nan": big - big, "pole": 1 / xp.zeros((2,)), "cast": xp.asarray([70000, 1]) * big}

    got = nearest(compute, "f16")
    assert got["overflow"].tolist() == [np.inf, 2.71875]
    assert np.array_equal(got["nan"], [np.nan, 0.0], equal_nan=True)
    assert got["pole"].tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("profile", DTYPES)
def test_sums_run_in_sequence_and_are_stored_once(profile):
    x = np.random.default_rng(53).standard_normal((37, 5)).astype(DTYPES[profile])
    wide = np.float64 if profile == "f64" else np.float32
    total = np.zeros(5, wide)
    for row in x.astype(wide):
        total = total + row
    want = total.astype(DTYPES[profile]).astype(np.float64)
    got = nearest(
        lambda xp: {
            "sum": xp.sum(xp.asarray(x), axis=0),
            "running": xp.cumulative_sum(xp.asarray(x), axis=0)[-1],
            "matmul": xp.ones_like(xp.asarray(x[:, 0])) @ xp.asarray(x),
            "scattered": xp.scatter_add(xp.zeros((37,), dtype=xp.int64), xp.asarray(x), 1)[0],
        },
        profile,
    )
    for name in got:
        assert np.array_equal(got[name], want), name


@pytest.mark.parametrize("profile", DTYPES)
def test_products_round_before_they_are_added(profile):
    a, b = (np.random.default_rng(s).standard_normal((2, 4, 4)).astype(DTYPES[profile]) for s in (54, 55))
    wide = np.float64 if profile == "f64" else np.float32
    want = np.zeros((2, 4, 4), wide)
    for k in range(4):
        want = want + a[:, :, k, None].astype(wide) * b[:, None, k, :].astype(wide)
    got = nearest(lambda xp: {"y": xp.asarray(a) @ xp.asarray(b)}, profile)["y"]
    assert np.array_equal(got, want.astype(DTYPES[profile]).astype(np.float64))


@pytest.mark.parametrize("profile", ["bf16", "f16"])
def test_each_result_is_stored_in_16_bits(profile):
    x = np.random.default_rng(56).standard_normal(200).astype(DTYPES[profile])
    with np.errstate(all="ignore"):
        want = ((x * x).astype(np.float32) / x.astype(np.float32)).astype(DTYPES[profile]) + x
    got = nearest(lambda xp: {"y": xp.asarray(x) * xp.asarray(x) / xp.asarray(x) + xp.asarray(x)}, profile)["y"]
    assert np.array_equal(got, want.astype(np.float64))


def test_wide_and_narrow_follow_the_same_rules_as_the_bound():
    xp = Nearest("bf16")
    wide, narrow = xp.constant(0.1), xp.asarray(np.asarray([1.0, 2.0]))
    assert wide.data == np.float32(0.1)
    assert (narrow * wide).data.tolist() == [float(ml_dtypes.bfloat16(v)) for v in (0.1, 0.2)]
    assert xp.exp(wide).wide
    assert not xp.sin(wide).wide


def test_python_integers_round_once():
    assert nearest(lambda xp: {"y": xp.zeros(()) + (2**24 + 1)}, "f32")["y"] == 2**24
    assert nearest(lambda xp: {"y": xp.astype(xp.asarray(2**53 + 1), xp.float64)}, "f64")["y"] == 2**53
