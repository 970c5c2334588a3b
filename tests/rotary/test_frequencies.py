import numpy as np
import pytest

from refimpl import (
    dynamic_ntk_frequencies,
    linear_frequencies,
    llama3_frequencies,
    longrope_frequencies,
    ntk_by_parts_frequencies,
    ntk_frequencies,
    proportional_frequencies,
    rope_cos_sin,
    rope_frequencies,
    rotary_embedding_forward,
    yarn_attention_factor,
    yarn_frequencies,
)
from refimpl.rotary.frequencies_yarn import yarn_bounds

F64 = {"xp": np, "dtype": np.float64}
RNG = np.random.default_rng(11)


def test_default_is_the_rule_of_rope():
    theta = rope_frequencies(8, **F64)
    np.testing.assert_allclose(theta, [1, 0.1, 0.01, 0.001], rtol=1e-15)
    np.testing.assert_allclose(np.cos(3 * theta), rope_cos_sin(np.asarray(3), 8).cos, rtol=1e-14)


@pytest.mark.parametrize("D", [4, 6, 64, 128])
@pytest.mark.parametrize("factor", [1.0, 2.5, 8.0])
def test_ntk_moves_from_one_end_to_the_other(D, factor):
    """θ_0 is unchanged, the last θ is divided by exactly the factor, and the ratio is monotonous between."""
    slowed, theta = ntk_frequencies(D, factor=factor, **F64), rope_frequencies(D, **F64)
    assert slowed[0] == theta[0] == 1
    np.testing.assert_allclose(slowed[-1], theta[-1] / factor, rtol=1e-15)
    base = 10000.0 * factor ** (D / (D - 2))
    np.testing.assert_allclose(slowed, rope_frequencies(D, base=base, **F64), rtol=1e-13)
    assert np.all(np.diff(slowed / theta) <= 0)


def test_linear_divides_positions():
    theta, slowed = rope_frequencies(10, **F64), linear_frequencies(10, factor=4.0, **F64)
    np.testing.assert_array_equal(slowed * 8, theta * 2)


def test_dynamic_ntk_is_ntk_with_a_factor_of_the_length():
    options = {"trained_length": 32, "factor": 4.0, **F64}
    plain = rope_frequencies(10, **F64)
    for length in (1, 31, 32):
        np.testing.assert_allclose(dynamic_ntk_frequencies(10, length=length, **options), plain, rtol=1e-15)
    for length, alpha in ((33, 1.125), (64, 5.0), (320, 37.0)):
        want = ntk_frequencies(10, factor=alpha, **F64)
        np.testing.assert_allclose(dynamic_ntk_frequencies(10, length=length, **options), want, rtol=1e-14)


def test_llama3_is_ntk_by_parts_from_1_to_4_rotations():
    given = {"factor": 8.0, "trained_length": 8192, "base": 500000.0, **F64}
    parts = ntk_by_parts_frequencies(128, slow_rotations=1.0, fast_rotations=4.0, **given)
    np.testing.assert_array_equal(llama3_frequencies(128, **F64), parts)


def test_llama3_has_three_bands():
    """Written as the code that models ship: comparisons of wavelengths."""
    theta, got = rope_frequencies(128, base=500000.0, **F64), llama3_frequencies(128, **F64)
    wavelength = 2 * np.pi / theta
    short, long = wavelength < 8192 / 4, wavelength > 8192 / 1
    np.testing.assert_allclose(got[short], theta[short], rtol=1e-15)
    np.testing.assert_allclose(got[long], theta[long] / 8, rtol=1e-15)
    s = (8192 / wavelength - 1) / 3
    between = ~(short | long)
    np.testing.assert_allclose(got[between], ((1 - s) * theta / 8 + s * theta)[between], rtol=1e-14)
    assert (int(short.sum()), int(between.sum())) == (29, 6)


def bounds(D: int, trained_length: int, base: float, truncate: bool) -> list[float]:
    options = {"fast_rotations": 32.0, "slow_rotations": 1.0, "truncate": truncate}
    found = yarn_bounds(D, trained_length=trained_length, base=base, like=np.ones(()), **options)
    return [float(bound) for bound in found]


