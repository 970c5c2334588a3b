"""Correct rounding on planted hard cases, and against NumPy's and ml_dtypes' own conversions."""

import math

import ml_dtypes
import numpy as np
import pytest
from flint import arb, ctx

from refimpl.exact import round_ball
from refimpl.exact.functions import to_balls
from refimpl.exact.profiles import FORMATS
from refimpl.exact.rounding import round_balls, round_floats, round_point

DTYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
NAMES = list(DTYPES)


def two(exponent: int) -> arb:
    return arb(2) ** exponent


@pytest.mark.parametrize("name", NAMES)
def test_format_has_the_limits_of_the_dtype(name):
    format, info = FORMATS[name], ml_dtypes.finfo(DTYPES[name])
    assert format.bits == info.bits
    assert 2 * format.unit_roundoff == float(info.eps)
    assert format.max_finite == float(info.max)
    assert format.least_normal == float(info.smallest_normal)
    assert 2.0**format.min_exponent == float(info.smallest_subnormal)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sign", [1, -1])
def test_hard_points(name, sign):
    format = FORMATS[name]
    p, least, huge = format.precision, format.min_exponent, format.max_exponent
    last, hair = two(1 - p), two(-2000)  # last place of 1, and much less than any
    with ctx.workprec(4000):
        cases = {
            "one": (arb(1), 1.0),
            "tie to even, down": (1 + last / 2, 1.0),
            "tie to even, up": (1 + 3 * last / 2, 1 + 2 * 2.0 ** (1 - p)),
            "a hair above a tie": (1 + last / 2 + hair, 1 + 2.0 ** (1 - p)),
            "a hair below a tie": (1 + 3 * last / 2 - hair, 1 + 2.0 ** (1 - p)),
            "carry into the next power": (2 - last / 4, 2.0),
            "least subnormal": (two(least), 2.0**least),
            "half the least subnormal, a tie": (two(least - 1), 0.0),
            "a hair above half": (two(least - 1) + two(least - 1000), 2.0**least),
            "subnormal tie to even": (3 * two(least - 1), 2.0 ** (least + 1)),
            "greatest subnormal and a half": (two(least + p - 1) - two(least - 1), 2.0 ** (least + p - 1)),
            "greatest finite": (two(huge) - two(huge - p), format.max_finite),
            "a hair below overflow": (two(huge) - two(huge - p - 1) - hair, format.max_finite),
            "overflow, a tie": (two(huge) - two(huge - p - 1), math.inf),
            "far overflow": (two(2**40), math.inf),
            "far underflow": (two(-(2**40)), 0.0),
            "zero": (arb(0), 0.0),
            "infinity": (arb(math.inf), math.inf),
        }
        for label, (x, want) in cases.items():
            got = round_point(sign * x, format)
            assert got == sign * want, label
            assert math.copysign(1, got) == 1 or got < 0, f"{label}: a negative zero"
            assert round_ball(sign * x, name) == sign * want, label


@pytest.mark.parametrize("name", NAMES)
def test_a_ball_is_rounded_when_both_its_ends_agree(name):
    p, least = FORMATS[name].precision, FORMATS[name].min_exponent
    with ctx.workprec(300):
        assert round_ball(arb(1, two(-p - 3)), name) == 1.0
        assert round_ball(1 + two(-p) + arb(0, two(-200)), name) is None  # around a tie
        assert round_ball(1 + two(-p) + two(-190) + arb(0, two(-200)), name) == 1 + 2.0 ** (1 - p)
        assert round_ball(arb(0, two(least - 2)), name) == 0.0
        assert math.copysign(1, round_ball(arb(0, two(least - 2)), name)) == 1
        assert round_ball(arb(0, two(least)), name) is None
        assert round_ball(arb.nan(), name) is None
        assert round_ball(arb(0, math.inf), name) is None
        assert round_ball(arb(-(2.0**34)).exp(), name) == 0.0


def test_an_unknown_format_is_named():
    with pytest.raises(ValueError, match=r"'float8'; allowed: float64, float32"):
        round_ball(arb(1), "float8")


def wild(n: int, name: str, seed: int) -> np.ndarray:
    """Float64 numbers of all magnitudes of a format and beyond, half of them close to its ties."""
    rng, format = np.random.default_rng(seed), FORMATS[name]
    exponent = rng.integers(format.min_exponent - 3, format.max_exponent + 2, n)
    mantissa = rng.uniform(1, 2, n)
    near = np.rint(np.ldexp(mantissa, format.precision)) + rng.choice([0.0, 2.0**-20, -(2.0**-20)], n)
    mantissa = np.where(rng.random(n) < 0.5, mantissa, np.ldexp(near, -format.precision))
    with np.errstate(over="ignore"):
        return np.ldexp(mantissa * rng.choice([-1, 1], n), exponent.astype(int))


@pytest.mark.parametrize("name", ["float32", "float16"])
def test_floats_round_as_numpy_casts(name):
    x = wild(200_000, name, seed=20)
    with np.errstate(over="ignore", under="ignore"):
        want = x.astype(DTYPES[name]).astype(np.float64)
    assert np.array_equal(round_floats(x, FORMATS[name]), want)


def test_floats_round_as_ml_dtypes_casts():
    x = wild(200_000, "bfloat16", seed=21)
    x = x[np.abs(x) < np.finfo(np.float32).max].astype(np.float32)  # ml_dtypes' cast from float64 rounds twice
    want = x.astype(ml_dtypes.bfloat16).astype(np.float64)
    assert np.array_equal(round_floats(x.astype(np.float64), FORMATS["bfloat16"]), want)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_balls_round_as_single_balls(name):
    points = to_balls(wild(3000, name, seed=22).astype(object))
    with ctx.workprec(200):
        balls = points * (1 + arb(0, two(-150))) + two(-1080)
        balls[::3] = points[::3]
        want = [round_ball(ball, name) for ball in balls]
        values, decided = round_balls(balls, FORMATS[name])
    assert [v if d else None for v, d in zip(values.tolist(), decided.tolist(), strict=True)] == want
    assert decided.sum() > 2000
