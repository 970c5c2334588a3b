import numpy as np
import pytest

from refimpl import renorm_table

RNG = np.random.default_rng(2)
WEIGHT = RNG.standard_normal((7, 5)) * np.array([0.1, 1, 2, 3, 0.2, 4, 5])[:, None]


def test_only_rows_that_are_looked_up_and_longer_change():
    y = renorm_table(np.array([[0, 3], [3, 5]]), WEIGHT, max_norm=1.0)
    np.testing.assert_array_equal(y[[0, 1, 2, 4, 6]], WEIGHT[[0, 1, 2, 4, 6]])
    np.testing.assert_allclose(np.linalg.norm(y[[3, 5]], axis=1), 1, rtol=1e-7)
    cosines = np.sum(y * WEIGHT, axis=1) / np.linalg.norm(y, axis=1) / np.linalg.norm(WEIGHT, axis=1)
    np.testing.assert_allclose(cosines, 1, rtol=1e-15)


def test_a_second_time_changes_nothing():
    ids = np.arange(7)
    once = renorm_table(ids, WEIGHT, max_norm=1.0)
    np.testing.assert_array_equal(renorm_table(ids, once, max_norm=1.0), once)


def test_norm_two_comes_out_a_little_short():
    y = renorm_table(np.array([0]), np.array([[2.0, 0.0]]), max_norm=1.0)
    assert y[0, 0] == pytest.approx(0.99999995, abs=1e-14)


def test_without_eps_the_length_is_max_norm():
    y = renorm_table(np.arange(7), WEIGHT, max_norm=0.25, eps=0.0)
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), 0.25, rtol=1e-15)


def test_a_row_of_zeros_stays():
    np.testing.assert_array_equal(renorm_table(np.array([0]), np.zeros((2, 3)), max_norm=1.0), np.zeros((2, 3)))


def test_pytorch_does_it_in_place():
    torch = pytest.importorskip("torch")
    ids = np.array([[0, 3], [3, 5]])
    weight = torch.tensor(WEIGHT)
    read = torch.nn.functional.embedding(torch.tensor(ids), weight, max_norm=1.5)
    y = renorm_table(ids, WEIGHT, max_norm=1.5)
    np.testing.assert_allclose(y, weight.numpy(), rtol=1e-15)
    np.testing.assert_allclose(y[ids], read.numpy(), rtol=1e-15)


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ([0, 7], {"max_norm": 1.0}, r"ids: got 7; allowed: 0 \.\. 6"),
        ([0], {"max_norm": 0.0}, r"max_norm: got 0\.0; allowed: a finite number > 0"),
        ([0], {"max_norm": 1.0, "eps": -1e-7}, "eps: got -1e-07; allowed: a finite number >= 0"),
    ],
)
def test_bad_input(ids, options, message):
    with pytest.raises(ValueError, match=message):
        renorm_table(np.array(ids), WEIGHT, **options)