def test_yarn_bounds_of_gpt_oss():
    np.testing.assert_allclose(bounds(64, 4096, 150000.0, False), [8.0928, 17.3980], atol=5e-5)
    assert bounds(64, 4096, 150000.0, True) == [8, 18]
    options = {"factor": 32.0, "trained_length": 4096, "base": 150000.0, **F64}
    whole, fractional = (yarn_frequencies(64, truncate=t, **options).frequencies for t in (True, False))
    differ = np.flatnonzero(~np.isclose(whole, fractional, rtol=1e-12))
    assert (differ.min(), differ.max()) == (9, 17)
    theta = rope_frequencies(64, base=150000.0, **F64)
    assert np.max(np.abs(whole - fractional) / theta) == pytest.approx(0.055, abs=1e-3)


def test_yarn_bounds_are_limited_to_the_width_less_one():
    """D - 1, not D/2 - 1; and never equal, so that the ramp has a slope."""
    assert bounds(6, 600, 10.0, True) == [1, 5]
    assert bounds(6, 1, 10.0, True) == [0, 0.001]
    low, high = bounds(4, 10**9, 10.0, False)
    assert high == low + 0.001


def test_yarn_keeps_fast_pairs_and_slows_slow_ones():
    theta = rope_frequencies(128, **F64)
    slowed, factor = yarn_frequencies(128, factor=16.0, trained_length=4096, **F64)
    low, high = bounds(128, 4096, 10000.0, True)
    i = np.arange(64)
    np.testing.assert_array_equal(slowed[i <= low], theta[i <= low])
    np.testing.assert_array_equal(slowed[i >= high], theta[i >= high] / 16)
    assert factor == pytest.approx(0.1 * np.log(16) + 1)


def test_forms_of_the_attention_factor():
    def m(factor: float, scale: float = 1.0) -> float:
        return 0.1 * scale * np.log(factor) + 1

    assert yarn_attention_factor(32.0, **F64) == pytest.approx(m(32))
    assert yarn_attention_factor(0.5, **F64) == 1
    assert yarn_attention_factor(40.0, mscale=0.707, mscale_all_dim=0.707, **F64) == 1
    both = yarn_attention_factor(40.0, mscale=1.0, mscale_all_dim=0.707, **F64)
    assert both == pytest.approx(m(40) / m(40, 0.707))
    assert yarn_attention_factor(40.0, **F64) ** 2 == pytest.approx(1.874, abs=5e-4)  # on DeepSeek-V3's softmax scale


def test_proportional_is_not_partial():
    whole = proportional_frequencies(16, proportion=0.25, base=1e6, **F64)
    np.testing.assert_allclose(whole, [1, 1e6 ** (-2 / 16), 0, 0, 0, 0, 0, 0], rtol=1e-15)
    np.testing.assert_allclose(rope_frequencies(4, base=1e6, **F64), [1, 0.001], rtol=1e-15)
    np.testing.assert_array_equal(proportional_frequencies(16, proportion=1.0, **F64), rope_frequencies(16, **F64))


def test_longrope_chooses_by_length():
    short, long = np.asarray([1.0, 2.0, 4.0]), np.asarray([3.0, 5.0, 7.0])
    theta = rope_frequencies(6, **F64)
    for length, chosen in ((1, short), (16, short), (17, long)):
        found = longrope_frequencies(short, long, length=length, trained_length=16, factor=32.0)
        np.testing.assert_allclose(found.frequencies, theta / chosen, rtol=1e-15)
        assert found.attention_factor == pytest.approx(np.sqrt(1 + np.log(32) / np.log(16)))
    unstretched = longrope_frequencies(short, long, length=9, trained_length=16, factor=0.5)
    assert unstretched.attention_factor == 1


FACTORS = np.asarray([1.0, 1.5, 2.0, 3.0]), np.asarray([1.0, 8.0, 20.0, 60.0])
BY_LENGTH = {
    "dynamic": lambda n: dynamic_ntk_frequencies(8, length=n, trained_length=16, factor=4.0, **F64),
    "longrope": lambda n: longrope_frequencies(*FACTORS, length=n, trained_length=16, factor=4.0).frequencies,
}
FIXED = {
    "default": lambda n: rope_frequencies(8, **F64),
    "yarn": lambda n: yarn_frequencies(8, factor=4.0, trained_length=16, **F64).frequencies,
    "llama3": lambda n: llama3_frequencies(8, **F64),
    "proportional": lambda n: proportional_frequencies(8, proportion=0.5, **F64),
}


