"""Rotations of door 2 against rotary-embedding-torch and x-transformers, and autograd through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(47)
FLOAT32: Any = {"rtol": 0, "atol": 3e-6}


@pytest.fixture
def ret() -> Any:
    return pytest.importorskip("rotary_embedding_torch")


@pytest.fixture
def xtr() -> Any:
    return pytest.importorskip("x_transformers.x_transformers")


def leaf(*shape: int) -> Any:
    return torch.tensor(RNG.standard_normal(shape), dtype=torch.float32, requires_grad=True)


def arrays(*tensors: Any) -> Any:
    return [tensor.detach().double().numpy() for tensor in tensors]


def agree(ours: Any, backward: Any, found: Any, inputs: Any, **tolerance: Any) -> None:
    """Compare y, and the gradient of each input for one cotangent; None: not compared."""
    y, residuals = ours
    np.testing.assert_allclose(y, found.detach().numpy(), **tolerance)
    dy = leaf(*y.shape).detach()
    gradients = backward(dy.double().numpy(), residuals)
    wanted = torch.autograd.grad(found, inputs, dy)
    for got, want in zip(gradients if isinstance(gradients, tuple) else (gradients,), wanted, strict=False):
        np.testing.assert_allclose(got, want.numpy(), rtol=2e-5, atol=2e-5)


def test_ret_turns_pairs_of_the_first_channels(ret: Any) -> None:
    """Its rotation is partial wherever the head is wider."""
    x = leaf(2, 3, 5, 10)
    found = ret.RotaryEmbedding(6).rotate_queries_or_keys(x, offset=40)
    ours = r.partial_rope_forward(arrays(x)[0], *r.rope_cos_sin(np.arange(40, 45), 6))
    agree(ours, lambda dy, residuals: r.partial_rope_backward(dy, residuals)[0], found, [x], rtol=0, atol=1e-5)


def test_ret_learns_frequencies(ret: Any) -> None:
    x, module = leaf(2, 3, 5, 8), ret.RotaryEmbedding(8, learned_freq=True)
    found = module.rotate_queries_or_keys(x)
    ours = r.rotary_embedding_forward(*arrays(x, module.freqs), positions=np.arange(5))
    agree(ours, r.rotary_embedding_backward, found, [x, module.freqs], **FLOAT32)


@pytest.mark.parametrize("factor", [2.0, 8.0])
def test_ret_rescales_the_base_as_ntk_does(ret: Any, factor: Any) -> None:
    found = ret.RotaryEmbedding(64, theta_rescale_factor=factor).freqs
    ours = r.ntk_frequencies(64, factor=factor, xp=np, dtype=np.float64)
    np.testing.assert_allclose(ours, found.detach().numpy(), rtol=2e-6)


def test_ret_interpolates_positions(ret: Any) -> None:
    x = leaf(3, 5, 8)
    found = ret.RotaryEmbedding(8, interpolate_factor=4.0).rotate_queries_or_keys(x)
    slowed = r.linear_frequencies(8, factor=4.0, xp=np, dtype=np.float64)
    y, _ = r.rotary_embedding_forward(arrays(x)[0], slowed, positions=np.arange(5))
    np.testing.assert_allclose(y, found.detach().numpy(), **FLOAT32)


@pytest.mark.parametrize("T", [5, 8])
def test_ret_xpos_has_its_centre_at_half_the_length_rounded_down(ret: Any, T: Any) -> None:
    q, k = leaf(2, 3, T, 8), leaf(2, 3, T, 8)
    found = ret.RotaryEmbedding(8, use_xpos=True, xpos_scale_base=16).rotate_queries_and_keys(q, k)
    for x, y, keys in zip((q, k), found, (False, True), strict=True):
        options: Any = {"positions": np.arange(T), "centre": T // 2, "keys": keys, "scale_base": 16.0}
        agree(r.xpos_forward(*arrays(x), **options), r.xpos_backward, y, [x], **FLOAT32)


def test_ret_axial(ret: Any) -> None:
    x, H, W = leaf(2, 3, 4, 16), 3, 4
    module = ret.RotaryEmbedding(8)
    found = ret.apply_rotary_emb(module.get_axial_freqs(H, W), x)
    grid = np.stack(np.meshgrid(np.arange(H), np.arange(W), indexing="ij"))
    ours = r.axial_rope_forward(*arrays(x), positions=grid)
    agree(ours, r.axial_rope_backward, found, [x], **FLOAT32)


@pytest.mark.parametrize("factor", [1.0, 4.0])
def test_xtr_rescales_the_base_as_ntk_does(xtr: Any, factor: Any) -> None:
    found = xtr.RotaryEmbedding(32, base_rescale_factor=factor).inv_freq
    ours = r.ntk_frequencies(32, factor=factor, xp=np, dtype=np.float64)
    np.testing.assert_allclose(ours, found.numpy(), rtol=2e-6)


def test_xtr_turns_pairs_of_the_first_channels(xtr: Any) -> None:
    x = leaf(2, 3, 5, 10)
    frequencies, _ = xtr.RotaryEmbedding(6).forward_from_seq_len(5)
    ours = r.partial_rope_forward(arrays(x)[0], *r.rope_cos_sin(np.arange(5), 6))
    found = xtr.apply_rotary_pos_emb(x, frequencies)
    agree(ours, lambda dy, residuals: r.partial_rope_backward(dy, residuals)[0], found, [x], **FLOAT32)


def test_xtr_interpolates_angles(xtr: Any) -> None:
    x = leaf(2, 3, 5, 8)
    frequencies, _ = xtr.RotaryEmbedding(8, interpolation_factor=4.0).forward_from_seq_len(5)
    slowed = r.linear_frequencies(8, factor=4.0, xp=np, dtype=np.float64)
    y, _ = r.rotary_embedding_forward(arrays(x)[0], slowed, positions=np.arange(5))
    np.testing.assert_allclose(y, xtr.apply_rotary_pos_emb(x, frequencies).detach().numpy(), **FLOAT32)


@pytest.mark.parametrize("T", [5, 8])
def test_xtr_xpos_has_its_centre_at_half_the_length_rounded_down(xtr: Any, T: Any) -> None:
    x = leaf(2, 3, T, 8)
    frequencies, scale = xtr.RotaryEmbedding(8, use_xpos=True, scale_base=16).forward_from_seq_len(T)
    for keys, factor in ((False, scale), (True, scale**-1)):
        options: Any = {"positions": np.arange(T), "centre": T // 2, "keys": keys, "scale_base": 16.0}
        found = xtr.apply_rotary_pos_emb(x, frequencies, factor)
        agree(r.xpos_forward(*arrays(x), **options), r.xpos_backward, found, [x], **FLOAT32)
