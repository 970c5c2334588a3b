import numpy as np
import pytest

from refimpl import alibi_forward, fox_forward
from refimpl.bias.gates import log_sigmoid, sigmoid
from tests.bias.autograd import agrees_with_autograd, distances, reals

X = reals(2, 3, 7)


def test_weights_are_products_of_the_gates_in_between():
    y, _ = fox_forward(X, T=7)
    gates = sigmoid(X)
    np.testing.assert_allclose(np.exp(y[..., 5, 2]), gates[..., 3] * gates[..., 4] * gates[..., 5], rtol=1e-12)
    assert np.all(np.triu(y) == 0)  # the query itself, and keys ahead
    assert np.all(np.exp(y) <= 1)


def test_one_gate_for_all_is_alibi():
    x = np.array([[1.5] * 7, [-0.5] * 7])
    y, _ = fox_forward(x, T=3, q_offset=4)
    want, _ = alibi_forward(-log_sigmoid(x[:, 0]), T=3, S=7, q_offset=4)
    np.testing.assert_allclose(y, np.tril(want, 4), rtol=1e-12, atol=1e-14)


def test_decode_is_the_last_rows():
    y, _ = fox_forward(X, T=7)
    last, _ = fox_forward(X, T=2, q_offset=5)
    np.testing.assert_array_equal(y[..., 5:, :], last)


@pytest.mark.parametrize(("T", "q_offset"), [(7, 0), (3, 4), (2, 3), (1, 6), (1, 0)])
def test_autograd(T, q_offset):
    def formula(torch, gate_logits, T, q_offset):
        c = torch.nn.functional.logsigmoid(gate_logits).cumsum(-1)
        between = c[..., q_offset : q_offset + T, None] - c[..., None, :]
        return torch.where(distances(torch, T, 7, q_offset) > 0, between, 0)

    agrees_with_autograd("fox", formula, {"gate_logits": X}, T=T, q_offset=q_offset)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"T": 5, "q_offset": 3}, "q_offset: got 3; allowed: 0 .. S - T = 2"),
        ({"T": 5, "q_offset": -1}, "q_offset: got -1"),
        ({"T": 8}, "q_offset: got 0; allowed: 0 .. S - T = -1"),
        ({"T": -1}, "T: got -1"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        fox_forward(X, **options)