def apart(rule, fixed_length: int | None = None) -> float:
    """How far keys turned one by one, as a cache holds them, are from keys turned in one pass of 32 tokens."""
    k = RNG.standard_normal((32, 8))
    whole, _ = rotary_embedding_forward(k, rule(32), positions=np.arange(32))
    steps = [rule(fixed_length or n + 1) for n in range(32)]
    cached = [rotary_embedding_forward(k[n : n + 1], steps[n], positions=np.asarray([n]))[0] for n in range(32)]
    return float(np.max(np.abs(whole - np.concatenate(cached))))


@pytest.mark.parametrize("rule", FIXED)
def test_a_cache_agrees_with_one_pass(rule):
    assert apart(FIXED[rule]) == 0


@pytest.mark.parametrize("rule", BY_LENGTH)
def test_a_cache_does_not_agree_where_frequencies_depend_on_the_length(rule):
    assert apart(BY_LENGTH[rule]) > 0.1
    assert apart(BY_LENGTH[rule], fixed_length=32) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rope_frequencies(5, **F64), "D: got rotary width 5; allowed: an even width >= 2"),
        (lambda: rope_frequencies(4, base=0.0, **F64), r"base: got 0\.0; allowed: a finite number > 0"),
        (lambda: linear_frequencies(4, factor=0.5, **F64), r"factor: got 0\.5; allowed: a finite number >= 1"),
        (lambda: ntk_frequencies(2, factor=2.0, **F64), "D: got rotary width 2; allowed: an even width >= 4"),
        (
            lambda: dynamic_ntk_frequencies(4, length=0, trained_length=8, factor=2.0, **F64),
            "length: got 0; allowed: an integer >= 1",
        ),
        (lambda: dynamic_ntk_frequencies(4, length=9, trained_length=0, factor=2.0, **F64), "trained_length: got 0"),
        (
            lambda: ntk_by_parts_frequencies(4, factor=2.0, trained_length=8, slow_rotations=32.0, **F64),
            r"slow_rotations: got 32\.0; allowed: a finite number >= 0 and < 32",
        ),
        (lambda: ntk_by_parts_frequencies(4, factor=2.0, trained_length=0, **F64), "trained_length: got 0"),
        (
            lambda: llama3_frequencies(4, low_frequency_factor=4.0, **F64),
            r"low_frequency_factor: got 4\.0; allowed: a finite number >= 0 and < 4",
        ),
        (lambda: yarn_frequencies(4, factor=0.5, trained_length=8, **F64), "factor: got 0.5"),
        (lambda: yarn_frequencies(4, factor=2.0, trained_length=8, base=1.0, **F64), "base: got 1.0"),
        (lambda: yarn_frequencies(4, factor=2.0, trained_length=0, **F64), "trained_length: got 0"),
        (
            lambda: yarn_frequencies(4, factor=2.0, trained_length=8, slow_rotations=0.0, **F64),
            r"slow_rotations: got 0\.0; allowed: a finite number > 0 and < 32",
        ),
        (lambda: yarn_attention_factor(0.0, **F64), r"factor: got 0\.0; allowed: a finite number > 0"),
        (lambda: yarn_attention_factor(2.0, mscale=-1.0, **F64), r"mscale: got -1\.0; allowed: a finite number >= 0"),
        (lambda: yarn_attention_factor(2.0, mscale_all_dim=-1.0, **F64), "mscale_all_dim: got -1.0"),
        (
            lambda: longrope_frequencies(np.ones(3), np.ones(2), length=4, trained_length=8, factor=2.0),
            r"long_factors: got shape \(2,\); allowed: shape \(3,\)",
        ),
        (
            lambda: longrope_frequencies(np.ones(3), np.ones(3), length=0, trained_length=8, factor=2.0),
            "length: got 0; allowed: an integer >= 1",
        ),
        (
            lambda: longrope_frequencies(np.ones(3), np.ones(3), length=4, trained_length=1, factor=2.0),
            "trained_length: got 1; allowed: an integer >= 2",
        ),
        (
            lambda: longrope_frequencies(np.ones(3), np.ones(3), length=4, trained_length=8, factor=-1.0),
            r"factor: got -1\.0; allowed: a finite number > 0",
        ),
        (
            lambda: proportional_frequencies(4, proportion=1.5, **F64),
            r"proportion: got 1\.5; allowed: a finite number >= 0 and <= 1",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
