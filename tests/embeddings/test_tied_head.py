import numpy as np
import pytest

from refimpl import tied_head_backward, tied_head_forward, token_embedding_backward, token_embedding_forward

RNG = np.random.default_rng(3)
H, WEIGHT, BIAS, DY = (RNG.standard_normal(shape) for shape in ((2, 3, 5), (7, 5), (7,), (2, 3, 7)))


def test_is_a_product_with_every_row():
    y, _ = tied_head_forward(H, WEIGHT, BIAS)
    for v in range(7):
        np.testing.assert_allclose(y[..., v], H @ WEIGHT[v] + BIAS[v], rtol=1e-14)


def test_reading_a_row_and_scoring_it_gives_its_square_length():
    rows, _ = token_embedding_forward(np.arange(7), WEIGHT)
    y, _ = tied_head_forward(rows, WEIGHT)
    np.testing.assert_allclose(np.diag(y), np.sum(WEIGHT**2, axis=1), rtol=1e-15)


def test_gradient_of_an_absent_bias_is_none():
    dh, dweight, dbias = tied_head_backward(DY, tied_head_forward(H, WEIGHT)[1])
    assert dbias is None
    assert dh.shape == H.shape
    np.testing.assert_allclose(dweight, np.einsum("btv,btc->vc", DY, H), rtol=1e-13, atol=1e-15)


def test_the_table_learns_from_both_ends_and_padding_from_the_head():
    """Loss = <logits(token_embedding(ids)), dy>: the gradient of the one table is lookup share + head share."""
    ids = np.array([[3, 0, 3], [6, 3, 0]])

    def loss(weight):
        return np.sum(
            DY * tied_head_forward(token_embedding_forward(ids, weight, scale_by_sqrt_width=True)[0], weight)[0]
        )

    h, looked_up = token_embedding_forward(ids, WEIGHT, scale_by_sqrt_width=True)
    dh, head_share, _ = tied_head_backward(DY, tied_head_forward(h, WEIGHT)[1])
    total = token_embedding_backward(dh, looked_up) + head_share
    u = RNG.standard_normal(WEIGHT.shape)
    slope = (loss(WEIGHT + 1e-5 * u) - loss(WEIGHT - 1e-5 * u)) / 2e-5
    assert np.sum(total * u) == pytest.approx(slope, rel=1e-9)
    masked = token_embedding_backward(dh, looked_up._replace(padding_idx=3))
    assert np.all(masked[3] == 0)
    assert np.all((masked + head_share)[3] != 0)


def test_pytorch_shares_one_parameter():
    torch = pytest.importorskip("torch")
    ids = torch.tensor([[3, 0, 3], [6, 3, 0]])
    weight = torch.tensor(WEIGHT, requires_grad=True)
    h = torch.nn.functional.embedding(ids, weight, padding_idx=3)
    (torch.nn.functional.linear(h, weight, torch.tensor(BIAS)) * torch.tensor(DY)).sum().backward()
    y, looked_up = token_embedding_forward(ids.numpy(), WEIGHT, padding_idx=3)
    dh, head_share, _ = tied_head_backward(DY, tied_head_forward(y, WEIGHT, BIAS)[1])
    np.testing.assert_allclose(token_embedding_backward(dh, looked_up) + head_share, weight.grad.numpy(), rtol=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((H[..., :4], WEIGHT), r"weight: got shape \(7, 5\); allowed: shape \(V, 4\) to fit h"),
        ((H, WEIGHT, BIAS[:5]), r"bias: got shape \(5,\); allowed: shape \(7,\) to fit weight"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        tied_head_forward(*arguments)
