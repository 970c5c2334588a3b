import math

import numpy as np
import pytest

from refimpl import deberta_bias_forward
from refimpl.bias.deberta import deberta_buckets
from tests.bias.autograd import agrees_with_autograd, distances, reals


def given(T, S, N, H=2, D=4):
    shapes = {"q": (3, H, T, D), "k": (3, H, S, D), "key_table": (H, N, D), "query_table": (H, N, D)}
    return {name: reals(*shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("N", "max_distance"), [(512, 512), (12, 10), (16, 33), (8, 4)])
def test_buckets_by_the_logarithm(N, max_distance):
    """The definition with a rounded logarithm, away from the distances where that may go either way."""
    mid, limit = N // 4, max_distance - 1
    for n in range(1, 2 * max_distance):
        steps = math.log(max(n, mid) / mid) / math.log(limit / mid) * (mid - 1)
        if n > mid and abs(steps - round(steps)) < 1e-9:
            continue
        bucket = n if n <= mid else mid + math.ceil(steps)
        assert deberta_buckets(np.array(n), N, max_distance) == min(bucket + N // 2, N - 1)
        assert deberta_buckets(np.array(-n), N, max_distance) == max(N // 2 - bucket, 0)


def test_exact_boundaries():
    """mid = 4, limit = 32: 4 · 2^k ends the bucket mid + k, since (n/4)^3 = (8)^k."""
    assert deberta_buckets(np.array([4, 5, 8, 9, 16, 17, 32, 33]), 16, 33).tolist() == [12, 13, 13, 14, 14, 15, 15, 15]
    assert deberta_buckets(np.array([-32, -33, -1000]), 16, 33).tolist() == [1, 0, 0]


def test_near_distances_do_not_notice_the_logarithm():
    arrays = given(3, 4, 16)
    plain, _ = deberta_bias_forward(**arrays)
    logarithmic, _ = deberta_bias_forward(**arrays, max_distance=40)
    np.testing.assert_array_equal(plain, logarithmic)


def test_mirrored_is_a_reordering_of_rows():
    """Row span + d becomes row span − d; only row 0 has no partner."""
    arrays = given(3, 4, 16)
    plain, _ = deberta_bias_forward(**arrays)
    table = arrays["query_table"]
    arrays["query_table"] = np.concatenate([table[:, :1], table[:, :0:-1]], axis=1)
    mirrored, _ = deberta_bias_forward(**arrays, mirrored=True)
    np.testing.assert_allclose(plain, mirrored, rtol=1e-12)


def test_swapping_content_and_tables_transposes():
    """What is key minus query for one is query minus key for the other: the rows change sides."""
    arrays = given(5, 5, 12)
    y, _ = deberta_bias_forward(**arrays)
    flipped = {name: np.concatenate([t[:, :1], t[:, :0:-1]], axis=1) for name, t in arrays.items() if "table" in name}
    want, _ = deberta_bias_forward(arrays["k"], arrays["q"], flipped["query_table"], flipped["key_table"])
    np.testing.assert_allclose(np.swapaxes(y, -1, -2), want, rtol=1e-12)


@pytest.mark.parametrize(("max_distance", "mirrored", "scale"), [(None, False, None), (9, True, None), (9, False, 0.3)])
def test_autograd(max_distance, mirrored, scale):
    def formula(torch, q, k, key_table, query_table, q_offset, max_distance, mirrored, scale):
        behind = distances(torch, q.shape[-2], k.shape[-2], q_offset).numpy()
        rows = torch.tensor(deberta_buckets(behind, 12, max_distance))
        rows_k = torch.tensor(deberta_buckets(-behind if mirrored else behind, 12, max_distance))
        c2p = torch.einsum("bhtd,htsd->bhts", q, key_table[:, rows])
        p2c = torch.einsum("bhsd,htsd->bhts", k, query_table[:, rows_k])
        return (c2p + p2c) * (scale or (3 * q.shape[-1]) ** -0.5)

    options = {"q_offset": 6, "max_distance": max_distance, "mirrored": mirrored, "scale": scale}
    agrees_with_autograd("deberta_bias", formula, given(3, 17, 12), **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": reals(3, 2, 7, 5)}, r"k: got shape \(3, 2, 7, 5\)"),
        (
            {"query_table": reals(2, 10, 4)},
            r"query_table: got shape \(2, 10, 4\); allowed: shape \(2, 12, 4\) to fit q, key_table",
        ),
        ({"key_table": reals(1, 12, 4)}, r"key_table: got shape \(1, 12, 4\)"),
        (
            {"key_table": reals(2, 7, 4), "query_table": reals(2, 7, 4)},
            "key_table: got 7 rows; allowed: an even number",
        ),
        (
            {"key_table": reals(2, 10, 4), "query_table": reals(2, 10, 4), "max_distance": 20},
            "key_table: got 10 rows; allowed: a multiple of 4",
        ),
        ({"max_distance": 4}, "max_distance: got 4; allowed: None or an integer > 4"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        deberta_bias_forward(**(given(3, 7, 12) | changes))
