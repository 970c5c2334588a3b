import math
from fractions import Fraction

import numpy as np
import pytest

from refimpl import t5_bias_backward, t5_bias_forward, t5_buckets
from tests.bias.autograd import agrees_with_autograd, distances, reals


@pytest.mark.parametrize(("N", "max_distance"), [(32, 128), (64, 512), (7, 11), (5, 1000), (2, 3)])
def test_buckets_by_fractions(N, max_distance):
    """(n/exact)^steps >= (max_distance/exact)^k, tried for every k."""
    exact, last = N // 2, N - 1
    for n in range(2 * max_distance):
        ratio, base = Fraction(n, exact), Fraction(max_distance, exact)
        k = max((k for k in range(N) if ratio ** (N - exact) >= base**k), default=0)
        want = n if n < exact else min(exact + k, last)
        got = t5_buckets(np.array(-n), N=N, max_distance=max_distance, bidirectional=False)
        assert got == want, n


@pytest.mark.parametrize(("bidirectional", "last"), [(True, 91), (False, 113)])
def test_last_bucket_begins_before_max_distance(bidirectional, last):
    buckets = t5_buckets(-np.arange(200), bidirectional=bidirectional)
    assert int(np.argmax(buckets == buckets[-1])) == last


def test_one_order_of_operations_is_off_where_a_bucket_begins():
    """The product with a factor made beforehand, in float64: 64 lies a bucket too low."""
    rounded = 8 + int(math.log(64 / 8) * ((16 - 8) / math.log(128 / 8)))
    assert rounded == 13
    assert t5_buckets(np.array(-64)) == 14


def test_every_bucket_is_used_but_the_one_of_a_key_zero_ahead():
    """Half + 0 would be distance 0 ahead."""
    assert set(t5_buckets(np.arange(-300, 301)).tolist()) == set(range(32)) - {16}
    assert set(t5_buckets(np.arange(-300, 301), bidirectional=False).tolist()) == set(range(32))


def test_sides_are_apart_by_half():
    n = np.arange(1, 300)
    np.testing.assert_array_equal(t5_buckets(n), t5_buckets(-n) + 16)
    assert not np.any(t5_buckets(n, bidirectional=False))


def test_bias_depends_on_the_distance_alone():
    weight = reals(8, 3)
    near, _ = t5_bias_forward(weight, T=3, S=5, max_distance=7)
    far, _ = t5_bias_forward(weight, T=3, S=15, q_offset=10, max_distance=7)
    np.testing.assert_array_equal(near, far[:, :, 10:])


def test_table_gradient_counts_pairs():
    _, residuals = t5_bias_forward(np.zeros((6, 2)), T=5, S=7, q_offset=2, bidirectional=False)
    assert t5_bias_backward(np.ones((2, 5, 7)), residuals).sum() == 2 * 5 * 7


@pytest.mark.parametrize("bidirectional", [True, False])
def test_autograd(bidirectional):
    def formula(torch, weight, T, S, q_offset, bidirectional):
        buckets = t5_buckets(-distances(torch, T, S, q_offset).numpy(), N=10, bidirectional=bidirectional)
        return weight[torch.tensor(buckets)].permute(2, 0, 1)

    agrees_with_autograd(
        "t5_bias", formula, {"weight": reals(10, 3)}, T=5, S=11, q_offset=3, bidirectional=bidirectional
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: t5_buckets(np.zeros(3)), "relative: got dtype float64; allowed: int32 or int64"),
        (lambda: t5_buckets(np.arange(3), N=7), "N: got 7 rows; allowed: an even number"),
        (lambda: t5_buckets(np.arange(3), N=2), "N: got 2"),
        (lambda: t5_buckets(np.arange(3), max_distance=8), "max_distance: got 8; allowed: an integer > 8"),
        (lambda: t5_bias_forward(np.ones((8, 2)), T=-1, S=3), "T: got -1"),
        (lambda: t5_bias_forward(np.ones((8, 2)), T=3, S=0), "S: got 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
