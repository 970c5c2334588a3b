import numpy as np
import pytest

from refimpl import rotary_embedding_forward, xpos_backward, xpos_forward

RNG = np.random.default_rng(17)


def score(q, k, p_q, p_k, **options):
    left, _ = xpos_forward(q, positions=np.asarray([p_q]), **options)
    right, _ = xpos_forward(k, positions=np.asarray([p_k]), keys=True, **options)
    return (left @ right.T).item()


@pytest.mark.parametrize("interleaved", [True, False])
def test_scores_depend_on_distance_and_the_centre_cancels(interleaved):
    q, k = RNG.standard_normal((2, 1, 6))
    found = [
        score(q, k, 9 + shift, 4 + shift, centre=centre, interleaved=interleaved, scale_base=16.0)
        for shift in (0, 7, -40)
        for centre in (0, 3, 20)
    ]
    np.testing.assert_allclose(found, found[0], rtol=1e-11)
    other = score(q, k, 9, 6, centre=0, interleaved=interleaved, scale_base=16.0)
    assert abs(other - found[0]) > 1e-3


def test_scores_fade_with_distance():
    """For equal q and k of one pair each: by zeta^(distance / scale_base), on top of the rotation."""
    x = np.asarray([[1.0, 0.0]])
    for distance in (1, 10, 100):
        zeta = 0.4 / 1.4
        want = zeta ** (distance / 512) * np.cos(distance)
        assert score(x, x, 300 + distance, 300, centre=50) == pytest.approx(want, rel=1e-12)


def test_centre_does_nothing_to_its_own_token():
    x = RNG.standard_normal((1, 4))
    y, _ = xpos_forward(x, positions=np.asarray([7]), centre=7)
    np.testing.assert_array_equal(y, rotary_embedding_forward(x, positions=np.asarray([7]))[0])


@pytest.mark.parametrize("keys", [True, False])
def test_backward_is_the_transpose_and_not_the_inverse(keys):
    T, D = 5, 6
    positions = np.asarray([0, 1, 2, 30, 100])
    options = {"positions": positions, "centre": 2, "keys": keys, "scale_base": 16.0}
    columns = np.stack([xpos_forward(np.broadcast_to(e, (T, D)), **options)[0] for e in np.eye(D)], axis=-1)
    dy = RNG.standard_normal((T, D))
    dx = xpos_backward(dy, xpos_forward(np.ones((T, D)), **options)[1])
    np.testing.assert_allclose(dx, np.einsum("tij,ti->tj", columns, dy), rtol=1e-12)
    inverse = np.linalg.solve(columns, dy[..., None])[..., 0]
    assert np.max(np.abs(dx - inverse)) > 0.1


def test_decode_with_the_centre_of_the_call_is_wrong():
    """Half the length of each call is what libraries take for the centre; a cache then mixes centres."""
    q, k = RNG.standard_normal((2, 1, 6))
    in_one_pass = score(q, k, 9, 4, centre=5, scale_base=16.0)
    left, _ = xpos_forward(q, positions=np.asarray([9]), centre=5, scale_base=16.0)
    cached, _ = xpos_forward(k, positions=np.asarray([4]), centre=2, keys=True, scale_base=16.0)
    assert abs((left @ cached.T).item() - in_one_pass) > 1e-3


def test_bad_input():
    x, positions = np.ones((3, 4)), np.arange(3)
    for options, message in (
        ({"scale_base": 0.0}, r"scale_base: got 0\.0; allowed: a finite number > 0"),
        ({"gamma": -1.0}, "gamma: got -1.0; allowed: a finite number > 0"),
    ):
        with pytest.raises(ValueError, match=message):
            xpos_forward(x, positions=positions, centre=1, **options)
