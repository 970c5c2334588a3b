import numpy as np
import pytest

from refimpl import positions_from_offset, positions_from_padding, positions_in_documents

MASK = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 0, 1, 0, 1]], dtype=bool)


def test_offset_and_start_add():
    np.testing.assert_array_equal(positions_from_offset(4, xp=np), [0, 1, 2, 3])
    np.testing.assert_array_equal(positions_from_offset(2, start=5, offset=2, xp=np), [7, 8])
    assert positions_from_offset(0, xp=np).shape == (0,)


def test_padding_is_not_counted():
    np.testing.assert_array_equal(positions_from_padding(MASK), [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4], [2, 1, 3, 1, 4]])


def test_padding_on_the_left_moves_nothing():
    left, right = positions_from_padding(MASK[1]), positions_from_padding(MASK[0])
    np.testing.assert_array_equal(left[MASK[1]], right[MASK[0]])


def test_a_chunk_goes_on_where_the_last_one_ended():
    whole = positions_from_padding(MASK)
    first = positions_from_padding(MASK[:, :2])
    for b in range(3):
        second = positions_from_padding(MASK[b, 2:], first=2 + int(MASK[b, :2].sum()))
        np.testing.assert_array_equal(np.concatenate([first[b], second]), whole[b])


def test_fairseq_form():
    """make_positions: cumsum(mask) mask + padding_idx."""
    for padding_idx in (0, 1, 5):
        want = np.cumsum(MASK, axis=1) * MASK + padding_idx
        got = positions_from_padding(MASK, first=padding_idx + 1, padding_position=padding_idx)
        np.testing.assert_array_equal(got, want)


def test_documents_are_numbered_alone():
    documents = np.repeat([4, 4, 1, 1, 9], [3, 2, 4, 1, 6])
    lengths = [5, 5, 6]  # equal neighbours are one document
    np.testing.assert_array_equal(positions_in_documents(documents), np.concatenate([np.arange(n) for n in lengths]))


def test_documents_against_a_loop():
    documents = np.random.default_rng(6).integers(0, 2, (5, 83))
    want = np.zeros_like(documents)
    for b in range(5):
        for t in range(1, 83):
            want[b, t] = want[b, t - 1] + 1 if documents[b, t] == documents[b, t - 1] else 0
    np.testing.assert_array_equal(positions_in_documents(documents), want)
    np.testing.assert_array_equal(positions_in_documents(documents, first=2), want + 2)


def test_one_long_document():
    np.testing.assert_array_equal(positions_in_documents(np.zeros(1001, dtype=np.int64)), np.arange(1001))
    assert positions_in_documents(np.zeros((2, 0), dtype=np.int64)).shape == (2, 0)


def test_results_are_integers():
    for y in (positions_from_offset(3, xp=np), positions_from_padding(MASK), positions_in_documents(np.arange(3))):
        assert y.dtype == np.int64


def test_bad_input():
    with pytest.raises(ValueError, match="T: got -1; allowed: an integer >= 0"):
        positions_from_offset(-1, xp=np)
    with pytest.raises(ValueError, match=r"start \+ offset: got -2; allowed: an integer >= 0"):
        positions_from_offset(3, start=-2, xp=np)
    with pytest.raises(ValueError, match=r"mask: got dtype int64; allowed: bool \(True keeps\)"):
        positions_from_padding(MASK.astype(np.int64))
    with pytest.raises(ValueError, match="documents: got dtype float64; allowed: int32 or int64"):
        positions_in_documents(np.zeros(3))
