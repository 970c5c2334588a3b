import numpy as np
import pytest

from refimpl import (
    attention_forward,
    causal_mask,
    chunked_mask,
    document_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)

RNG = np.random.default_rng(11)
SHAPES = [(5, 5, 0), (3, 7, 0), (3, 7, 4), (7, 3, -4), (2, 11, 5)]


def drawn(mask):
    """Write a mask as rows of 1 and 0."""
    return ["".join(str(int(keep)) for keep in row) for row in np.asarray(mask)]


def test_causal():
    assert drawn(causal_mask(2, 3, q_offset=0, xp=np)) == ["100", "110"]
    assert drawn(causal_mask(2, 3, q_offset=1, xp=np)) == ["110", "111"]


def test_a_window_is_inclusive_on_both_sides():
    """FlashAttention, ONNX 25, JAX: left = 1, right = 0 is two keys a row."""
    assert drawn(window_mask(3, 5, left=1, right=0, q_offset=1, xp=np)) == ["11000", "01100", "00110"]
    assert drawn(window_mask(3, 5, left=0, right=2, q_offset=1, xp=np)) == ["01110", "00111", "00011"]


@pytest.mark.parametrize(("T", "S", "q_offset"), SHAPES)
def test_a_window_open_to_the_left_and_closed_to_the_right_is_causal(T, S, q_offset):
    causal = causal_mask(T, S, q_offset=q_offset, xp=np)
    np.testing.assert_array_equal(window_mask(T, S, right=0, q_offset=q_offset, xp=np), causal)
    np.testing.assert_array_equal(chunked_mask(T, S, chunk=100, q_offset=q_offset, left_padding=-50, xp=np), causal)
    np.testing.assert_array_equal(prefix_mask(T, S, prefix=0, q_offset=q_offset, xp=np), causal)
    assert window_mask(T, S, q_offset=q_offset, xp=np).all()
    assert prefix_mask(T, S, prefix=S, q_offset=q_offset, xp=np).all()


@pytest.mark.parametrize(("T", "S", "q_offset"), SHAPES)
def test_rows_of_a_cached_mask_are_rows_of_the_whole_one(T, S, q_offset):
    """Query i of a call stands at q_offset + i: any mask of positions is cut out of one large mask."""
    n, far = 20, 6  # queries -far .. n - far - 1
    kinds = [
        (causal_mask, {}),
        (window_mask, {"left": 2, "right": 1}),
        (chunked_mask, {"chunk": 3}),
        (prefix_mask, {"prefix": 2}),
    ]
    for mask, options in kinds:
        whole = mask(n, n, q_offset=-far, xp=np, **options)
        part = mask(T, S, q_offset=q_offset, xp=np, **options)
        np.testing.assert_array_equal(part, whole[q_offset + far : q_offset + far + T, :S])


def test_chunks_are_no_window():
    assert drawn(chunked_mask(4, 4, chunk=2, q_offset=0, xp=np)) == ["1000", "1100", "0010", "0011"]
    assert drawn(window_mask(4, 4, left=1, right=0, q_offset=0, xp=np)) == ["1000", "1100", "0110", "0011"]


def test_left_padding_moves_the_chunks_with_the_tokens():
    padded = chunked_mask(7, 7, chunk=3, q_offset=0, left_padding=2, xp=np)
    np.testing.assert_array_equal(padded[2:, 2:], chunked_mask(5, 5, chunk=3, q_offset=0, xp=np))
    assert not padded[2:, :2].any()


def test_a_prefix_reads_itself_in_both_directions():
    assert drawn(prefix_mask(4, 4, prefix=2, q_offset=0, xp=np)) == ["1100", "1100", "1110", "1111"]


def test_padding():
    lengths = np.array([2, 0, 3])
    right, left = padding_mask(lengths, S=3), padding_mask(lengths, S=3, left_padded=True)
    assert right.shape == left.shape == (3, 1, 1, 3)
    assert drawn(right[:, 0, 0]) == ["110", "000", "111"]
    assert drawn(left[:, 0, 0]) == ["011", "000", "111"]
    q, k = RNG.standard_normal((3, 2, 5, 4)), RNG.standard_normal((3, 2, 3, 4))
    masked, _ = attention_forward(q, k, k, mask=right)
    alone, _ = attention_forward(q[:1], k[:1, :, :2], k[:1, :, :2])
    np.testing.assert_allclose(masked.y[:1], alone.y, rtol=1e-12)


def test_packed_documents_are_each_as_if_alone():
    """Joined with the causal mask, a packed sequence gives what its documents give one by one."""
    documents = np.array([[4, 4, 7, 7, 7]])
    assert drawn(document_mask(documents)[0, 0]) == ["11000", "11000", "00111", "00111", "00111"]
    x = RNG.standard_normal((1, 2, 5, 4))
    packed, _ = attention_forward(x, x, x, mask=document_mask(documents), q_offset=0)
    for part in (slice(0, 2), slice(2, 5)):
        alone, _ = attention_forward(x[:, :, part], x[:, :, part], x[:, :, part], q_offset=0)
        np.testing.assert_allclose(packed.y[:, :, part], alone.y, rtol=1e-12)
        np.testing.assert_allclose(packed.lse[:, :, part], alone.lse, rtol=1e-12)


def test_documents_of_queries_and_of_keys():
    keep = document_mask(np.array([1, 2]), np.array([2, 1, 1]))
    assert keep.shape == (1, 2, 3)
    assert drawn(keep[0]) == ["011", "100"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal_mask(-1, 3, q_offset=0, xp=np), "T: got -1; allowed: an integer >= 0"),
        (lambda: causal_mask(2, 0, q_offset=0, xp=np), "S: got 0; allowed: an integer >= 1"),
        (lambda: window_mask(2, 3, left=-1, q_offset=0, xp=np), "left: got -1; allowed: an integer >= 0"),
        (lambda: window_mask(2, 3, right=-1, q_offset=0, xp=np), "right: got -1"),
        (lambda: chunked_mask(2, 3, chunk=0, q_offset=0, xp=np), "chunk: got 0; allowed: an integer >= 1"),
        (lambda: prefix_mask(2, 3, prefix=-1, q_offset=0, xp=np), "prefix: got -1; allowed: an integer >= 0"),
        (lambda: padding_mask(np.array([2, 4]), S=3), "lengths: got 4; allowed: 0 .. 3"),
        (lambda: padding_mask(np.array([-1, 2]), S=3), "lengths: got -1; allowed: 0 .. 3"),
        (lambda: padding_mask(np.ones(2), S=3), "lengths: got dtype float64; allowed: int32 or int64"),
        (lambda: document_mask(np.ones((1, 2))), "q_documents: got dtype float64"),
        (lambda: document_mask(np.ones(2, int), np.ones(2)), "k_documents: got dtype float64"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
