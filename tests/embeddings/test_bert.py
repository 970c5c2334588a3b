import numpy as np
import pytest

from refimpl import (
    bert_embedding_backward,
    bert_embedding_forward,
    dropout_forward,
    layer_norm_forward,
    positions_from_padding,
)

RNG = np.random.default_rng(13)
IDS, SEGMENTS = np.array([[3, 0, 3, 1], [5, 3, 0, 0]]), np.array([[0, 0, 1, 1], [0, 1, 1, 1]])
TABLES = [RNG.standard_normal(shape) for shape in ((7, 5), (2, 5), (11, 5), (5,), (5,))]
DY = RNG.standard_normal((2, 4, 5))


def test_is_the_sum_normalized_and_dropped():
    keep = RNG.random((2, 4, 5)) < 0.8
    weight, segment_weight, position_weight, *gains = TABLES
    total = weight[IDS] + segment_weight[SEGMENTS] + position_weight[:4]
    want, _ = dropout_forward(layer_norm_forward(total, *gains, eps=1e-12)[0], keep=keep, p=0.2)
    y, _ = bert_embedding_forward(IDS, SEGMENTS, *TABLES, keep=keep, p=0.2)
    np.testing.assert_array_equal(y, want)
    assert np.all(y[~keep] == 0)


def test_positions_are_shared_or_given():
    shared, _ = bert_embedding_forward(IDS, SEGMENTS, *TABLES, positions=np.arange(4))
    given, _ = bert_embedding_forward(IDS, SEGMENTS, *TABLES, positions=np.tile(np.arange(4), (2, 1)))
    np.testing.assert_array_equal(shared, bert_embedding_forward(IDS, SEGMENTS, *TABLES)[0])
    np.testing.assert_array_equal(shared, given)


def test_one_gradient_reaches_three_tables():
    gradients = bert_embedding_backward(DY, bert_embedding_forward(IDS, SEGMENTS, *TABLES)[1])
    sums = [gradient.sum(0) for gradient in gradients[:3]]
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-13)
    np.testing.assert_allclose(sums[0], sums[2], atol=1e-13)
    assert np.all(gradients[2][4:] == 0)


def test_pytorch_with_padding_in_both_tables():
    torch = pytest.importorskip("torch")
    ids = np.array([[3, 4, 3, 1], [5, 1, 1, 1]])
    positions = positions_from_padding(ids != 1)
    tables = [torch.tensor(table, requires_grad=True) for table in TABLES]
    embed = torch.nn.functional.embedding
    total = embed(torch.tensor(ids), tables[0], padding_idx=1) + embed(torch.tensor(SEGMENTS), tables[1])
    total = total + embed(torch.tensor(positions), tables[2], padding_idx=1)
    theirs = torch.nn.functional.layer_norm(total, (5,), tables[3], tables[4], 1e-5)
    options = {"padding_idx": 1, "position_padding_idx": 1, "eps": 1e-5}
    y, residuals = bert_embedding_forward(ids, SEGMENTS, *TABLES, positions=positions, **options)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-14)
    gradients = torch.autograd.grad(theirs, tables, torch.tensor(DY))
    for got, want in zip(bert_embedding_backward(DY, residuals), gradients, strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0.1}, "p: got 0.1; allowed: 0 without keep"),
        ({"positions": np.arange(8, 12)}, r"positions: got 11; allowed: 0 \.\. 10"),
        ({"position_padding_idx": 11}, r"padding_idx: got 11; allowed: None or 0 \.\. 10"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        bert_embedding_forward(IDS, SEGMENTS, *TABLES, **options)
