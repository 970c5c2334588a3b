"""Every row of the table of windows and corners, by the keys that each system says it lets a query see."""

import numpy as np
import pytest

from refimpl import causal_mask, document_mask, window_mask
from refimpl.attention import conversions as convert

N = 12
QUERY, KEY = np.arange(N)[:, None], np.arange(N)[None, :]


def window(sides):
    left, right = sides
    return window_mask(N, N, left=left, right=right, q_offset=0, xp=np)


@pytest.mark.parametrize("W", [1, 2, 3, N, 2 * N])
def test_what_each_system_calls_a_window_of_w(W):
    np.testing.assert_array_equal(window(convert.window_of_keys(W)), (QUERY - W < KEY) & (KEY <= QUERY))  # W keys
    np.testing.assert_array_equal(window(convert.window_of_past(W)), (QUERY - KEY <= W) & (KEY <= QUERY))  # W + 1 keys
    np.testing.assert_array_equal(window(convert.window_of_radius(W)), abs(QUERY - KEY) <= W)  # 2W + 1 keys
    np.testing.assert_array_equal(window(convert.window_of_minus_one(W, 0)), (QUERY - W <= KEY) & (KEY <= QUERY))


def test_how_many_keys_they_are():
    assert [int(window(f(3))[6].sum()) for f in (convert.window_of_keys, convert.window_of_past)] == [3, 4]
    assert int(window(convert.window_of_radius(3))[6].sum()) == 7


def test_what_zero_means():
    """gpt-oss: off. FlashAttention, ONNX, JAX: itself alone."""
    np.testing.assert_array_equal(window(convert.window_of_keys(0)), KEY <= QUERY)
    np.testing.assert_array_equal(window(convert.window_of_keys(None)), KEY <= QUERY)
    np.testing.assert_array_equal(window(convert.window_of_minus_one(0, 0)), QUERY == KEY)
    np.testing.assert_array_equal(window(convert.window_of_past(0)), QUERY == KEY)


def test_what_minus_one_means():
    assert convert.window_of_minus_one(-1, 0) == (None, 0)
    assert convert.window_of_minus_one(3, -1) == (3, None)
    assert convert.minus_one_of_window(None, 0) == (-1, 0)


@pytest.mark.parametrize("sides", [(None, 0), (0, 0), (3, 0), (2, 1), (None, None)])
def test_there_and_back(sides):
    assert convert.window_of_minus_one(*convert.minus_one_of_window(*sides)) == sides
    if sides[1] == 0:
        assert convert.window_of_keys(convert.keys_of_window(*sides)) == sides


@pytest.mark.parametrize(("T", "S"), [(3, 5), (5, 3), (4, 4), (1, 7)])
def test_corners(T, S):
    i, j = np.arange(T)[:, None], np.arange(S)[None, :]
    top = causal_mask(T, S, q_offset=convert.top_left(T, S), xp=np)
    bottom = causal_mask(T, S, q_offset=convert.bottom_right(T, S), xp=np)
    np.testing.assert_array_equal(top, np.tril(np.ones((T, S), bool)))
    np.testing.assert_array_equal(bottom, np.tril(np.ones((T, S), bool), S - T))
    assert bottom[-1].all()
    assert (top == (j <= i)).all()


def test_polarity_is_its_own_inverse():
    drop = KEY > QUERY
    np.testing.assert_array_equal(convert.keep_of_drop(drop), KEY <= QUERY)
    np.testing.assert_array_equal(convert.keep_of_drop(convert.keep_of_drop(drop)), drop)


def test_documents_of_lengths():
    documents = convert.documents_of_lengths(np.array([2, 3, 1]), T=8)
    assert documents.tolist() == [0, 0, 1, 1, 1, 2, 3, 3]
    offsets = np.array([0, 2, 5, 6, 8])  # cu_seqlens, with the rest as a last document
    inside = [(offsets <= t).sum() - 1 for t in range(8)]
    np.testing.assert_array_equal(documents, inside)
    assert document_mask(documents)[0].sum() == 4 + 9 + 1 + 4


def test_an_empty_document_takes_no_token():
    assert convert.documents_of_lengths(np.array([2, 0, 1]), T=3).tolist() == [0, 0, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convert.window_of_keys(-1), "W: got -1; allowed: an integer >= 0"),
        (lambda: convert.window_of_past(-1), "W: got -1"),
        (lambda: convert.window_of_radius(-2), "W: got -2"),
        (lambda: convert.window_of_minus_one(-2, 0), "left: got -2; allowed: an integer >= -1"),
        (lambda: convert.keys_of_window(2, 1), "right: got 1; allowed: 0"),
        (lambda: convert.documents_of_lengths(np.ones(2), T=3), "lengths: got dtype float64"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
