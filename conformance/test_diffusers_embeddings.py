"""Timesteps and grids against Hugging Face diffusers."""

from __future__ import annotations

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
embeddings = pytest.importorskip("diffusers.models.embeddings")


@pytest.mark.parametrize("C", [4, 7, 64])
@pytest.mark.parametrize(("layout", "flip"), [("sin_cos", False), ("cos_sin", True)])
@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_timestep_embedding(C, layout, flip, shift, scale):
    t = torch.tensor([0.0, 0.5, 12.25, 999.0], requires_grad=True)
    theirs = embeddings.get_timestep_embedding(t, C, flip_sin_to_cos=flip, downscale_freq_shift=shift, scale=scale)
    y, residuals = r.timestep_embedding_forward(
        t.detach().double().numpy(), C, scale=scale, layout=layout, frequency_shift=shift
    )
    np.testing.assert_allclose(y, theirs.detach().numpy(), atol=1e-4)  # float32 angles up to 999
    dy = np.random.default_rng(44).standard_normal(y.shape)
    (gradient,) = torch.autograd.grad(theirs, t, torch.tensor(dy, dtype=torch.float32))
    np.testing.assert_allclose(r.timestep_embedding_backward(dy, residuals), gradient.numpy(), rtol=1e-3, atol=1e-3)


def test_one_wave_divides_by_zero_there():
    """h = downscale_freq_shift = 1: 0/0; here a lone wave has frequency 1."""
    theirs = embeddings.get_timestep_embedding(torch.tensor([2.0]), 2, downscale_freq_shift=1)
    y, _ = r.timestep_embedding_forward(np.array([2.0]), 2)
    assert torch.isnan(theirs).all()
    np.testing.assert_allclose(y, [[np.sin(2), np.cos(2)]], rtol=1e-15)


def test_grid_has_columns_first():
    """As in MAE's code, from which it is taken: the half called h is computed from the column."""
    theirs = embeddings.get_2d_sincos_pos_embed(8, (4, 8), base_size=8, output_type="pt")  # rows are 2 apart
    grid = np.stack(np.meshgrid(2 * np.arange(4), np.arange(8), indexing="ij"), axis=-1)
    y, _ = r.sinusoidal_2d_forward(grid, 8, layout="sin_cos", columns_first=True)
    other, _ = r.sinusoidal_2d_forward(grid, 8, layout="sin_cos")
    theirs = np.asarray(theirs).reshape(4, 8, 8)
    assert np.max(np.abs(theirs - y)) < 2e-6 < np.max(np.abs(theirs - other))
