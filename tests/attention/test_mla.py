import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_forward,
    mla_attention_backward,
    mla_attention_forward,
    rms_norm_forward,
    rope_cos_sin,
    rope_forward,
)
from refimpl.exact import Exact

RNG = np.random.default_rng(16)
B, H, T, S, N, R, L, E = 2, 3, 2, 5, 4, 6, 7, 2
SHAPES = {"q": (B, H, T, N + R), "latent": (B, S, L), "k_rope": (B, S, R), "norm_weight": (L,)}
INPUTS = {name: RNG.standard_normal(shape) for name, shape in SHAPES.items()}
INPUTS |= {"w_uk": RNG.standard_normal((L, H * N)), "w_uv": RNG.standard_normal((L, H * E))}
INPUTS |= dict(zip(("cos", "sin"), rope_cos_sin(np.arange(S), R), strict=True))


def test_it_is_attention_over_unpacked_keys_and_values():
    out, _ = mla_attention_forward(**INPUTS, q_offset=S - T)
    c, _ = rms_norm_forward(INPUTS["latent"], INPUTS["norm_weight"])
    cos, sin = INPUTS["cos"], INPUTS["sin"]
    for h in range(H):
        k = np.concatenate(
            [c @ INPUTS["w_uk"][:, h * N : (h + 1) * N], rope_forward(INPUTS["k_rope"], cos, sin)[0]], -1
        )
        q_rope, _ = rope_forward(INPUTS["q"][:, h, :, N:], cos[-T:], sin[-T:])
        q = np.concatenate([INPUTS["q"][:, h, :, :N], q_rope], -1)
        v = c @ INPUTS["w_uv"][:, h * E : (h + 1) * E]
        head, _ = attention_forward(q[:, None], k[:, None], v[:, None], q_offset=S - T, scale=(N + R) ** -0.5)
        np.testing.assert_allclose(out.y[:, h], head.y[:, 0], rtol=1e-11)
        np.testing.assert_allclose(out.lse[:, h], head.lse[:, 0], rtol=1e-12)


def test_the_absorbed_form_is_equal_in_exact_arithmetic():
    """(q_nope w_ukᵀ)·c in place of q_nope·(c w_uk), and (weights c) w_uv: keys and values are never unpacked."""
    xp = Exact(400)
    a = {name: xp.asarray(array) for name, array in INPUTS.items()}
    out, residuals = mla_attention_forward(**a, q_offset=S - T)
    c = rms_norm_forward(a["latent"], a["norm_weight"])[0][:, None, :, :]  # (B, 1, S, L)
    w_uk = xp.permute_dims(xp.reshape(a["w_uk"], (L, H, N)), (1, 2, 0))  # (H, N, L)
    w_uv = xp.permute_dims(xp.reshape(a["w_uv"], (L, H, E)), (1, 0, 2))  # (H, L, E)
    turned, keys = residuals.attention.q, residuals.attention.k
    q = xp.concat([turned[..., :N] @ w_uk, turned[..., N:]], axis=-1)  # (B, H, T, L + R): w_uk absorbed
    k = xp.concat([c, keys[:, :1, :, N:]], axis=-1)  # (B, 1, S, L + R): one key head, which is the cache
    scale = 1 / xp.sqrt(xp.asarray(N + R, dtype=xp.float64))
    absorbed, _ = attention_forward(q * scale, k, c + xp.zeros_like(c), q_offset=S - T, scale=1.0)
    assert largest(absorbed.y @ w_uv - out.y) < 1e-100
    assert largest(absorbed.lse - out.lse) < 1e-100


def largest(x):
    return max(float(abs(ball).mid()) + float(ball.rad()) for ball in x.data.ravel())


def test_cached_latents_give_the_full_pass():
    """Token by token, from latents and k_rope alone."""
    q = RNG.standard_normal((B, H, S, N + R))
    full, _ = mla_attention_forward(**INPUTS | {"q": q}, q_offset=0)
    for t in range(S):
        so_far = {
            "q": q[:, :, t : t + 1],
            "latent": INPUTS["latent"][:, : t + 1],
            "k_rope": INPUTS["k_rope"][:, : t + 1],
        }
        tables = {name: INPUTS[name][: t + 1] for name in ("cos", "sin")}
        step, _ = mla_attention_forward(**INPUTS | so_far | tables, q_offset=t)
        np.testing.assert_allclose(step.y[:, :, 0], full.y[:, :, t], rtol=1e-11)
        np.testing.assert_allclose(step.lse[:, :, 0], full.lse[:, :, t], rtol=1e-12)


def test_scores_depend_on_distance_alone():
    """Keys and queries moved by the same number of positions: the same result."""
    out, _ = mla_attention_forward(**INPUTS, q_offset=S - T)
    tables = dict(zip(("cos", "sin"), rope_cos_sin(np.arange(100, 100 + S), R), strict=True))
    moved, _ = mla_attention_forward(**INPUTS | tables, q_offset=S - T)
    np.testing.assert_allclose(moved.y, out.y, rtol=1e-10)


def test_the_length_of_a_latent_does_not_count():
    out, residuals = mla_attention_forward(**INPUTS, q_offset=0, eps=0.0)
    longer, _ = mla_attention_forward(**INPUTS | {"latent": 8 * INPUTS["latent"]}, q_offset=0, eps=0.0)
    np.testing.assert_allclose(longer.y, out.y, rtol=1e-12)
    gradients = mla_attention_backward(Attention(RNG.standard_normal(out.y.shape), None), residuals)
    np.testing.assert_allclose((gradients.latent * INPUTS["latent"]).sum(-1), 0, atol=1e-12)


def test_keys_nobody_sees_get_no_gradient():
    out, residuals = mla_attention_forward(**INPUTS, q_offset=0)
    gradients = mla_attention_backward(Attention(np.ones_like(out.y), np.ones_like(out.lse)), residuals)
    for name in ("latent", "k_rope"):
        assert np.all(getattr(gradients, name)[:, T:] == 0)
    assert np.all(gradients.cos[T:] == 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q_offset": 4}, "q_offset: got 4; allowed: 0 .. 3, so that 2 queries stand among 5 keys"),
        ({"q_offset": -1}, "q_offset: got -1"),
        ({"w_uk": INPUTS["w_uk"][:, 1:]}, "w_uk: got width 11; allowed: 12 = 3 heads of 10 - 6"),
        ({"w_uv": INPUTS["w_uv"][:, 1:]}, "w_uv: got width 5; allowed: a multiple of 3 heads"),
        ({"cos": INPUTS["cos"][:, 1:], "sin": INPUTS["sin"][:, 1:]}, r"cos: got shape"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        mla_attention_forward(**{"q_offset": 0} | INPUTS | changes)
