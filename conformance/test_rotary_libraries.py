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


def test_ret_interpolates_positions(ret: Any) -> None:
    x = leaf(3, 5, 8)
    found = ret.RotaryEmbedding(8, interpolate_factor=4.0).rotate_queries_or_keys(x)
    slowed = r.linear_frequencies(8, factor=4.0, xp=np, dtype=np.float64)
    y, _ = r.rotary_embedding_forward(arrays(x)[0], slowed, positions=np.arange(5))
    np.testing.assert_allclose(y, found.detach().numpy(), **FLOAT32)


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
