"""Timesteps and grids against Hugging Face diffusers."""

from __future__ import annotations

import numpy as np
import pytest

import refimpl as r

torch = pytest.importorskip("torch")
embeddings = pytest.importorskip("diffusers.models.embeddings")


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
